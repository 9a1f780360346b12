// The form of the playground. Everything that a reader typed is set as text, never as HTML.
const LOOK = `
  .play { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin: 4px 0;
    padding: 0 8px; box-sizing: border-box; max-width: 1000px; font-size: 14px; color: var(--jp-ui-font-color1, inherit) }
  .play label { display: flex; gap: 6px; align-items: center }
  .play .wide { flex: 1 1 22em }
  .play input, .play select, .play button { font: inherit; padding: 4px 8px; border-radius: 4px;
    border: 1px solid #7b7b7b; background: var(--jp-layout-color1, Field);
    color: var(--jp-ui-font-color0, FieldText) }
  .play input { flex: 1; min-width: 8em } .play select { max-width: 26em; min-width: 0 }
  .play button { cursor: pointer }
  .play :focus-visible { outline: 2px solid #c2410c; outline-offset: 1px }
  .play .said { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); white-space: nowrap }`;

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

function menu(label, names) {
  const select = make("select", {}, ...names.map((name) => make("option", { value: name }, name)));
  return [select, make("label", {}, label, select)];
}

export default { render({ model, el }) {
  const { label, models, examples, mark } = model.get("_fixed");
  const field = make("input", { type: "text", autocomplete: "off", spellcheck: false, dir: "auto" });
  const [who, whoLabel] = menu("Model", models);
  const [which, whichLabel] = menu("Examples", ["choose one", ...examples]);
  which.options[0].value = "";
  const status = make("output"), button = make("button", { type: "submit" }, "Read");
  status.setAttribute("role", "status");
  whoLabel.hidden = models.length < 2;
  whichLabel.hidden = !examples.length;
  for (const hidden of [whoLabel, whichLabel]) if (hidden.hidden) hidden.style.display = "none";
  const fieldLabel = make("label", { className: "wide" }, label, field);
  const form = make("form", { className: "play" }, whoLabel, whichLabel, fieldLabel, button, status);
  // Keys are for the form: JupyterLab must hear neither the letters nor the arrows.
  for (const control of [field, who, which, button]) {
    control.dataset.lmSuppressShortcuts = "true";
    control.addEventListener("keydown", (event) => event.stopPropagation());
  }
  const hide = `.${mark} .without-kernel { display: none }`;
  el.append(make("style", { textContent: LOOK + hide }), form);

  let number = 0, busy = false, again = false, patience;
  const wait = () => { // a kernel that was restarted never answers, and does not say so
    busy = again = false;
    status.textContent = "No answer yet. A busy kernel answers later; after a restart, run this cell again.";
  };
  const ask = () => {
    again = busy; // one question at a time; of those that come meanwhile, the last
    if (busy) return;
    busy = true;
    status.className = "";
    status.textContent = "Reading…";
    number = Date.now();
    model.set("_asked", { text: field.value, model: who.value, number });
    model.save_changes();
    patience = setTimeout(wait, 8000);
  };
  const told = () => {
    const answer = model.get("_answered");
    if (busy && answer.number !== number) return;
    clearTimeout(patience);
    if (!busy) [field.value, who.value] = [answer.text, answer.model];
    busy = false;
    status.className = "said";
    status.textContent = answer.said;
    if (again) ask();
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  who.addEventListener("change", ask);
  which.addEventListener("change", () => {
    if (!which.value) return;
    field.value = which.value;
    ask();
  });
  model.on("change:_answered", told);
  told();
  return () => { clearTimeout(patience); model.off("change:_answered", told); };
} };
