/** A query one drags along the keys: the kernel, the weights and their average move with it. */
import { describe, digits, drawing, make, pick, settle, slider, teller, write } from "./page.js";


const KEYS = [0, 1, 2, 3, 4, 5];
const VALUES = [0.1, 0.9, 0.8, 0.2, -0.7, -1.0];
const WIDTH = 380, LEFT = 68, STEP = 56, ZERO = 88, FLOOR = 262;
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
  const [end, aside] = query > 2.5 ? ["end", -8] : ["start", 8];
  const rule = (y) => make("line", { x1: 46, x2: WIDTH - 10, y1: y, y2: y, stroke: "var(--line)" });
  const row = (y, words) => write(0, y, pick(words), { "text-anchor": "start", class: "small" });
  picture.replaceChildren(
    rule(ZERO), rule(FLOOR),
    row(ZERO + 4, "值 | values"), row(FLOOR + 20, "权重 | weights"),
    row(FLOOR + 48, "键 | keys"), row(FLOOR + 74, "查询 | query"),
    curve((at) => valueAt(attend(at).output), { stroke: "var(--v)", "stroke-dasharray": "3 4" }),
    curve((at) => weightAt(Math.exp(-((query - at) ** 2) / 2) / total), { stroke: "var(--a)" }),
    make("line", { x1: x, x2: x, y1: 16, y2: FLOOR + 68, stroke: "var(--q)", "stroke-width": 1.5 }),
    ...KEYS.flatMap((key, i) => [
      make("rect", {
        x: across(key) - 9, width: 18, y: weightAt(weights[i]), height: 150 * weights[i],
        fill: "var(--a)", "fill-opacity": 0.55,
      }),
      make("rect", { x: across(key) - 19, y: FLOOR + 7, width: 38, height: 18, rx: 2,
        class: "cell", style: `--weight: ${weights[i]}` }),
      write(across(key), FLOOR + 20, digits(weights[i], 3), { class: "small" }),
      make("rect", { x: across(key) - 14, y: FLOOR + 38, width: 12, height: 12, rx: 2,
        fill: "var(--k)" }),
      write(across(key) + 2, FLOOR + 48, key, { "text-anchor": "start", class: "halo" }),
      make("circle", { cx: across(key), cy: valueAt(VALUES[i]), r: 3 + 12 * weights[i],
        fill: "var(--v)", "fill-opacity": 0.75 }),
      write(across(key), valueAt(VALUES[i]) + (i === 1 || i === 2 ? -14 : 24), digits(VALUES[i], 1),
        { class: "small halo" }),
    ]),
    make("circle", { cx: x, cy: valueAt(output), r: 6, fill: "var(--v)", stroke: "currentColor" }),
    write(x + aside, 12, pick(`查询 ${digits(query, 1)}，输出 ${digits(output, 3)} | ` +
      `query ${digits(query, 1)}, output ${digits(output, 3)}`), { "text-anchor": end }),
    make("circle", { cx: x, cy: FLOOR + 70, r: 9, fill: "var(--q)", class: "handle" }),
  );
  const shown = weights.map((weight) => digits(weight, 3));
  describe(picture, `横轴是六个键和查询，上面是值和输出，下面是权重，依次是 ${shown.join("、")} | ` +
    `Keys and query along the axis, values and output above, weights below: ${shown.join(", ")}`);
  return output;
}


export function start(place) {
  const picture = drawing(WIDTH, FLOOR + 82, "");
  const [says, tell] = teller();
  const show = () => {
    const output = draw(picture, Number(input.value));
    const number = digits(output, 3);
    tell(pick(`加权平均是 ${number} | The weighted average is ${number}`));
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
