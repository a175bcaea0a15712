/** A query one drags along the keys: the kernel, the weights and their average move with it. */
import { digits, drawing, make, pick, settle, slider, write } from "./page.js";


const KEYS = [0, 1, 2, 3, 4, 5];
const VALUES = [0.1, 0.9, 0.8, 0.2, -0.7, -1.0];
const WIDTH = 380, LEFT = 40, STEP = 60, ZERO = 88, FLOOR = 240;
const across = (x) => LEFT + STEP * x;
const valueAt = (y) => ZERO - 52 * y;
const weightAt = (weight) => FLOOR - 150 * weight;


/** Score, normalise, sum: the output, the weights, and what they were divided by. */
export function attend(query) {
  const powers = KEYS.map((key) => Math.exp(-((query - key) ** 2) / 2));
  const total = powers.reduce((a, b) => a + b);
  const weights = powers.map((power) => power / total);
  return { weights, total, output: weights.reduce((sum, w, i) => sum + w * VALUES[i], 0) };
}


/** A smooth line through y(x), over the whole axis. */
const curve = (y, attributes) => make("polyline", {
  points: Array.from({ length: 111 }, (_, i) => i / 20 - 0.25)
    .map((x) => `${across(x).toFixed(1)},${y(x).toFixed(1)}`).join(" "),
  fill: "none", ...attributes,
});


function draw(picture, query) {
  const { weights, total, output } = attend(query);
  const x = across(query);
  const end = query > 3.9 ? "end" : "start", aside = query > 3.9 ? -8 : 8;
  picture.replaceChildren(
    make("line", { x1: 20, x2: WIDTH - 20, y1: ZERO, y2: ZERO, stroke: "var(--line)" }),
    make("line", { x1: 20, x2: WIDTH - 20, y1: FLOOR, y2: FLOOR, stroke: "var(--line)" }),
    curve((at) => valueAt(attend(at).output), { stroke: "var(--v)", "stroke-dasharray": "3 4" }),
    curve((at) => weightAt(Math.exp(-((query - at) ** 2) / 2) / total), { stroke: "var(--a)" }),
    make("line", { x1: x, x2: x, y1: 16, y2: FLOOR + 62, stroke: "var(--q)", "stroke-width": 1.5 }),
    ...KEYS.flatMap((key, i) => [
      make("rect", {
        x: across(key) - 9, width: 18, y: weightAt(weights[i]), height: 150 * weights[i],
        fill: "var(--a)", "fill-opacity": 0.55,
      }),
      write(across(key), FLOOR + 16, digits(weights[i], 3), { class: "small halo" }),
      make("rect", { x: across(key) - 18, y: FLOOR + 30, width: 12, height: 12, fill: "var(--k)" }),
      write(across(key) - 1, FLOOR + 40, key, { "text-anchor": "start", class: "halo" }),
      make("circle", { cx: across(key), cy: valueAt(VALUES[i]), r: 3 + 12 * weights[i],
        fill: "var(--v)", "fill-opacity": 0.75 }),
      write(across(key), valueAt(VALUES[i]) + (i < 3 ? -14 : 24), digits(VALUES[i], 1),
        { class: "small halo" }),
    ]),
    make("circle", { cx: x, cy: valueAt(output), r: 6, fill: "var(--v)", stroke: "currentColor" }),
    write(x + aside, 12, `${pick("查询 | query")} ${digits(query, 1)}`, { "text-anchor": end }),
    write(x + aside, 158, `${pick("输出 | output")} ${digits(output, 3)}`,
      { "text-anchor": end, class: "bold" }),
    make("circle", { cx: x, cy: FLOOR + 64, r: 9, fill: "var(--q)", class: "handle" }),
  );
  return output;
}


export function start(place) {
  const picture = drawing(WIDTH, 316,
    "横轴是六个键和查询，上面是六个值和输出，下面是六个权重 | " +
    "Keys and query along the axis; values and output above, weights below");
  const says = make("p", { class: "says", "aria-live": "polite" });
  const show = () => {
    const output = draw(picture, Number(input.value));
    const number = digits(output, 3);
    says.textContent = pick(`加权平均是 ${number} | The weighted average is ${number}`);
  };
  const [control, input] = slider("拖动查询 | Drag the query",
    { min: 0, max: 5, step: 0.1, value: 2.2 }, show, (value) => digits(value, 1));
  const drag = (event) => {
    if (!event.buttons) return;
    const box = picture.getBoundingClientRect();
    const query = ((event.clientX - box.left) * WIDTH / box.width - LEFT) / STEP;
    input.value = Math.min(5, Math.max(0, query));
    input.dispatchEvent(new Event("input"));
  };
  picture.classList.add("drag");
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    drag(event);
  });
  picture.addEventListener("pointermove", drag);
  settle(place, control, picture, says);
  show();
}
