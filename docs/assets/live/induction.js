/** A model that learns in the page to go on with rows that repeat; its heads can be silenced. */
import { digits, drawing, isStill, make, pick, settle, slider, write } from "./page.js";


const STEPS = 400, SURE = 0.95; // where training ends, and the accuracy at which it first stops
const EVERY = 5, CALM = 20; // steps between measurements, and between pictures where all is still
const TOKENS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PERIOD = 8, LENGTH = 16; // of the row that is shown
const PLACES = Array.from({ length: LENGTH }, (_, i) => i);
const HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]; // layer and head
const LINES = { // its name, its colour, its dashes
  accuracy: ["正确率 | accuracy", "currentColor"],
  previous: ["看前一个，第一层 | one before, layer 1", "var(--k)", "6 3"],
  prefix: ["前缀匹配，第二层 | prefix matching, layer 2", "var(--a)", "2 2"],
  loss: ["损失 | loss", "var(--q)"],
};
const SCORES = ["accuracy", "previous", "prefix"];
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const name = ([layer, head]) =>
  pick(`第${"一二"[layer]}层的头 ${head + 1} | Layer ${layer + 1}, head ${head + 1}`);


/** Lines over all steps. `draw` takes points, [step, height from 0 to 1]. */
function chart(words, keys, ticks) {
  const width = 340, height = 160, left = 38, bottom = height - 36;
  const x = (step) => left + (width - left - 14) * step / STEPS;
  const y = (share) => bottom - (bottom - 8) * share;
  const small = { class: "small" };
  const lines = Object.fromEntries(keys.map((key) => [key, make("polyline", {
    fill: "none", stroke: LINES[key][1], "stroke-dasharray": LINES[key][2], "stroke-width": 2,
  })]));
  const picture = drawing(width, height, words,
    ...Object.entries(ticks).flatMap(([tick, share]) => [
      make("line", { x1: left, x2: x(STEPS), y1: y(share), y2: y(share), class: "rule" }),
      write(left - 5, y(share) + 4, tick, { ...small, "text-anchor": "end" }),
    ]),
    ...[0, 100, 200, 300, 400].map((step) => write(x(step), bottom + 16, step, small)),
    write(x(STEPS / 2), height - 5, pick("步 | step"), small),
    ...Object.values(lines));
  const draw = (key, points) => lines[key].setAttribute("points",
    points.map(([step, share]) => `${x(step).toFixed(1)},${y(share).toFixed(1)}`).join(" "));
  return { picture, draw };
}


/** A line's name, with a piece of it and its last value. */
function legend(key) {
  const [words, stroke, dashes] = LINES[key], value = make("b");
  const sample = make("line", {
    x1: 0, x2: 24, y1: 4, y2: 4, stroke, "stroke-dasharray": dashes, "stroke-width": 2,
  });
  const piece = make("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" }, sample);
  return [make("span", { class: "legend" }, piece, `${pick(words)} `, value), value];
}


