// What a reader guessed: kept in this page and nowhere else, for the table that stands further down.
const CHANGED = "attn-edu-guess";

/** The guesses for one list of claims: id -> answer. */
export function guessed(key) {
  const all = (globalThis.attnEduGuesses ??= {});
  return (all[key] ??= {});
}

export function guess(key, id, answer) {
  guessed(key)[id] = answer;
  document.dispatchEvent(new Event(CHANGED));
}

export function forget(key) {
  const mine = guessed(key);
  for (const id in mine) delete mine[id];
  document.dispatchEvent(new Event(CHANGED));
}

/** `act()` runs after each guess, wherever in the page it was made. */
export const onGuess = (act) => document.addEventListener(CHANGED, act);
