"""The same views as widgets: what the reader picks, Python can read, set and observe.

A thin anywidget around the JavaScript of the self-contained output. While a slider moves, nothing
travels unless somebody observes a trait; at its release the last value does.
"""

from __future__ import annotations

import math

from attn_edu.optional import needed
from attn_edu.views.attention_map import COLOURS, AttentionMap
from attn_edu.views.attention_steps import MASKS, AttentionSteps
from attn_edu.views.bundle import bundle
from attn_edu.views.checks import as_count, as_index, as_positive, one_of
from attn_edu.views.head_split import METHODS, HeadSplit
from attn_edu.views.mask_reach import MaskReach

with needed("live()", "anywidget", "traitlets", instead="The picture moves without live() too."):
    import anywidget
    import traitlets

_RENDER = """
export default { async render({ model, el }) {
  const host = document.createElement("div"), names = model.get("_public");
  el.append(host);
  let ours = false, seen;
  const now = () => {
    seen = model.get("_payload");
    return { ...seen, ...Object.fromEntries(names.map((name) => [name, model.get(name)])) };
  };
  const view = await START(host, now(), { changed(name, value, done) {
    ours = true;
    model.set(name, value);
    ours = false;
    if (done || model.get("_watched")) model.save_changes();
  } });
  const follow = (name) => () => {
    if (!ours && model.get("_payload") === seen) view.set(name, model.get(name));
  };
  const acts = [["change:_payload", () => view.load(now())]];
  for (const name of names) acts.push([`change:${name}`, follow(name)]);
  for (const [event, act] of acts) model.on(event, act);
  return () => {
    for (const [event, act] of acts) model.off(event, act);
    view.close();
  };
} };
"""


def _module(entry: str, start: str) -> str:
    return bundle(entry, start) + _RENDER.replace("START", start)


class LiveView(anywidget.AnyWidget):
    """What the live views share. ``view`` is the self-contained view at the present settings."""

    _payload = traitlets.Dict().tag(sync=True)
    _public = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _watched = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.Any(None, allow_none=True).tag(sync=True)

    _kind: type = None
    _settings: tuple[str, ...] = ()  # traits that the page reads and sets
    _data: tuple[str, ...] = ()  # what `update` accepts
    _words = frozenset({"tokens", "query_tokens", "key_tokens"})  # new ones replace all old ones

    def __init__(self, view, data: dict):
        self._given, self._view, self._heard = data, view, None
        start = {name: getattr(view, name) for name in self._settings if hasattr(view, name)}
        super().__init__(_payload=view._payload(), **start, _public=[*self._settings, "selection"])
        self._heard = self._listeners()

    def __repr__(self) -> str:
        return f"Live view. {self._view.summary()} Where no widgets show: .view is the picture."

    @property
    def view(self):
        """A self-contained view of the present data and settings."""
        return self._kind(**self._arguments(self._given))

    def update(self, **data) -> None:
        """Show other data, all of it at once: ``update(weights=…, tokens=…)``.

        Without new tokens, words of another number become positions.

        Raises:
            ValueError, TypeError: as the view itself; nothing has changed then.
        """
        unknown = sorted(set(data) - set(self._data))
        if unknown:
            raise TypeError(f"update accepts {', '.join(self._data)}; got {', '.join(unknown)}")
        words = self._words
        old = {name: None for name in words if name in self._given and words & set(data)}
        given = {**self._given, **old, **data}
        arguments = self._arguments(given)
        try:
            view = self._kind(**arguments)
        except (ValueError, TypeError):
            if words & set(data):
                raise
            for name in words & set(given):
                arguments[name] = given[name] = None
            view = self._kind(**arguments)
        self._given, self._view = given, view
        with self.hold_sync():
            self.selection = None
            for name in self._settings:
                if hasattr(view, name):
                    setattr(self, name, getattr(view, name))
            self._payload = view._payload()

    def _arguments(self, given: dict) -> dict:
        """What to build the view from: the data, and the settings that its constructor takes."""
        return {**given, **{name: getattr(self, name) for name in self._settings}}

    # ---- traffic: only if somebody listens ------------------------------------------------------

    def _listeners(self) -> int:
        public = (*self._settings, "selection", traitlets.All)
        lists = (self._trait_notifiers.get(name, {}) for name in public)
        return sum(len(handlers) for kinds in lists for handlers in kinds.values())

    def observe(self, *args, **kwargs):
        """As for every widget; the page then also tells values on the way, not only the last."""
        super().observe(*args, **kwargs)
        self._hear()

    def unobserve(self, *args, **kwargs):
        """As for every widget."""
        super().unobserve(*args, **kwargs)
        self._hear()

    def unobserve_all(self, *args, **kwargs):
        """As for every widget."""
        super().unobserve_all(*args, **kwargs)
        self._hear()

    def _hear(self) -> None:
        if getattr(self, "_heard", None) is not None:
            self._watched = self._listeners() > self._heard

    # ---- values ---------------------------------------------------------------------------------

    @traitlets.validate("selection")
    def _check_selection(self, proposal):
        value = proposal["value"]
        if value is None:
            return None
        n, m = self._view.shape
        try:
            query, key = value
        except (TypeError, ValueError) as error:
            raise ValueError(f"selection must be (query, key) or None, got {value!r}") from error
        query = None if query is None else as_index(query, n, "selection[0]")
        key = None if key is None else as_index(key, m, "selection[1]")
        return None if query is None and key is None else (query, key)