/** What a head looks at: a row for each query, a column for each key, scored cells framed. */
function map(head, choose) {
  const margin = 26, cell = 9, at = (i) => margin + cell * i, end = at(LENGTH);
  const frame = (i, j, attributes) =>
    make("rect", { x: at(j), y: at(i), width: cell, height: cell, ...attributes });
  const cells = PLACES.map((i) =>
    PLACES.slice(0, i + 1).map((j) => frame(i, j, { fill: "var(--a)" })));
  const letters = PLACES.map((i) => { // in two lines, or they would touch
    const away = i % 2 ? 19 : 7;
    return [write(at(i) + cell / 2, away + 5, ""), write(away, at(i) + 9, "")];
  });
  const scored = head[0] // in layer 2 what followed the same token, in layer 1 what stands before
    ? PLACES.slice(PERIOD).map((i) => [i, i - PERIOD + 1])
    : PLACES.slice(1).map((i) => [i, i - 1]);
  const stairs = PLACES.map((i) => `H${at(i + 1)} V${at(i + 1)}`).join(" ");
  const here = frame(0, 0, { class: "here" });
  const picture = drawing(end + 1, end + 1, "", ...letters.flat(), ...cells.flat(),
    make("path", { d: `M${margin} ${margin} ${stairs} H${margin} Z`, class: "rule" }),
    ...scored.map(([i, j]) => frame(i, j, { class: "rule" })), here);
  picture.addEventListener("pointermove", ({ clientX, clientY }) => {
    const box = picture.getBoundingClientRect(), scale = (end + 1) / box.width;
    const [j, i] = [clientX - box.left, clientY - box.top]
      .map((pixels) => Math.floor((pixels * scale - margin) / cell));
    if (j >= 0 && j <= i && i < LENGTH) choose(i, j);
  });
  const weight = make("p", { class: "says" }), score = make("p", { class: "says" });
  return {
    element: make("div", { class: "head" }, make("b", {}, name(head)), picture, weight, score),
    spell: (row) => row.forEach((id, i) => letters[i].forEach((letter) => {
      letter.textContent = TOKENS[id];
    })),
    draw: (weights) => cells.flat().forEach((rect, n) =>
      rect.setAttribute("fill-opacity", weights[n])),
    point(i, j, value) {
      here.setAttribute("x", at(j)), here.setAttribute("y", at(i));
      weight.textContent = pick(`这一格 ${digits(value)} | this cell ${digits(value)}`);
      picture.setAttribute("aria-label",
        pick(`${name(head)}，从第 ${i + 1} 个到第 ${j + 1} 个的权重是 ${digits(value)} | ` +
          `${name(head)}, weight from place ${i + 1} to place ${j + 1}: ${digits(value)}`));
    },
    tell({ previous, prefix }) {
      const [layer, h] = head;
      score.textContent = layer
        ? pick(`前缀匹配 ${percent(prefix[1][h])} | prefix ${percent(prefix[1][h])}`)
        : pick(`看前一个 ${percent(previous[0][h])} | before ${percent(previous[0][h])}`);
    },
  };
}


/** The row, and below its second half what the model writes there. */
function copy() {
  const element = make("div", { class: "copying", role: "img" });
  const draw = (row, next) => {
    const spelt = (ids) => ids.map((id) => TOKENS[id]).join(" ");
    const written = next.slice(PERIOD - 1, -1), again = row.slice(PERIOD);
    element.setAttribute("aria-label",
      pick(`读到 ${spelt(row)}，后一半写成 ${spelt(written)} | ` +
        `Read: ${spelt(row)}. Written for the second half: ${spelt(written)}`));
    element.replaceChildren(
      make("span", {}, pick("读 | reads")), ...row.map((id) => make("i", {}, TOKENS[id])),
      make("span", { class: "second" }, pick("写 | writes")), ...written.map((id, i) =>
        make("i", { class: id === again[i] ? "right" : "wrong" }, TOKENS[id])));
  };
  return { element, draw };
}


/** What there is to see, in words, by what was measured. */
function phase({ accuracy, prefix }) {
  const best = Math.max(...prefix[1]);
  if (accuracy >= SURE) return pick(
    "学会了。第二层的图里多了一条斜线，现在请关掉头看看，一次一个，再一次两个。 | " +
    "It has learnt: see the line in layer 2. Now silence heads, one at a time, then two.");
  if (best >= 0.5) return pick(
    "斜线出来了，正确率跟着前缀匹配一起往上跳。 | " +
    "The line is there, and accuracy jumps with prefix matching.");
  if (best >= 0.15) return pick(
    "第二层有一个头开始看该抄的词元，请看框出来的斜线。 | " +
    "A head in layer 2 begins to look at the token to copy. Watch the framed cells.");
  return pick("还在瞎猜，没有一个头盯住什么。 | It still guesses, and no head looks for anything.");
}


/** What the cell of a query and a key would be for. */
function purpose(row, i, j) {
  if (j > i) return pick("键在查询后面，看不到。 | The key comes after the query and is hidden.");
  if (j === i - 1) return pick(
    "紧挨着的前一个词元，前一词元头看这里。 | " +
    "The token just before: a previous-token head looks here.");
  if (i >= PERIOD && j === i - PERIOD + 1) return pick(
    `上一次的 ${TOKENS[row[i]]} 后面是 ${TOKENS[row[j]]}，归纳头看这里。 | ` +
    `${TOKENS[row[j]]} follows the earlier ${TOKENS[row[i]]}: an induction head looks here.`);
  return pick("请移到框出来的格子上。 | Move to one of the framed cells.");
}


