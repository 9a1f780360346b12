// A list of claims, each with three answers to choose from.
import { button, listen, make, shell } from "./controls.js";
import { forget, guess, guessed, onGuess } from "./guessing.js";

const FORM = `
.claim { display: flex; flex-wrap: wrap; gap: 2px 16px; align-items: baseline; padding: 7px 2px;
border-top: 1px solid var(--line); }
.claim > :first-child { flex: 1 1 26em; }
.answers { display: flex; flex: 0 0 auto; flex-wrap: wrap; gap: 2px 14px; }
.answers label { min-height: 28px; color: var(--ink); cursor: pointer; }
input[type="radio"] { margin: 0; accent-color: var(--focus); }
.stage { display: block; }
`;

export async function mountGuesses(host, { answers, claims, key }) {
  const self = shell(host, () => {});
  self.view.before(make("style", { textContent: FORM }));
  const boxes = [];
  const answer = (id, value) => {
    const box = make("input", { type: "radio", name: id, value });
    listen(box, "change", () => guess(key, id, value));
    boxes.push([box, id]);
    return make("label", {}, box, value);
  };
  const row = ([id, text], k) =>
    make(
      "div",
      { className: "claim", role: "radiogroup", "aria-labelledby": `claim-${k}` },
      make("span", { id: `claim-${k}`, dir: "auto", textContent: `${id}. ${text}` }),
      make("span", { className: "answers" }, ...answers.map((value) => answer(id, value))),
    );
  self.stage.append(...claims.map(row));
  const say = () => {
    const mine = guessed(key);
    for (const [box, id] of boxes) box.checked = mine[id] === box.value;
    self.tell(`${claims.filter(([id]) => mine[id]).length} of ${claims.length} guessed.`);
  };
  onGuess(say);
  const clear = button("Clear all", () => forget(key));
  self.tip.append("Your guesses stay in this page. ", clear);
  say();
}
