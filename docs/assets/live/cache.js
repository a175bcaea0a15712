/** A cache that fills, a token a step: what is computed, and what is read, with it and without. */
import { describe, drawing, make, pick, settle, slider, teller, write } from "./page.js";


const N = 6, CELL = 14, D_K = 2;
// Each kind: where it stands, and its groups of cells, as colour, how many, and opacity.
const head = (opacity) => [["k", D_K, opacity], ["v", D_K, opacity]];
const heads = (n) => Array.from({ length: n }, (_, i) => head(i % 2 ? 0.5 : 1));
const KINDS = [
  ["多头 | multi-head", 6, 14, heads(4)],
  ["分组查询 | grouped-query", 262, 14, heads(2)],
  ["多查询 | multi-query", 6, 158, heads(1)],
  ["多头潜在 | multi-head latent", 110, 158, [[["x", 4, 1]], [["k", D_K, 1]]]],
];
const width = (groups) => groups.flat().reduce((sum, [, n]) => sum + n, 0);


/** Positions computed and read in a step, and computed in all steps so far. */
export const cost = (step, isCached) => isCached
  ? { computed: 1, read: step - 1, total: step }
  : { computed: step, read: 0, total: step * (step + 1) / 2 };


function panel([name, left, top, groups], step, { computed }, isCached) {
  const parts = [write(left, top, pick(name), { "text-anchor": "start", class: "bold" })];
  let x = left;
  for (const group of groups) {
    for (const [color, n, opacity] of group) {
      for (let c = 0; c < n; c++, x += CELL) {
        for (let row = 0; row < N; row++) {
          parts.push(make("rect", {
            x, y: top + 12 + CELL * row, width: CELL - 2, height: CELL - 2, rx: 2,
            fill: row < step ? `var(--${color})` : "none", "fill-opacity": opacity,
            stroke: "var(--line)", "stroke-opacity": row < step ? 0 : 0.5,
          }));
        }
      }
    }
    x += 4;
  }
  const first = step - computed;
  parts.push(make("rect", {
    x: left - 3, y: top + 9 + CELL * first, width: x - left, height: CELL * computed + 4, rx: 3,
    fill: "none", stroke: "currentColor", "stroke-width": 1.8,
  }));
  const numbers = step * width(groups);
  const count = pick(isCached
    ? `${numbers} 个数 | ${numbers} numbers` : `算 ${numbers} 个数 | computes ${numbers}`);
  parts.push(write(left, top + 12 + CELL * N + 16, count,
    { "text-anchor": "start", class: "small" }));
  return parts;
}


const note = (y, words) =>
  write(212, y, pick(words), { "text-anchor": "start", class: "small" });


export function start(place) {
  const picture = drawing(384, 274, "");
  const [says, tell] = teller();
  const cached = make("input", { type: "checkbox", checked: true, change: () => show() });
  const show = () => {
    const step = Number(input.value), spent = cost(step, cached.checked);
    const { computed, read, total } = spent, other = cost(step, !cached.checked).total;
    picture.replaceChildren(...KINDS.flatMap((kind) => panel(kind, step, spent, cached.checked)),
      note(194, "灰：潜在向量 | grey: latent"), note(214, "框里：这一步算的 | framed: computed now"),
      cached.checked ? note(234, "框外：从缓存读的 | others: read from cache") : "");
    const sizes = KINDS.map(([name, , , groups]) => `${pick(name)} ${step * width(groups)}`);
    describe(picture, `四种注意力，一行是一个词元，框里是这一步算的。数的个数：${sizes.join("，")} | Four ` +
      "kinds of attention, a row for each token; what is computed in this step is framed. " +
      `Numbers: ${sizes.join(", ")}`);
    const [zh, en] = cached.checked ? ["没有缓存", "without a cache"] : ["有缓存", "with a cache"];
    tell(pick(`这一步算 ${computed} 个位置，读 ${read} 个。到现在共算 ${total} 个，${zh}是 ${other} 个 | ` +
      `This step computes ${computed} and reads ${read}. ` +
      `So far ${total} computed, ${en} ${other}`));
  };
  const [control, input] = slider("第几步 | step", { min: 1, max: N, value: 3 }, show);
  settle(place, control,
    make("div", { class: "row" }, make("label", {}, cached, pick("用缓存 | with the cache"))),
    picture, says);
  show();
}