def _datum(name: str) -> property:
    def get(self):
        return self._given[name]

    return property(get, lambda self, value: self.update(**{name: value}), doc=f"The {name}.")


class LiveMap(LiveView):
    """`AttentionMap` as a widget.

    Traits: ``layer``, ``head``, ``colour``, ``temperature`` (each row becomes p^(1/t), made to sum
    to what it did: the same as dividing the scores by t), ``selection``: ``(query, key)``, either
    of which may be None, or None. ``weights``, ``tokens`` and ``mask`` can be set; `update` sets
    several at once.
    """

    _kind, _esm = AttentionMap, _module("warm", "mountWarmMap")
    _settings = ("layer", "head", "colour", "temperature")
    _data = ("weights", "tokens", "query_tokens", "key_tokens", "mask", "title")
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    colour = traitlets.Unicode("linear").tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    weights, tokens, mask = _datum("weights"), _datum("tokens"), _datum("mask")

    def _arguments(self, given):
        arguments = super()._arguments(given)
        del arguments["temperature"]
        shape = AttentionMap(given["weights"]).weights.shape
        arguments["layer"] = min(self.layer, shape[0] - 1)
        arguments["head"] = min(self.head, shape[1] - 1)
        return arguments

    @traitlets.validate("layer", "head")
    def _check_place(self, proposal):
        name = proposal["trait"].name
        return as_index(proposal["value"], self._view.weights.shape[name == "head"], name)

    @traitlets.validate("colour")
    def _check_colour(self, proposal):
        return one_of(proposal["value"], COLOURS, "colour")

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal):
        return as_positive(proposal["value"], "temperature")


