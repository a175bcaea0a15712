/** Tiles that walk over the matrix of scores, with the maximum, the sum and the output so far. */
import { describe, digits, drawing, isStill, make, pick, settle, teller, write } from "./page.js";


const ROW = [2, 1, 4, 3, 0, 5];
const N = ROW.length, TILE = 2;
const SCORES = ROW.map((_, i) => ROW.map((_, j) => ROW[(j - i + N) % N])); // rolled, row by row
const VALUES = ROW.map((_, j) => j + 1);
const CELL = 25, LEFT = 44, TOP = 56;
const across = (j) => LEFT + CELL * j + 6 * Math.floor(j / TILE);
const down = (i) => TOP + CELL * i + 6 * Math.floor(i / TILE);
const NAMES = [["Q", 15, 46], ["K", LEFT - 13, 38], ["V", LEFT - 13, down(N) + 20], ["m", 224, 46],
  ["ℓ", 258, 46], ["o", 304, 46], ["O = o/ℓ", 352, 46]];


/** Every step: which tiles meet, and m, l and o of each query after it. */
export function walk(isCausal) {
  const steps = [];
  for (let i = 0; i < N; i += TILE) {
    let state = Array.from({ length: TILE }, () => ({ m: -Infinity, l: 0, o: 0 }));
    const last = isCausal ? i + TILE : N;
    for (let j = 0; j < last; j += TILE) {
      state = state.map(({ m, l, o }, r) => {
        const keys = [j, j + 1].filter((key) => !isCausal || key <= i + r);
        const larger = Math.max(m, ...keys.map((key) => SCORES[i + r][key]));
        const powers = keys.map((key) => Math.exp(SCORES[i + r][key] - larger));
        const shrink = Math.exp(m - larger);
        return {
          m: larger,
          l: powers.reduce((sum, p) => sum + p, l * shrink),
          o: powers.reduce((sum, p, k) => sum + p * VALUES[keys[k]], o * shrink),
        };
      });
      steps.push({ i, j, state, isLast: j + TILE >= last });
    }
  }
  return steps;
}


const cell = (x, y, kind, strength, words) => make("g", {},
  make("rect", { x, y, width: CELL - 3, height: CELL - 3, rx: 2, fill: `var(--${kind})`,
    "fill-opacity": strength, stroke: `var(--${kind})`, "stroke-opacity": 0.6 }),
  words == null ? null : write(x + CELL / 2 - 1.5, y + 16, words, { class: "small" }));


function draw(picture, steps, at, isCausal) {
  const { i, j, state } = steps[at];
  const seen = (row, key) => !isCausal || key <= row;
  const when = (row, key) => steps.findIndex((s) => row - s.i in state && key - s.j in state);
  const outputs = new Map();
  for (const step of steps.slice(0, at + 1)) {
    if (step.isLast) step.state.forEach(({ l, o }, r) => outputs.set(step.i + r, o / l));
  }
  const parts = [];
  for (let row = 0; row < N; row++) {
    const y = down(row), r = row - i;
    parts.push(cell(4, y, "q", r in state ? 0.55 : 0.15, row + 1));
    for (let key = 0; key < N; key++) {
      const x = across(key), order = when(row, key);
      if (order < 0) continue; // in a tile that is skipped
      const strength = order === at ? 0.45 : order < at ? 0.12 : 0;
      const score = order === at ? SCORES[row][key] : null; // the others are not kept
      const words = seen(row, key) ? score : "×";
      parts.push(cell(x, y, "a", seen(row, key) ? strength : 0, words));
    }
    if (r in state) {
      const { m, l, o } = state[r];
      [digits(m, 0), digits(l, 3), digits(o, 3)].forEach((number, c) =>
        parts.push(write([224, 258, 304][c], y + 16, number, { class: "small" })));
    }
    if (outputs.has(row)) {
      parts.push(write(354, y + 16, digits(outputs.get(row), 3), { class: "small bold" }));
    }
  }
  for (let key = 0; key < N; key++) {
    const strength = key - j in state ? 0.55 : 0.15;
    parts.push(cell(across(key), 22, "k", strength, key + 1));
    parts.push(cell(across(key), down(N) + 4, "v", strength, VALUES[key]));
  }
  for (const [name, x, y] of NAMES) parts.push(write(x, y, name, { class: "math" }));
  parts.push(write(264, 28, pick("在芯片上 | on the chip"), { class: "small" }),
    write(354, 28, pick("写下 | written"), { class: "small" }));
  picture.replaceChildren(...parts);
  const rows = state.map(({ m, l, o }, r) =>
    `${i + r + 1}: m ${digits(m, 0)}, ℓ ${digits(l, 3)}, o ${digits(o, 3)}`).join("; ");
  const written = [...outputs.values()].map((output) => digits(output, 3)).join(", ") || "–";
  describe(picture, `六乘六的得分，正在算的一块最浓。查询 ${rows}。写下的输出：${written} | Six by six ` +
    `scores, the tile at work strongest. Query ${rows}. Outputs written: ${written}`);
}


export function start(place) {
  let at = 0, timer;
  const picture = drawing(384, 250, "");
  const [says, tell] = teller(() => timer ? 1500 : 700); // while it walks, not at each step
  const causal = make("input", { type: "checkbox", checked: true, change: () => go(0) });
  const go = (to) => {
    const steps = walk(causal.checked), { i, j } = steps[to];
    at = to;
    draw(picture, steps, at, causal.checked);
    const where = `${at + 1}/${steps.length}`;
    tell(pick(`第 ${where} 步，查询 ${i + 1}、${i + 2} 遇到键 ${j + 1}、${j + 2} | ` +
      `Step ${where}: queries ${i + 1}, ${i + 2} meet keys ${j + 1}, ${j + 2}`));
    back.setAttribute("aria-disabled", at === 0);
    next.setAttribute("aria-disabled", isLast());
    if (isLast()) stop();
  };
  const stop = () => { clearInterval(timer); timer = undefined; play.textContent = pick("播放 | play") };
  const isLast = () => at === walk(causal.checked).length - 1;
  const button = (words, click) => make("button", { type: "button", click }, pick(words));
  const back = button("后退 | back", () => { stop(); if (at > 0) go(at - 1) });
  const next = button("下一步 | next", () => { stop(); if (!isLast()) go(at + 1) });
  const play = button("播放 | play", () => {
    if (timer) return stop();
    if (isLast()) go(0);
    timer = setInterval(() => go(at + 1), 1200);
    play.textContent = pick("停 | pause");
  });
  settle(place, make("div", { class: "row" }, back, next, isStill() ? null : play,
    make("label", {}, causal, pick("因果 | causal"))), picture, says);
  go(0);
}