const toSeed = (words) => Math.trunc(Math.abs(Number(words)) || 0) % 1_000_000;
const linked = () => /^#seed=\d+$/.test(location.hash) ? toSeed(location.hash.slice(6)) : null;


export function start(place) {
  let worker = null, waiting = []; // what is asked is answered in order

  function ask(task, given) {
    worker ??= hire();
    worker.postMessage({ task, given });
    return new Promise((answer) => waiting.push(answer));
  }

  /** A worker; should it fail, the next model gets another. */
  function hire() {
    const hired = new Worker(new URL("induction_worker.js", import.meta.url), { type: "module" });
    hired.onmessage = ({ data }) => waiting.shift()(data);
    hired.onerror = () => {
      hired.terminate();
      worker = run = history = null, waiting = [];
      label();
      say(pick("没有成功。请检查网络，再按“重来”。 | It did not work. Please check the network and press Reset."));
    };
    return hired;
  }

  let seed, row, step, run, history, weights, measured, isSure;
  const silent = [[], []]; // heads, by layer

  const button = (words, click) => make("button", { type: "button", click }, pick(words));
  const go = button("开始 | Start", () => { if (run) run = null; else train(); label() });
  const number = make("input", {
    type: "number", min: 0, max: 999_999, change: () => begin(toSeed(number.value)),
  });
  const controls = make("div", { class: "row" }, go,
    button("重来 | Reset", () => begin(seed)),
    make("label", {}, pick("种子 | Seed"), number),
    button("复制链接 | Copy link", share));
  const counter = make("b", { class: "counter" });
  const status = make("p", { class: "says status", role: "status" });
  const scores = chart("三种得分，逐步地 | the three scores, step by step",
    SCORES, { "0%": 0, "50%": 0.5, "100%": 1 });
  const losses = chart("损失，逐步地 | the loss, step by step", ["loss"], { 0: 0, 2: 0.5, 4: 1 });
  const legends = Object.fromEntries(Object.keys(LINES).map((key) => [key, legend(key)]));
  const copying = copy();
  const maps = HEADS.map((head) => map(head, (i, j) => {
    query.value = i, key.value = j;
    for (const input of [query, key]) input.dispatchEvent(new Event("input"));
  }));
  const toggles = HEADS.map((head, n) => {
    const toggle = button("关掉 | Silence", () => {
      mute(n, toggle.getAttribute("aria-pressed") === "false");
      refresh(true, true);
    });
    toggle.append(make("span", { class: "unseen" }, ` ${name(head)}`));
    maps[n].element.append(toggle);
    return toggle;
  });
  const effect = make("p", { class: "says effect" });
  const spelt = (i) => `${i + 1}${row ? ` (${TOKENS[row[i]]})` : ""}`;
  const range = { min: 0, max: LENGTH - 1 };
  const [from, query] = slider("查询的位置 | query at", { ...range, value: 11 }, point, spelt);
  const [to, key] = slider("键的位置 | key at", { ...range, value: 11 - PERIOD + 1 }, point, spelt);
  const meaning = make("p", { class: "says meaning" });

  function label() {
    const isOver = step === STEPS;
    const words = run ? "暂停 | Pause" : step && !isOver ? "接着训练 | Go on" : "开始 | Start";
    if (go.textContent !== pick(words)) go.textContent = pick(words);
    go.disabled = isOver || !history;
    counter.textContent = pick(`第 ${step} 步，共 ${STEPS} 步 | step ${step} of ${STEPS}`);
    effect.setAttribute("aria-live", run ? "off" : "polite");
  }
  function say(words) {
    if (status.textContent !== words) status.textContent = words;
  }

  function mute(n, isSilent) {
    const [layer, h] = HEADS[n], others = silent[layer].filter((other) => other !== h);
    silent[layer] = isSilent ? [...others, h] : others;
    toggles[n].setAttribute("aria-pressed", isSilent);
    maps[n].element.classList.toggle("silent", isSilent);
  }

  /** The weight of the chosen cell in each map, and what it would be for. */
  function point() {
    const i = Number(query.value), j = Number(key.value);
    if (!weights) return;
    maps.forEach((map, n) => map.point(i, j, j > i ? 0 : weights[n][LENGTH * i + j]));
    meaning.textContent = purpose(row, i, j);
  }

  /** Ask anew for what the heads look at, and for the scores if they are wanted. */
  async function refresh(isMeasured, isAtOnce = !isStill()) {
    const mine = history;
    if (!mine) return;
    const asked = isMeasured ? ask("measure", silent) : null;
    const { next, weights: found } = await ask("look", silent);
    const scored = await asked;
    if (history !== mine) return; // of a model that is no more
    weights = found;
    if (scored) measured = scored;
    if (isMeasured && history.accuracy.at(-1)?.[0] !== step) {
      const { accuracy, previous, prefix } = measured.whole;
      history.accuracy.push([step, accuracy]);
      history.previous.push([step, Math.max(...previous[0])]);
      history.prefix.push([step, Math.max(...prefix[1])]);
    }
    if (isAtOnce || !run || step % CALM === 0) draw(next);
  }

  function draw(next) {
    for (const key of SCORES) {
      scores.draw(key, history[key]);
      legends[key][1].textContent = percent(history[key].at(-1)[1]);
    }
    losses.draw("loss", history.loss.map(([step, loss]) => [step, loss / 4]));
    legends.loss[1].textContent = history.loss.length ? digits(history.loss.at(-1)[1]) : "–";
    copying.draw(row, next);
    maps.forEach((map, n) => {
      map.draw(PLACES.flatMap((i) => [...weights[n].subarray(LENGTH * i, LENGTH * i + i + 1)]));
      map.tell(measured.changed);
    });
    point();
    const { whole, changed } = measured, all = percent(whole.accuracy);
    const without = HEADS.filter(([layer, h]) => silent[layer].includes(h)).map(name);
    const few = percent(changed.accuracy);
    effect.textContent = without.length
      ? pick(`四个头都在时正确率是 ${all}，关掉${without.join("、")} 以后是 ${few}。 | ` +
        `All four heads: ${all} right. Without ${without.join(" and ").toLowerCase()}: ${few}.`)
      : pick(`四个头都在时正确率是 ${all}。 | All four heads: ${all} right.`);
  }

  /** A new model. */
  async function begin(wanted) {
    const isOther = seed !== undefined && seed !== wanted;
    seed = wanted, step = 0, run = null, history = null, isSure = false;
    number.value = seed;
    HEADS.forEach((_, n) => mute(n, false));
    label();
    if (isOther) window.history.replaceState(null, "", `#seed=${seed}`);
    const found = await ask("begin", seed);
    if (waiting.length) return; // another has been asked for
    row = found;
    history = { accuracy: [], previous: [], prefix: [], loss: [] };
    for (const map of maps) map.spell(row);
    for (const input of [query, key]) input.dispatchEvent(new Event("input"));
    await refresh(true);
    label();
    say(pick("还没有训练。 | Not trained yet."));
  }

  async function train() {
    const own = run = {}, mine = history;
    while (run === own) {
      const loss = await ask("step");
      if (history !== mine) return;
      history.loss.push([++step, loss]);
      if (step === STEPS) run = null;
      label();
      await refresh(step % EVERY === 0);
      if (history !== mine) return;
      if (!isSure && measured.whole.accuracy >= SURE) isSure = true, run = null;
      if (run === own) say(phase(measured.whole));
    }
    if (run) return; // it goes on already
    await refresh(true);
    if (history !== mine || run) return;
    label();
    const at = step === STEPS
      ? `训练完了，共 ${step} 步。 | Training has ended, at step ${step}. `
      : `停在第 ${step} 步。 | Paused at step ${step}. `;
    say(pick(at) + phase(measured.whole));
  }

  async function share() {
    window.history.replaceState(null, "", `#seed=${seed}`);
    const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    say(done ? pick("链接复制好了。 | Link copied.") : location.href);
  }

  addEventListener("hashchange", () => {
    const other = linked();
    if (other !== null && other !== seed) begin(other);
  });
  settle(place, make("div", { class: "induction" }, controls, counter, status,
    make("div", { class: "charts" },
      make("div", {}, scores.picture, ...SCORES.map((key) => legends[key][0])),
      make("div", {}, losses.picture, legends.loss[0])),
    copying.element,
    make("div", { class: "four" }, ...maps.map(({ element }) => element)),
    effect, from, to, meaning));
  begin(linked() ?? 0);
}