class LiveSteps(LiveView):
    """`AttentionSteps` as a widget.

    Traits: ``temperature``, ``scale``, ``mask`` (a name: "none", "causal", "window", "block", or
    "given" where a mask was given), ``size``, ``selection``: ``(query, key)`` or None.
    ``query``, ``key``, ``value`` and ``tokens`` can be set; `update` sets several at once.
    """

    _kind, _esm = AttentionSteps, _module("steps", "mountSteps")
    _settings = ("temperature", "scale", "mask", "size")
    _data = ("query", "key", "value", "tokens", "given", "title")
    temperature = traitlets.Float(1.0).tag(sync=True)
    scale = traitlets.Float(1.0).tag(sync=True)
    mask = traitlets.Unicode("none").tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)
    query, key, value = _datum("query"), _datum("key"), _datum("value")
    tokens, given = _datum("tokens"), _datum("given")

    def _arguments(self, given):
        arguments = super()._arguments(given)
        own = arguments.pop("given")
        arguments["mask"] = own if self.mask == "given" else self.mask
        if self.scale == 1 / math.sqrt(self._view.query.shape[1]):
            arguments["scale"] = None  # 1 / sqrt(d) of whatever data comes
        return arguments

    @traitlets.validate("temperature", "scale")
    def _check_number(self, proposal):
        return as_positive(proposal["value"], proposal["trait"].name)

    @traitlets.validate("mask")
    def _check_mask(self, proposal):
        names = MASKS if self._given.get("given") is not None else MASKS[:-1]
        return one_of(proposal["value"], names, "mask")

    @traitlets.validate("size")
    def _check_size(self, proposal):
        return as_count(proposal["value"], "size")


class LiveSplit(LiveView):
    """`HeadSplit` as a widget.

    Traits: ``method``, ``n`` (words), ``n_heads`` (of the features that there are), and
    ``selection``: a word's position or None.
    """

    _kind, _esm = HeadSplit, _module("split", "mountSplit")
    _settings = ("method", "n", "n_heads")
    _data = ("n", "n_heads", "d_head", "tokens", "title")
    method = traitlets.Unicode("view").tag(sync=True)
    n = traitlets.Int(1).tag(sync=True)
    n_heads = traitlets.Int(1).tag(sync=True)

    def _arguments(self, given):
        if given is not self._given:  # other data: words and heads are theirs
            return {**given, "method": self.method}
        width, tokens = given["n_heads"] * given["d_head"], given["tokens"]
        moved = {"n": self.n, "n_heads": self.n_heads, "d_head": width // self.n_heads}
        return {**given, **moved, "tokens": tokens and tokens[: self.n], "method": self.method}

    @traitlets.validate("method")
    def _check_method(self, proposal):
        return one_of(proposal["value"], tuple(METHODS), "method")

    @traitlets.validate("n")
    def _check_n(self, proposal):
        if as_count(proposal["value"], "n") > self._view.most:
            raise ValueError(f"n must be 1 to {self._view.most}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("n_heads")
    def _check_n_heads(self, proposal):
        heads = as_count(proposal["value"], "n_heads")
        width = self._view.n_heads * self._view.d_head
        if width % heads:
            raise ValueError(f"n_heads must divide the {width} features, got {heads}")
        return heads

    @traitlets.validate("selection")
    def _check_selection(self, proposal):
        value = proposal["value"]
        return None if value is None else as_index(value, self.n, "selection")


class LiveReach(LiveView):
    """`MaskReach` as a widget. Traits: ``depth``, and ``selection``: the followed word's position.

    ``kinds`` and ``tokens`` can be set; `update` sets several at once.
    """

    _kind, _esm = MaskReach, _module("reach", "mountReach")
    _settings = ("depth",)
    _data = ("kinds", "tokens", "layers", "title")
    depth = traitlets.Int(1).tag(sync=True)
    kinds, tokens = _datum("kinds"), _datum("tokens")

    def __init__(self, view, data):
        super().__init__(view, data)
        self.selection = view.word

    def _arguments(self, given):
        plain = MaskReach(given["kinds"], layers=given["layers"])
        known = self.selection is not None and self.selection < plain.n
        word = self.selection if known else None
        return {**given, "depth": min(self.depth, plain.layers), "word": word}

    @traitlets.validate("depth")
    def _check_depth(self, proposal):
        if as_count(proposal["value"], "depth") > self._view.layers:
            raise ValueError(f"depth must be 1 to {self._view.layers}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("selection")
    def _check_selection(self, proposal):
        value = proposal["value"]
        return None if value is None else as_index(value, self._view.n, "selection")
