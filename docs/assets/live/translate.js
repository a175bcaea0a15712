/** A sentence translated as one types, every head to be looked at, and parts to be broken. */
import { asked, Asker, share } from "./asking.js";
import { drawLines, drawMap, drawThumbnail, rove } from "./maps.js";
import { measured } from "./measured.js";
import { isChinese, make, pick, settle } from "./page.js";

const EXAMPLES = ["She is reading a book in the library.", "我昨天在花园里找到了一把钥匙。",
  "I don't know where Tom lives.", "这本书很有意思。"];
const TEMPERATURES = [0.25, 0.5, 1, 2, 4];
const SIDES = {
  encoder: "编码器，自注意力 | Encoder, self-attention",
  self: "解码器，自注意力 | Decoder, self-attention",
  cross: "解码器，交叉注意力 | Decoder, cross-attention",
};
const sideOf = (name) => name.startsWith("encoder") ? "encoder" : name.includes("cross") ? "cross" : "self";
const layerOf = (name) => Number(name.match(/\d+/)[0]);
const nameOf = (name, head) => pick(SIDES[sideOf(name)])
  + pick(`，第 ${layerOf(name) + 1} 层 | , layer ${layerOf(name) + 1}`)
  + (head == null ? "" : pick(`，第 ${head + 1} 个头 | , head ${head + 1}`));
