// The numbers behind a picture, as a table that a screen reader can walk.
import { listen, make } from "./controls.js";

/** `fill()` gives {caption, head, rows}; it runs when the table is opened and at each `refresh()` while open. */
export function numbers(fill) {
  const table = make("table"),
    box = make("details", {}, make("summary", { textContent: "Numbers" }), table);
  const refresh = () => {
    if (!box.open) return;
    const { caption, head, rows } = fill();
    const line = (cells, scope) =>
      make(
        "tr",
        {},
        ...cells.map((textContent, k) =>
          k && scope === "row" ? make("td", { textContent }) : make("th", { textContent, scope }),
        ),
      );
    table.replaceChildren(
      make("caption", { textContent: caption }),
      make("thead", {}, line(head, "col")),
      make("tbody", {}, ...rows.map((r) => line(r, "row"))),
    );
  };
  listen(box, "toggle", refresh);
  return { node: box, refresh };
}
