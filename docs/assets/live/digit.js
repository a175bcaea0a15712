/** A digit that one draws, what the model takes it for, and where rollout says it looked. */
import { make, pick, settle } from "./page.js";

const MODEL = new URL("../../../models/digits.safetensors", import.meta.url);
const SIDE = 448; // pixels of the canvas, on which all is measured from 0 to 100
const PEN = 6;
const STEP = 4; // of an arrow key
const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
const SAMPLES = [
  "M52 16C22 16 24 84 50 84S78 16 48 18", "M50 16V84", "M30 32C34 8 76 12 66 40C60 56 42 68 30 82H70",
  "M32 22C48 10 72 18 66 34C62 46 50 48 44 48C60 48 74 56 68 72C62 88 40 86 30 76",
  "M58 16C50 36 40 48 30 62H74M62 44V84", "M68 18H40L36 46C50 38 70 46 68 64C66 86 40 86 30 76",
  "M60 16C40 28 32 50 34 66C36 88 68 86 66 66C64 48 42 50 36 66", "M28 20H70C60 42 50 60 46 84",
  "M64 28C56 12 32 16 38 34C44 48 68 54 66 70C62 88 34 86 34 70C36 54 64 46 64 28",
  "M64 30C54 10 30 18 34 38C38 56 62 50 66 30C68 50 66 68 58 84",
];
const percent = (x) => `${(100 * x).toFixed(1)}%`;


