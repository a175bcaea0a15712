/** A mask one clicks: what is hidden weighs nothing, and what is left is divided anew. */
import { digits, make, pick, settle, teller } from "./page.js";
import { softmax } from "./layers.js";


const WORDS = ["Tom", "chases", "Jerry", "round", "the", "house"];
const KEYS = [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 1]];
const N = WORDS.length;
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const SCORES = KEYS.map((query) => KEYS.map((key) => 4 * dot(query, key) / Math.sqrt(4)));
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const PRESETS = {
  "因果 | causal": (query, key) => key > query,
  "填充 | padding": (query, key) => key >= N - 2,
  "挡住一整行 | a whole row": (query) => query === N - 1,
  "都能看 | no mask": () => false,
};


/** Weights over the keys that are not hidden; a row with none left is all zeros. */
export function maskedSoftmax(row, hidden) {
  if (hidden.every(Boolean)) return row.map(() => 0);
  return softmax(row.map((score, j) => hidden[j] ? -Infinity : score));
}


/** A table of words by words, whose cells `cell` makes. */
const table = (caption, cell, role) => make("table", { class: "grid", role },
  make("caption", {}, pick(caption)),
  make("tr", { role: role && "row" }, make("td", {}),
    ...WORDS.map((word) => make("th", { scope: "col" }, make("span", {}, word)))),
  ...WORDS.map((word, i) => make("tr", { role: role && "row" }, make("th", { scope: "row" }, word),
    ...WORDS.map((_, j) => make("td", { role: role && "gridcell" }, cell(i, j))))));


export function start(place) {
  let hidden = [], current = [0, 1];
  const [says, tell] = teller();
  const buttons = SCORES.map((row, i) => row.map((score, j) => make("button", {
    type: "button", tabindex: -1, click: () => { toggle(i, j) }, focus: () => { go(i, j) },
  }, score)));
  const weights = SCORES.map((row) => row.map(() => make("span")));

  const go = (i, j) => {
    buttons[current[0]][current[1]].tabIndex = -1;
    current = [i, j];
    buttons[i][j].tabIndex = 0;
  };
  const move = (event) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const [i, j] = current.map((at, axis) => Math.min(N - 1, Math.max(0, at + step[axis])));
    buttons[i][j].focus();
  };
  const print = (weight) => {
    if (!weight) return "0";
    return weight < 0.005 ? "<.01" : digits(weight).replace("0.", ".");
  };
  const show = () => SCORES.forEach((row, i) => maskedSoftmax(row, hidden[i]).forEach((weight, j) => {
    const words = pick(`挡住 ${WORDS[i]} 看 ${WORDS[j]}，得分 ${SCORES[i][j]} | ` +
      `hide ${WORDS[j]} from ${WORDS[i]}, score ${SCORES[i][j]}`);
    buttons[i][j].setAttribute("aria-pressed", hidden[i][j]);
    buttons[i][j].setAttribute("aria-label", words);
    weights[i][j].textContent = print(weight);
    weights[i][j].parentElement.style.setProperty("--weight", weight);
  }));
  const report = (i) => {
    const word = WORDS[i], n = hidden[i].filter((is) => !is).length;
    const row = maskedSoftmax(SCORES[i], hidden[i]), top = row.indexOf(Math.max(...row));
    tell(n === 0
      ? pick(`${word} 什么也看不到，权重全是 0 | ${word} sees nothing, and all its weights are 0`)
      : pick(`${word} 能看 ${n} 个词，${WORDS[top]} 的权重最大，是 ${digits(row[top])} | ` +
        `${word} sees ${n} of ${N} words; most weight, ${digits(row[top])}, is on ${WORDS[top]}`));
  };
  const toggle = (i, j) => { hidden[i][j] = !hidden[i][j]; show(); report(i) };
  const preset = (rule) => {
    hidden = SCORES.map((row, i) => row.map((_, j) => rule(i, j)));
    show();
    report(N - 1);
  };

  const left = table("得分：点一格便挡住 | scores: click a cell to hide it",
    (i, j) => buttons[i][j], "grid");
  left.addEventListener("keydown", move);
  const right = table("权重：每行加起来是 1 | weights: each row sums to 1",
    (i, j) => weights[i][j]);
  go(0, 1);
  settle(place,
    make("div", { class: "row" }, ...Object.entries(PRESETS).map(([words, rule]) =>
      make("button", { type: "button", click: () => { preset(rule) } }, pick(words)))),
    make("div", { class: "grids" }, left, right), says);
  preset(PRESETS["因果 | causal"]);
}