const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}%`;


/** Put other items into a group that is one stop of Tab; the focus stays where it was, or is to be `at`. */
function repaint(group, items, at = 0, columns = 1) {
  const focused = [...group.children].indexOf(document.activeElement);
  group.replaceChildren(...items);
  rove(group, items, items[focused] ? focused : at, columns);
  items[focused]?.focus();
}


/** What the package says, too: how likely the translation is right, or what it has lost. */
export function sayDoubt({ confidence, isSure, lost }) {
  const sure = `${Math.round(100 * confidence)}%`;
  if (lost.length) {
    return pick(`这一句没有把握，丢了：${lost.join("、")} | not sure of this one: it has lost ${lost.join(", ")}`);
  }
  return isSure ? pick(`有把握（${sure}） | sure of this one (${sure})`)
    : pick(`这一句没有把握（${sure}） | not sure of this one (${sure})`);
}


export function start(place) {
  const state = {
    text: EXAMPLES[isChinese ? 1 : 0], beamSize: 1, silent: {}, temperature: 1, isCausal: true, leftOut: [],
    name: "decoder.layers.1.cross_attention", head: 0, step: null, row: 0, ...asked(),
  };
  let found = null;

  // What one asks.
  const text = make("input", { type: "text", value: state.text, maxlength: 500, autocomplete: "off", spellcheck: "false",
    "aria-label": pick("要翻译的句子，中文或英文 | A sentence to translate, English or Chinese"),
    input: ({ isComposing }) => isComposing || asker.worker && typed(), compositionend: () => asker.worker && typed() });
  const load = make("button", { type: "submit" }, pick("翻译（先取 8 MB 的模型） | Translate (fetches a model of 8 MB)"));
  const examples = EXAMPLES.map((example) => make("button", {
    click: () => { text.value = example; typed() } }, example));
  const beams = make("select", { change: () => ask({ beamSize: Number(beams.value) }) },
    ...[1, 2, 4, 8].map((n) => make("option", { value: n, selected: n === state.beamSize },
      n === 1 ? pick("贪心 | greedy") : pick(`束宽 ${n} | beam of ${n}`))));
  const status = make("p", { class: "says", role: "status" });
  const bar = make("progress", { hidden: true, "aria-label": pick("正在取模型 | Fetching the model") });

  // What comes out.
  const result = make("p", { class: "result", "aria-live": "polite" });
  const again = make("b"), sure = make("span"); // once more, beside what breaks it
  const doubt = make("p", { class: "says doubt" });
  const group = (words, kind) => make("div", { class: kind, role: "toolbar", "aria-label": pick(words) });
  const words = group("译文的词元 | Tokens of the translation", "tokens written"), rivals = make("p", { class: "says", "aria-live": "polite" });
  const others = make("ol", { class: "says" });
  const heads = Object.fromEntries(Object.entries(SIDES).map(([side, label]) => [side, group(label, "thumbnails")]));
  const title = make("p", { class: "says" }), note = make("p", { class: "says" });
  const lines = make("div", { class: "lines", tabindex: 0, role: "group" }), map = make("div", { class: "map" });
  const cell = make("output", { class: "says cell" });
  const slider = make("input", { type: "range", min: 0, input: () => { state.step = Number(slider.value); paint() } });
  const cache = make("div"), kept = make("output", { class: "says" });

  // What one breaks.
  const one = make("button", { click: () => silence([state.head]) });
  const layer = make("button", { click: () => silence([0, 1, 2, 3]) });
  const heat = make("input", { type: "range", min: 0, max: 4, value: TEMPERATURES.indexOf(state.temperature),
    input: () => ask({ temperature: TEMPERATURES[heat.value] }) });
  const mask = make("input", { type: "checkbox", checked: !state.isCausal,
    change: () => ask({ isCausal: !mask.checked }) });
  const source = group("原文的词元 | Tokens of the source", "tokens source");
  const edit = make("button", { click: () => { text.focus(); text.select() } }, pick("改句子 | Edit the sentence"));
  const mend = make("button", { click: () => {
    heat.value = 2, mask.checked = false;
    ask({ silent: {}, temperature: 1, isCausal: true, leftOut: [] });
  } }, pick("全部复原 | Mend everything"));
  const effects = make("div", { class: "measured", "aria-live": "polite" });

  const link = make("button", { click: async () => {
    history.replaceState(null, "", share(state));
    const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    link.textContent = isCopied ? pick("链接已复制 | Link copied") : pick("链接在地址栏里 | The link is in the address bar");
    setTimeout(() => { link.textContent = pick("复制链接 | Copy a link") }, 2000);
  } }, pick("复制链接 | Copy a link"));
  const svg = make("button", { click: () => {
    const drawing = lines.querySelector("svg").cloneNode(true);
    drawing.style.cssText = "--a: #7446ad; color: #1d1b16; font: 14px sans-serif; background: #fff";
    const file = new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
    const anchor = make("a", { href: URL.createObjectURL(file), download: "attention.svg" });
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  } }, pick("下载这张图（SVG） | Download this picture (SVG)"));

  const after = make("div", { hidden: true },
    result, doubt, words, rivals, others,
    make("h2", {}, pick("一步一步重放 | Replay, step by step")),
    make("label", { class: "row" }, pick("写到第几个词元 | Tokens written"), slider), cache, kept,
    make("h2", {}, pick("每个头看哪里 | Where each head looks")),
    make("div", { class: "heads" }, ...Object.entries(heads).map(([side, thumbnails]) =>
      make("div", {}, make("p", { class: "says" }, pick(SIDES[side])), thumbnails))), title, note,
    make("div", { class: "views" }, lines, make("div", {}, map, cell)),
    make("div", { class: "row" }, link, svg),
    make("h2", {}, pick("弄坏它 | Break it")),
    make("div", { class: "row" }, one, layer),
    make("label", { class: "row" }, pick("所有注意力的温度 | Temperature of all attention"), heat, make("output", { class: "degrees" })),
    make("label", { class: "row" }, mask, pick("解码器不用因果掩码 | No causal mask in the decoder")),
    make("p", { class: "says" }, pick("点一下原文的词元，把它从输入里去掉： | Press a token of the source to leave it out:")), source,
    make("p", { class: "says row" }, pick("要换一个词，直接改上面的句子： | To replace a word, change the sentence above:"), edit),
    make("p", { class: "says row" }, again, sure), effects, make("div", { class: "row" }, mend));
  settle(place, make("form", { class: "row ask", submit: (event) => { event.preventDefault(); typed() } }, text, load),
    make("div", { class: "row" }, ...examples, make("label", {}, pick("解码 | Decoding"), " ", beams)),
    make("div", { class: "row" }, status, bar), after);

  const asker = new Asker({
    progress: (share) => { status.textContent = pick("正在取模型 | Fetching the model") + ` ${100 * share}%` },
    move: (share) => { bar.value = share, bar.hidden = share === 1 },
    wait: () => { status.textContent = pick("正在翻译… | Translating…") },
    answer: (answer) => {
      found = answer;
      place.setAttribute("aria-busy", "false");
      status.textContent = pick(`用了 ${Math.round(found.milliseconds)} 毫秒，在你的机器上。 | It took ${Math.round(found.milliseconds)} ms on your machine.`);
      if (load === document.activeElement) text.focus();
      load.hidden = bar.hidden = true, after.hidden = false;
      state.step = null;
      paint();
    },
    fail: (why) => {
      status.textContent = pick(`没有成功（${why}），请再试一次。 | It did not work (${why}). Please try again.`);
      place.setAttribute("aria-busy", "false");
      load.hidden = asker.isReady, bar.hidden = true;
    },
    refuse,
  });

  /** Say why this text has no translation, and show none. */
  function refuse(why) {
    asker.drop();
    place.setAttribute("aria-busy", "false");
    status.textContent = why;
    after.hidden = true;
  }

  const typed = () => ask({ text: text.value, leftOut: [] });

  function ask(changes = {}) {
    Object.assign(state, changes);
    const { text, beamSize, silent, temperature, isCausal, leftOut } = state;
    place.setAttribute("aria-busy", `${Boolean(text.trim())}`);
    if (!text.trim()) refuse(pick("写一句话。 | Write a sentence."));
    else asker.ask({ text: text.trim(), beamSize, silent, temperature, isCausal, leftOut });
  }

  function silence(heads) {
    const silent = new Set(state.silent[state.name]);
    const isOn = heads.every((head) => silent.has(head));
    heads.forEach((head) => silent[isOn ? "delete" : "add"](head));
    ask({ silent: { ...state.silent, [state.name]: [...silent].sort() } });
  }

  /** Leave a token of the source out, or put it back; one has to stay. */
  function leaveOut(i) {
    const { leftOut } = state;
    if (leftOut.includes(i)) ask({ leftOut: leftOut.filter((j) => j !== i) });
    else if (leftOut.length < found.all.length - 1) ask({ leftOut: [...leftOut, i] });
  }

  function look(changes) {
    Object.assign(state, changes);
    paint();
  }

  /** All weights: without the mask those of the step that is replayed, which computed all anew. */
  const weightsNow = () => ({ ...found.weights, ...found.passes[(state.step ?? 0) - 1] });

  /** What the chosen head compares: its rows, its columns and the weights between them. */
  function view() {
    const written = state.step ?? found.target.length, side = sideOf(state.name);
    const rows = side === "encoder" ? found.source : found.target.slice(0, written);
    const columns = side === "self" ? ["<bos>", ...found.target].slice(0, written) : found.source;
    const width = side === "self" && state.isCausal ? found.target.length : columns.length;
    const weights = weightsNow()[state.name][state.head];
    return { rows, columns, weight: (i, j) => weights[i * width + j] };
  }

  function paint() {
    const written = state.step ?? found.target.length, isWhole = written === found.target.length;
    state.row = Math.min(state.row, Math.max(0, written - 1));
    result.lang = words.lang = again.lang = /[\u4e00-\u9fff]/.test(state.text) ? "en" : "zh";
    result.textContent = isWhole ? found.text : found.target.slice(0, written).join("").trim() || "…";
    doubt.textContent = sayDoubt(found);
    again.textContent = found.text, sure.textContent = doubt.textContent;
    repaint(words, found.rivals.slice(0, written).map(([{ token, probability }], i) =>
      make("button", { "aria-pressed": `${i === state.row}`, style: `--weight: ${probability}`,
        click: () => look({ row: i }), focus: () => tell(i), pointerenter: () => tell(i) }, token)), state.row);
    tell(state.row);
    others.hidden = state.beamSize === 1;
    others.replaceChildren(...found.hypotheses.map(({ text, logProb, hasEnded }) =>
      make("li", {}, `${text}${hasEnded ? "" : " …"}  ${logProb.toFixed(2).replace("-", "−")}`)));
    paintHeads();
    const { rows, columns, weight } = view();
    title.textContent = nameOf(state.name, state.head);
    const isAnew = written && !state.isCausal && sideOf(state.name) !== "encoder";
    note.textContent = isAnew ? pick(`没有因果掩码，每一步全部重算。这是写第 ${written} 个词元那一步算出的权重：前面的行也看得见后面的词元，那时还没写下的谁也看不见。 | Without the causal mask each step computes everything anew. These are the weights of step ${written}: earlier rows see later tokens too, and no row sees what was not yet written.`) : "";
    lines.replaceChildren(drawLines(rows, columns, weight, title.textContent, sideOf(state.name) === "encoder" ? -1 : state.row));
    map.replaceChildren(drawMap(rows, columns, weight, title.textContent, (i, j) => {
      cell.textContent = `${rows[i].trim()} → ${columns[j].trim()}: ${weight(i, j).toFixed(3)}`;
    }));
    cell.textContent = "";
    lines.setAttribute("aria-label", title.textContent);
    lines.tabIndex = lines.scrollHeight > lines.clientHeight ? 0 : -1;
    const name = lines.querySelector("[font-weight='700']")?.getBoundingClientRect(), box = lines.getBoundingClientRect();
    if (name) lines.scrollTop += name.top - box.top - box.height / 2; // the chosen row is in sight
    slider.max = found.target.length, slider.value = written;
    paintCache(written);
    paintBroken();
  }

  function tell(i) {
    const list = i < (state.step ?? found.target.length) && found.rivals[i].map(({ token, probability }) => `${token.trim()} ${percent(probability)}`);
    rivals.textContent = list ? pick("这一步最可能的词元： | Most probable at this step: ") + list.join("  ·  ") : "";
  }

  const said = (name, head) => nameOf(name, head)
    + (state.silent[name]?.includes(head) ? pick("，已关掉 | , silenced") : "");

  function paintHeads() {
    const { target, passes, source } = found, rows = passes.length && state.step || target.length;
    for (const [side, thumbnails] of Object.entries(heads)) {
      const buttons = Object.entries(weightsNow()).filter(([name]) => sideOf(name) === side)
        .flatMap(([name, all]) => all.map((weights, head) => make("button", {
          "aria-pressed": `${name === state.name && head === state.head}`,
          class: state.silent[name]?.includes(head) ? "silent" : "", "aria-label": said(name, head),
          title: said(name, head), click: () => look({ name, head }),
        }, drawThumbnail(weights, side === "encoder" ? source.length : rows))));
      const at = buttons.findIndex((button) => button.ariaPressed === "true");
      repaint(thumbnails, buttons, Math.max(0, at), 4);
    }
  }

  function paintCache(written) {
    const n = found.source.length, depth = 2, d = 256;
    const cells = (count, kind) => Array.from({ length: count }, () => make("i", { class: kind }));
    if (!state.isCausal) {
      cache.replaceChildren();
      kept.textContent = pick("没有因果掩码，缓存用不了：前面的词元看得见后面的，每一步从头再算。 | Without the causal mask no cache is of use. Earlier tokens see later ones, and each step computes all anew.");
      return;
    }
    const numbers = (2 * depth * d * (n + written)).toLocaleString();
    kept.textContent = pick(`键值缓存：原文 ${n} 个词元的键和值，算一次；译文 ${written} 个，每步添一个。两层合起来 ${numbers} 个数。 | Key–value cache: keys and values of ${n} source tokens, computed once, and of ${written} written tokens, one more at each step. ${numbers} numbers in both layers together.`);
    cache.replaceChildren(make("div", { class: "cells", role: "img", "aria-label": kept.textContent },
      ...cells(n, "k"), ...cells(n, "v"), make("b"), ...cells(written, "k"), ...cells(written, "v")));
  }

  function paintBroken() {
    const silent = state.silent[state.name] ?? [];
    one.textContent = silent.includes(state.head) ? pick("恢复这个头 | Restore this head") : pick("关掉这个头 | Silence this head");
    layer.textContent = silent.length === 4 ? pick("恢复这一层的头 | Restore this layer's heads") : pick("关掉这一层所有的头 | Silence all heads of this layer");
    place.querySelector(".degrees").textContent = state.temperature;
    repaint(source, found.all.map((token, i) => make("button", {
      "aria-pressed": `${state.leftOut.includes(i)}`, class: state.leftOut.includes(i) ? "left" : "",
      click: () => leaveOut(i),
    }, token)));
    const asks = JSON.stringify(state);
    measured(state, nameOf)
      .catch(() => [pick("量过的结果没有取到。 | The measurements could not be fetched.")])
      .then((lines) => { // unless something has changed since
        if (asks === JSON.stringify(state)) effects.replaceChildren(...lines.map((line) => make("p", { class: "says" }, line)));
      });
  }

  addEventListener("hashchange", () => {
    if (!asked().text) return;
    Object.assign(state, { beamSize: 1, silent: {}, temperature: 1, isCausal: true, leftOut: [] }, asked());
    text.value = state.text, beams.value = state.beamSize;
    heat.value = TEMPERATURES.indexOf(state.temperature), mask.checked = !state.isCausal;
    ask();
  });
  if (asked().text) ask();
}
