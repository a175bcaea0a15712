/** Scores of ever wider vectors, with √d or without, and a temperature: how sharp is a softmax? */
import { describe, digits, drawing, make, pick, settle, slider, teller, write } from "./page.js";
import { softmax } from "./layers.js";


export const N_KEYS = 8;
const WIDTH = 380, FLOOR = 158, STEP = WIDTH / N_KEYS;


/** Numbers of mean 0 and variance 1, as independent as a simple generator makes them. */
function* draws(seed) {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield Math.sqrt(12) * ((state + 0.5) / 2 ** 32 - 0.5);
  }
}


/** The scores of eight keys of width d; a wider vector goes on where a narrower one ends. */
export function scores(d, seed) {
  const numbers = draws(seed);
  const found = Array(N_KEYS).fill(0);
  for (let i = 0; i < d; i++) {
    const query = numbers.next().value;
    for (let j = 0; j < N_KEYS; j++) found[j] += query * numbers.next().value;
  }
  return found;
}


const bar = (weight, score, i) => make("g", {},
  make("rect", {
    x: STEP * i + 8, width: STEP - 16, y: FLOOR - 118 * weight, height: 118 * weight,
    fill: "var(--a)", "fill-opacity": 0.7,
  }),
  write(STEP * (i + 0.5), FLOOR - 118 * weight - 6, digits(weight, 3), { class: "small" }),
  write(STEP * (i + 0.5), FLOOR + 17, digits(score, 1), { class: "small" }));


export function start(place) {
  let seed = 23;
  const picture = drawing(WIDTH, FLOOR + 44, "");
  const [says, tell] = teller();
  const show = () => {
    const d = 2 ** Number(width.value), temperature = 2 ** Number(heat.value);
    const scale = scaled.checked ? Math.sqrt(d) : 1;
    const row = scores(d, seed).map((score) => score / scale);
    const weights = softmax(row.map((score) => score / temperature));
    const entropy = -weights.reduce((sum, w) => sum + (w && w * Math.log(w)), 0);
    picture.replaceChildren(
      make("line", { x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR, stroke: "var(--line)" }),
      ...weights.map((weight, i) => bar(weight, row[i], i)),
      write(WIDTH / 2, 12, pick("权重 softmax(得分 / τ) | weights softmax(score / τ)"),
        { class: "small" }),
      write(WIDTH / 2, FLOOR + 38, pick(scaled.checked
        ? `得分 q·k / √${d} | scores q·k / √${d}` : "得分 q·k | scores q·k"), { class: "small" }));
    const shown = weights.map((weight) => digits(weight, 3));
    describe(picture, `八个键的权重，一个键一根柱子，依次是 ${shown.join("、")} | ` +
      `The weights of eight keys, a bar for each: ${shown.join(", ")}`);
    const largest = digits(Math.max(...weights), 3), most = digits(Math.log(N_KEYS));
    tell(pick(`最大的权重 ${largest}，熵 ${digits(entropy)}（均匀时 ${most}） | ` +
      `Largest weight ${largest}, entropy ${digits(entropy)} (${most} if even)`));
  };
  const [widths, width] = slider("宽度 d | width d", { min: 2, max: 10, value: 6 }, show,
    (value) => String(2 ** value));
  const [heats, heat] = slider("温度 τ | temperature τ",
    { min: -3, max: 5, step: 0.5, value: 0 }, show,
    (value) => String(Number((2 ** value).toPrecision(3))));
  const scaled = make("input", { type: "checkbox", change: show });
  const again = make("button", { type: "button", click: () => { seed += 1; show() } },
    pick("换一个查询和八个键 | another query and keys"));
  settle(place, widths, heats,
    make("div", { class: "row" },
      make("label", {}, scaled, pick("除以 √d | divide by √d")), again),
    picture, says);
  show();
}
