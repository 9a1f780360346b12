// The ledger: a table that is there already. Guesses made in the same page become a column of it.
import { make } from "./controls.js";
import { guessed, onGuess } from "./guessing.js";

const CELL = "text-align:start;vertical-align:top;padding:2px 8px";

export async function mountLedger(host, { given, key, verdicts }) {
  if (given) return; // the column is in the table, filled in Python
  const table = host.parentElement.querySelector("table"),
    said = make("p", { role: "status" }),
    places = [];
  said.style.margin = "4px 12px";
  table.after(said);
  const column = () => {
    const name = make("th", { scope: "col", textContent: "your guess" });
    name.style.cssText = CELL;
    table.tHead.rows[0].cells[1].after(name);
    for (const line of table.tBodies[0].rows) {
      const cell = make("td");
      cell.style.cssText = CELL;
      line.cells[1].after(cell);
      places.push([cell, line.dataset.claim]);
    }
  };
  const fill = () => {
    const mine = guessed(key),
      made = Object.keys(mine).filter((id) => verdicts[id]),
      right = made.filter((id) => mine[id] === verdicts[id]).length;
    if (made.length && !places.length) column();
    for (const [cell, id] of places) {
      const judged = mine[id] && verdicts[id];
      const word = mine[id] === verdicts[id] ? " (agrees)" : " (differs)";
      cell.textContent = mine[id] ? mine[id] + (judged ? word : "") : "–";
    }
    said.textContent = made.length ? `${right} of your ${made.length} guesses agree with this run.` : "";
  };
  onGuess(fill);
  fill();
}
