/** A beam one widens, beside exact search, on the tree that a model spans for one sentence. */
import { describe, digits, drawing, make, pick, settle, slider, teller, write } from "./page.js";


// Ten tokens of each hypothesis that a beam of four keeps, and their log-probability …
const STARTS = [
  ["奇怪的桥", -1.4044], ["漂亮的桥", -2.0297], ["奇怪的石头", -2.2907], ["漂亮的石头", -2.8545],
];
// … and how these go on: after a prefix, each token and its log-probability.
const CHAINS = {
  "奇怪的桥": ["， -0.3497 所以 -0.0029 我们 -0.0291 会 -0.2316 卖 -0.4035 一 -0.0201 座 -0.7556 " +
    "漂亮 -0.8563 的 -0.0094 石头 -0.3639 。 -0.0010 <eos> -0.0003", "。 -1.2883 <eos> -0.0002"],
  "奇怪的桥，": ["， -6.5771"],
  "奇怪的桥，所以": ["鲍勃 -5.1825"],
  "奇怪的桥，所以我们": ["的 -1.9204 石头 -0.6293 。 -0.0029"],
  "奇怪的桥，所以我们会卖一": [
    "块 -1.1495 漂亮 -0.4763 的 -0.0084 石头 -0.3230 。 -0.0009 <eos> -0.0003"],
  "奇怪的桥，所以我们会卖一座": ["桥 -1.0845 。 -0.0012 <eos> -0.0006"],
  "奇怪的桥，所以我们会卖一座漂亮的": ["桥 -2.5366"],
  "漂亮的桥": [
    "， -0.3388 所以 -0.0029 我们 -0.0289 会 -0.2315 卖 -0.4228 一 -0.0200 座 -0.7403"],
  "奇怪的石头": [
    "， -0.2843 所以 -0.0025 我们 -0.0288 会 -0.2780 卖 -0.3946 一 -0.0201 座 -0.8380"],
};
const NEXT = new Map();
for (const [prefix, chains] of Object.entries(CHAINS)) {
  for (const chain of chains) {
    let at = prefix;
    for (const [, token, logProb] of chain.matchAll(/(\S+) (\S+)/g)) {
      NEXT.set(at, [...NEXT.get(at) ?? [], [token, Number(logProb)]]);
      at += token;
    }
  }
}
const children = ([text, total]) =>
  (NEXT.get(text) ?? []).map(([token, logProb]) => [text + token, total + logProb]);
const isFinished = ([text]) => text.endsWith("<eos>");
const byTotal = (a, b) => b[1] - a[1];


/** Beam search without a length penalty: what it finds, and all that it kept on the way. */
export function beamSearch(size) {
  let rows = STARTS.slice(0, size), best = ["", -Infinity];
  const kept = new Map(rows);
  while (rows.length && !(size > 1 && best[1] >= rows[0][1])) {
    const candidates = rows.flatMap(children).sort(byTotal);
    for (const done of candidates.slice(0, size).filter(isFinished)) {
      kept.set(...done);
      if (done[1] > best[1]) best = done;
    }
    rows = candidates.filter((it) => !isFinished(it)).slice(0, size);
    for (const row of rows) kept.set(...row);
    if (size === 1 && best[0]) break; // greedy
  }
  return { best, kept };
}


/** Best-first search: the first finished one that is taken out is the most probable. */
export function exactSearch() {
  const queue = [...STARTS];
  for (;;) {
    const first = queue.sort(byTotal).shift();
    if (isFinished(first)) return first;
    queue.push(...children(first));
  }
}


