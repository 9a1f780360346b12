"""Who keeps which promise: a table of implementations and properties, from a conformance run."""

from collections.abc import Mapping
from html import escape

from attn_edu.labels import as_label

_KEPT = "background:rgba(0,119,187,.13)"
_UPWARDS = "writing-mode:vertical-rl;transform:rotate(180deg);white-space:nowrap"
_BROKEN = "white-space:nowrap;background:rgba(213,94,0,.30);font-weight:600"


class Promises:
    """What was promised and what was kept, as a table that needs no script.

    Args:
        found: ``implementations`` and ``properties``, two lists of names, and ``results``:
            implementation -> property -> ``{"holds": bool or None, "measured": number or None,
            "note": text}``, where None says that the property does not apply. Optional:
            ``descriptions`` of the properties, and ``packages`` that the implementations are from.
        only: the implementations to show; all by default.

    Raises:
        ValueError: an implementation that is not there.
    """

    def __init__(self, found: Mapping, *, only=None):
        self.names = list(found["implementations"] if only is None else only)
        self.properties = list(found["properties"])
        missing = [name for name in self.names if name not in found["results"]]
        if missing:
            raise ValueError(f"only: got {missing[0]!r}; accepted are {found['implementations']}.")
        self._found = found

    def broken(self, name: str) -> dict[str, float | None]:
        """The promises that an implementation does not keep, each with what was measured."""
        results = self._found["results"][name]
        return {p: results[p]["measured"] for p in self.properties if results[p]["holds"] is False}

    def describe(self) -> str:
        """The table in a sentence or two."""
        faults = {name: self.broken(name) for name in self.names}
        said = [
            f"{name}: {', '.join(map(_words, broken))}" for name, broken in faults.items() if broken
        ]
        return as_label(f"{self._counts()} {'; '.join(said)}.".replace(" .", ""))

    def _counts(self) -> str:
        rows = [self._found["results"][name] for name in self.names]
        results = [row[p]["holds"] for row in rows for p in self.properties]
        applied = sum(holds is not None for holds in results)
        kept = f"{applied} promises that apply, {results.count(False)} not kept."
        return f"{len(rows)} implementations, {kept}"

    def to_html(self) -> str:
        """The table: a tick, or a cross with what was measured; a dash where nothing applies."""
        heads = "".join(
            f'<th scope="col" style="vertical-align:bottom;font-weight:400">'
            f'<span style="{_UPWARDS}">{escape(_words(p))}</span></th>'
            for p in self.properties
        )
        rows = "".join(self._row(name) for name in self.names)
        notes = self._found.get("descriptions", {})
        asked = "".join(
            f"<li>{escape(_words(p))}: {escape(notes[p])}</li>"
            for p in self.properties
            if p in notes
        )
        return as_label(
            '<div tabindex="0" role="group" aria-label="Who keeps which promise" '
            'style="overflow-x:auto"><table style="font-size:.85em">'
            f'<caption style="text-align:left">{escape(self._counts())}</caption>'
            f'<thead><tr><th scope="col" style="vertical-align:bottom">implementation</th>{heads}'
            f"</tr></thead><tbody>{rows}</tbody></table>"
            + (f'<ul style="font-size:.85em">{asked}</ul>' if asked else "")
            + "</div>"
        )

    def _row(self, name: str) -> str:
        package = self._found.get("packages", {}).get(name, "")
        own = f"<br><small>{escape(package)}</small>" if package and package != name else ""
        results = self._found["results"][name]
        cells = "".join(_cell(results[p]) for p in self.properties)
        head = f'<th scope="row" style="text-align:left;font-weight:400">{escape(name)}{own}</th>'
        return f"<tr>{head}{cells}</tr>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.describe()}

    def __repr__(self) -> str:
        return self.describe()


def _cell(result: Mapping) -> str:
    note = escape(result.get("note") or "")
    if result["holds"] is None:
        return f'<td title="{note}" style="text-align:center">–</td>'
    if result["holds"]:
        return f'<td title="{note}" style="text-align:center;{_KEPT}">✓</td>'
    measured = "" if result["measured"] is None else f" {result['measured']:.2g}"
    return f'<td title="{note}" style="text-align:center;{_BROKEN}">✗{measured}</td>'


def _words(name: str) -> str:
    return name.replace("_", " ")
