// The numbers behind a picture, as a table that a screen reader can walk.
import { listen, make } from "./controls.js";

/** `fill()` gives {caption, head, rows}; it runs when the table is opened and at each `refresh()` while open. */
export function numbers(fill) {
  const table = make("table"),
    box = make("details", {}, make("summary", { textContent: "Numbers" }), table);
  const refresh = () => {
    if (!box.open) return;
    const { caption, head, rows } = fill();
    const line = (cells, tag) =>
      make(
        "tr",
        {},
        ...cells.map((text, k) =>
          make(k === 0 ? "th" : tag, {
            textContent: text,
            scope: tag === "th" ? "col" : k === 0 ? "row" : "",
          }),
        ),
      );
    table.replaceChildren(
      make("caption", { textContent: caption }),
      make("thead", {}, line(head, "th")),
      make("tbody", {}, ...rows.map((r) => line(r, "td"))),
    );
  };
  listen(box, "toggle", refresh);
  return { node: box, refresh };
}