const ALL = new Map(STARTS);
for (const node of ALL) children(node).forEach((child) => ALL.set(...child)); // grows on the way
const SOLD = "奇怪的桥，所以我们会卖一";
// Where a node stands, the line to it from its parent, and its word.
const NODES = [
  [26, 100, "奇怪的桥", null, "……桥"], [80, 100, "奇怪的桥，", 0, "，"],
  [140, 100, SOLD, 1, "……一"],
  [204, 52, `${SOLD}座`, 2, "座"], [266, 52, `${SOLD}座漂亮`, 3, "漂亮"],
  [346, 52, `${SOLD}座漂亮的石头。<eos>`, 4, "的石头。"], [266, 100, `${SOLD}座桥`, 3, "桥"],
  [346, 100, `${SOLD}座桥。<eos>`, 6, "。"], [204, 148, `${SOLD}块`, 2, "块"],
  [266, 148, `${SOLD}块漂亮`, 8, "漂亮"], [346, 148, `${SOLD}块漂亮的石头。<eos>`, 9, "的石头。"],
  [80, 196, "奇怪的桥。", 0, "。"], [346, 196, "奇怪的桥。<eos>", 11, "<eos>"],
];
const FRAME = 34;
const half = (word) => 8 * [...word].length * (word === "<eos>" ? 0.6 : 1) + 4;


function draw(picture, { best, kept }) {
  picture.replaceChildren(...NODES.flatMap(([x, y, text, parent, word]) => {
    const isKept = kept.has(text), isBest = text === best[0];
    const [fromX, fromY, , , before] = NODES[parent] ?? [];
    const corner = x < 300 ? x - 30 : x - half(word) - 6;
    return [
      parent === null ? null : make("polyline", {
        points: `${fromX + half(before)},${fromY - 4} ${corner},${fromY - 4} ` +
          `${corner},${y - 4} ${x - (isBest ? FRAME : half(word))},${y - 4}`,
        fill: "none", stroke: "currentColor", "stroke-dasharray": isKept ? "none" : "3 3",
        "stroke-width": isKept ? 1.8 : 1,
      }),
      isBest ? make("rect", { x: x - FRAME, y: y - 20, width: 2 * FRAME, height: 42, rx: 4,
        fill: "var(--a)", "fill-opacity": 0.2, stroke: "var(--a)" }) : null,
      write(x, y, word, { lang: "zh", class: isKept ? "bold" : null }),
      write(x, y + 16, digits(Math.exp(ALL.get(text)), x < 240 ? 3 : 4), { class: "small" }),
    ].filter(Boolean);
  }), ...[[26, 10], [80, 11], [140, 16], [204, 17], [266, 18]].map(([x, step]) =>
    write(x, 16, pick(`第 ${step} 步 | step ${step}`), { class: "small" })),
  write(346, 16, pick("写完 | finished"), { class: "small" }),
  write(192, 244, pick("实线是束里留下的，虚线是丢掉的 | solid: kept in the beam; dashed: dropped"),
    { class: "small" }));
  const ends = NODES.filter(([, , text]) => isFinished([text])).map(([, , text]) => {
    const p = digits(Math.exp(ALL.get(text)), 4);
    return pick(kept.has(text) ? `${p} 留下 | ${p} kept` : `${p} 丢掉 | ${p} dropped`);
  });
  describe(picture, `一棵树，写完的四个译文概率依次是 ${ends.join("，")}，框里是找到的 | A tree with four ` +
    `finished translations, of probabilities ${ends.join(", ")}; the one found is framed`);
}


function tell(name, [text, total]) {
  const p = digits(Math.exp(total), 4), logProb = digits(total);
  return make("p", { class: "says" }, make("b", {}, pick(name)),
    pick(`，概率 ${p}， | , probability ${p}, `),
    make("span", { class: "together" }, pick(`对数概率 ${logProb} | log-probability ${logProb}`)),
    make("br"), make("span", { lang: "zh" }, `……${text.replace("<eos>", "")}`));
}


export function start(place) {
  const picture = drawing(384, 250, "");
  const [found, say] = teller();
  const show = () => {
    const size = Number(input.value), result = beamSearch(size);
    draw(picture, result);
    say(
      tell(`束宽 ${size} 找到 | Beam of ${size} finds`, result.best),
      tell("精确搜索找到 | Exact search finds", exactSearch()));
  };
  const [control, input] = slider("束宽 k | beam size k", { min: 1, max: 4, value: 2 }, show);
  settle(place, control, picture, found);
  show();
}
