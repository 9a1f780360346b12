// The look of the live part; it lives in a shadow root, so no page's style reaches it and it reaches no page.
export const STYLE = `
:host { display: block; }
.view { font: 14px/1.45 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; color: var(--ink);
background: var(--paper); padding: 10px 12px; border-radius: 6px; box-sizing: border-box; }
.bar { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin-bottom: 6px; }
.bar .bar { margin: 0; gap: 6px; }
.bar:empty { display: none; }
label { flex: none; display: inline-flex; max-width: 100%; min-height: 24px; gap: 6px; align-items: center; color: var(--quiet); }
label output { color: var(--ink); min-width: 3em; }
select, button, input[type="number"] { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--quiet);
border-radius: 4px; padding: 2px 8px; min-height: 28px; }
button { cursor: pointer; }
button[aria-pressed="true"] { background: var(--ink); color: var(--paper); forced-color-adjust: none; }
input[type="range"] { width: 8em; height: 24px; accent-color: var(--focus); }
input[type="number"] { width: 3em; }
.stage { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: flex-start; }
i.break { flex-basis: 100%; }
canvas { display: block; max-width: 100%; touch-action: pan-y; border-radius: 3px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.say { min-height: 1.5em; margin: 6px 0 0; color: var(--ink); overflow-wrap: anywhere; }
.tip { margin: 2px 0 0; color: var(--quiet); font-size: 12.5px; }
.tip .bar { display: inline-flex; margin-left: 16px; }
summary { padding: 2px 0; }
[hidden] { display: none !important; }
`;