export function start(place) {
  let strokes = [], stroke = null, pen = [30, 20], found = null;

  // The paper. Whoever has no pointer draws with the arrow keys.
  const canvas = make("canvas", { width: SIDE, height: SIDE });
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  brush.scale(SIDE / 100, SIDE / 100);
  Object.assign(brush, { lineWidth: PEN, lineCap: "round", lineJoin: "round" });
  const cursor = make("circle", { class: "cursor", r: PEN / 2 });
  const over = make("g"), sheet = make("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, over, cursor);
  const hint = make("p", { class: "says keys", id: "digit-keys" }, pick(
    "也可以用键盘：在画板上按方向键移动，空格落笔、抬笔，Delete 清空。"
    + " | Or by keyboard, on the paper: arrow keys move, Space puts the pen down and lifts it, Delete clears."));
  const paper = make("div", {
    class: "paper", tabindex: 0, role: "application", "aria-describedby": hint.id,
    "aria-label": pick("画板 | Drawing paper"), keydown: press,
    mousedown: (event) => event.preventDefault(), // or the mouse's user could not scroll by Space
    pointerdown: (event) => {
      if (!event.isPrimary || event.button) return;
      paper.setPointerCapture(event.pointerId);
      begin(at(event));
    },
    pointermove: (event) => {
      if (!stroke || !event.isPrimary || !paper.hasPointerCapture(event.pointerId)) return;
      const all = event.getCoalescedEvents?.() ?? [];
      for (const each of all.length ? all : [event]) stroke.lineTo(...at(each));
      redraw();
    },
    pointerup: lift, pointercancel: lift,
  }, canvas, sheet);

  // What the model makes of it.
  const result = make("p", { class: "result", role: "status" }, pick("写一个数字，或者选一个。 | Draw a digit, or choose one."));
  const seen = make("canvas", { width: 28, height: 28 }), grid = make("g", { transform: "scale(4)" });
  const look = make("svg", { viewBox: "0 0 28 28", role: "img" }, grid);
  const bars = Array.from({ length: 10 }, () => [make("i"), make("span", { class: "number" })]);
  const wantsRollout = make("input", { type: "checkbox", checked: true, change: paint });
  const penSays = make("p", { class: "unseen", role: "status" });

  settle(place, make("div", { class: "digit" },
    make("div", { class: "draw" }, paper,
      make("div", { class: "row" },
        make("button", { click: clear }, pick("清空 | Clear")),
        make("label", {}, wantsRollout, pick("注意力展开 | Attention rollout"))),
      hint, penSays),
    make("div", { class: "answer" },
      make("div", { class: "samples", role: "group", "aria-labelledby": "digit-samples" },
        make("span", { class: "says", id: "digit-samples" }, pick("不想动笔，选一个： | Or have one written:")),
        ...SAMPLES.map((path, digit) => make("button", { click: () => { clear(); put(path) } }, `${digit}`))),
      make("div", { class: "top" },
        result,
        make("div", { class: "sees says" }, make("div", { class: "seen" }, seen, look),
          pick("模型看到的 28 × 28 | What the model sees, 28 × 28"))),
      make("ul", { class: "bars", "aria-label": pick("十个概率 | The ten probabilities") },
        ...bars.map(([bar, number], digit) => make("li", {}, make("b", {}, `${digit}`),
          make("span", { class: "bar" }, bar), number))))));
  paint();

  function at({ clientX, clientY }) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [100 * (clientX - left) / width, 100 * (clientY - top) / height];
  }

  function begin([x, y]) {
    change();
    wake();
    stroke = new Path2D();
    stroke.moveTo(x, y);
    stroke.lineTo(x + 0.01, y); // a dot is a stroke, too
    strokes.push(stroke);
    redraw();
  }

  function lift() {
    if (!stroke) return;
    stroke = null;
    askSoon();
  }

  function put(path) {
    wake();
    strokes.push(new Path2D(path));
    redraw();
    askSoon();
  }

  function clear() {
    change();
    strokes = [], stroke = null;
    say(pick("写一个数字，或者选一个。 | Draw a digit, or choose one."));
    redraw();
  }

  function press(event) {
    const { key } = event, move = ARROWS[key], isOther = event.ctrlKey || event.metaKey || event.altKey;
    if (isOther || !move && ![" ", "Delete", "Backspace"].includes(key)) return;
    event.preventDefault(); // the page stays where it is
    if (event.repeat && !move) return;
    if (move) {
      pen = pen.map((x, axis) => Math.min(Math.max(x + move[axis], PEN / 2), 100 - PEN / 2));
      if (stroke) change(), stroke.lineTo(...pen), redraw(), askSoon();
    } else if (key === " ") {
      stroke ? lift() : begin(pen);
      penSays.textContent = stroke ? pick("落笔 | pen down") : pick("抬笔 | pen up");
    } else clear();
    paint();
  }

  function redraw() {
    brush.clearRect(0, 0, 100, 100);
    for (const each of strokes) brush.stroke(each);
  }

  // Questions to the worker, which is started by the first. Of those that wait, the last is asked.
  let worker = null, isReady = false, version = 0, soon, isBusy = false, waits = false;

  /** What was found is of another drawing now. */
  function change() {
    version++;
    found = null;
    clearTimeout(soon);
    if (isReady) say("");
    paint();
  }

  /** Fetch the model while the first stroke is drawn. */
  function wake() {
    if (!isReady) say(pick("正在取模型（0.6 MB）…… | Fetching the model (0.6 MB) …"));
    if (worker) return;
    worker = new Worker(new URL("digit_worker.js", import.meta.url), { type: "module" });
    worker.onmessage = hear;
    worker.onerror = () => hear({ data: { error: true } });
    worker.postMessage({ url: MODEL.href });
  }

  function askSoon() {
    clearTimeout(soon);
    soon = setTimeout(ask, 150);
  }

  function ask() {
    if (isBusy) return void (waits = true);
    if (!strokes.length) return; // cleared meanwhile
    wake();
    const { data } = brush.getImageData(0, 0, SIDE, SIDE);
    const opacity = new Float32Array(SIDE * SIDE).map((_, i) => data[4 * i + 3] / 255);
    isBusy = true;
    worker.postMessage({ id: version, url: MODEL.href, opacity, height: SIDE, width: SIDE });
  }

  function hear({ data }) {
    isBusy = false;
    isReady = !data.error;
    if (data.error) {
      worker.terminate(), worker = null; // the next stroke tries again
      say(pick("没有成功。请检查网络，再写一笔。 | It did not work. Please check the network and draw another stroke."));
    } else if (data.id === version) show(data);
    if (waits) waits = false, ask();
  }

  function say(...words) {
    result.replaceChildren(...words);
  }

  function show(answer) {
    found = answer;
    const { labels, probabilities, threshold } = found, most = Math.max(...probabilities);
    const doubt = most >= threshold ? null : make("span", {}, pick(
      `这个没有把握（${(100 * most).toFixed(2)}%，低于 ${percent(threshold)}） | `
      + `not sure of this one (${(100 * most).toFixed(2)}% is below ${percent(threshold)})`));
    say(make("b", {}, labels[probabilities.indexOf(most)]), ` ${percent(most)} `, doubt ?? "");
    paint();
  }

  /** Everything but the strokes and the words. */
  function paint() {
    cursor.setAttribute("cx", pen[0]), cursor.setAttribute("cy", pen[1]);
    cursor.classList.toggle("down", stroke !== null);
    const most = Math.max(...found?.probabilities ?? [1]);
    bars.forEach(([bar, number], digit) => {
      const probability = found?.probabilities[digit];
      bar.style.width = percent(probability ?? 0);
      bar.classList.toggle("most", probability === most);
      number.textContent = found ? percent(probability) : "";
    });
    const image = new ImageData(28, 28);
    found?.image.forEach((ink, i) => { image.data[4 * i + 3] = 255 * ink });
    seen.getContext("2d").putImageData(image, 0, 0);
    const shares = found && wantsRollout.checked ? [...found.rollout] : [];
    for (const layer of [over, grid]) layer.replaceChildren(...squares(shares));
    if (found) {
      const { left, top, width, height } = found.place, unit = 100 / SIDE;
      over.setAttribute("transform",
        `scale(${unit}) translate(${left} ${top}) scale(${width / 7} ${height / 7})`);
    }
    look.setAttribute("aria-label", describe(shares));
  }
}


/** The patches of 7 by 7, each as violet as its share in what is classified. */
function squares(shares) {
  const most = Math.max(...shares);
  return shares.map((share, i) => make("rect", {
    x: i % 7, y: Math.floor(i / 7), width: 1, height: 1, "fill-opacity": 0.75 * share / most }));
}


function describe(shares) {
  const sees = pick("模型看到的图 | The image that the model sees");
  if (!shares.length) return sees;
  const most = Math.max(...shares), i = shares.indexOf(most), row = Math.floor(i / 7) + 1, column = i % 7 + 1;
  return sees + pick(`，展开给第 ${row} 行第 ${column} 列的图像块最多，${percent(most)}`
    + ` | ; rollout gives most to the patch in row ${row}, column ${column}: ${percent(most)}`);
}
