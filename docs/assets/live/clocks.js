/** Two positions as clocks: the dot product of their encodings depends on their distance alone. */
import { describe, digits, drawing, make, pick, settle, slider, teller, write } from "./page.js";


const D = 8, LAST = 100, WIDTH = 380, ROW = 50, TOP = 50, RADIUS = 19;
const SPEEDS = Array.from({ length: D / 2 }, (_, i) => 10000 ** (-2 * i / D));


/** sin, cos, sin, cos, … of a position. */
export const encode = (position) =>
  SPEEDS.flatMap((speed) => [Math.sin(speed * position), Math.cos(speed * position)]);

export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);


function clock(x, y, [sin, cos], color) {
  const tip = [x + 16 * sin, y - 16 * cos];
  return make("g", {},
    make("circle", { cx: x, cy: y, r: RADIUS, fill: "none", stroke: "var(--line)" }),
    make("line", { x1: x, y1: y, x2: tip[0], y2: tip[1], stroke: color, "stroke-width": 2 }),
    make("circle", { cx: tip[0], cy: tip[1], r: 3, fill: color }),
    write(x + 27, y - 3, `sin ${digits(sin)}`, { class: "small", "text-anchor": "start" }),
    write(x + 27, y + 13, `cos ${digits(cos)}`, { class: "small", "text-anchor": "start" }));
}


/** The dot product by distance, and where we are. */
function plot(distance, product) {
  const floor = TOP + 4 * ROW + 92;
  const across = (x) => 30 + 330 * x / LAST, up = (y) => floor - 18 * y;
  const points = Array.from({ length: LAST + 1 },
    (_, x) => `${across(x)},${up(dot(encode(0), encode(x)))}`);
  return make("g", {},
    make("line", { x1: 30, x2: 360, y1: floor, y2: floor, stroke: "var(--line)" }),
    make("polyline", { points: points.join(" "), fill: "none", stroke: "currentColor" }),
    make("circle", { cx: across(distance), cy: up(product), r: 5, fill: "var(--a)" }),
    write(16, up(4) + 4, "4", { class: "small" }), write(16, floor + 4, "0", { class: "small" }),
    write(30, floor + 30, pick("距离 0 | distance 0"),
      { class: "small", "text-anchor": "start" }),
    write(360, floor + 30, LAST, { class: "small", "text-anchor": "end" }),
    write(WIDTH / 2, floor + 30, pick("点积随距离的变化 | dot product by distance"),
      { class: "small" }));
}


function draw(picture, [first, second]) {
  const codes = [encode(first), encode(second)];
  const product = dot(...codes);
  picture.replaceChildren(
    write(98, 16, `${pick("位置 | position")} ${first}`, { class: "bold" }),
    write(222, 16, `${pick("位置 | position")} ${second}`, { class: "bold" }),
    write(338, 16, pick("点积 | dot product"), { class: "small" }),
    ...SPEEDS.flatMap((_, i) => {
      const [a, b] = codes.map((code) => code.slice(2 * i, 2 * i + 2)), y = TOP + ROW * i;
      return [
        write(0, y + 4, pick(`针 ${i} | hand ${i}`),
          { class: "small", "text-anchor": "start" }),
        clock(76, y, a, "var(--q)"), clock(200, y, b, "var(--k)"),
        write(338, y + 4, digits(dot(a, b)), { style: "fill: var(--a)", class: "bold" }),
      ];
    }),
    make("line", { x1: 312, x2: 364, y1: TOP + 4 * ROW - 26, y2: TOP + 4 * ROW - 26,
      stroke: "var(--line)" }),
    write(338, TOP + 4 * ROW - 8, `= ${digits(product, 3)}`,
      { style: "fill: var(--a)", class: "bold" }),
    plot(Math.abs(first - second), product));
  const hands = SPEEDS.map((_, i) =>
    digits(dot(...codes.map((code) => code.slice(2 * i, 2 * i + 2)))));
  describe(picture, `位置 ${first} 和 ${second} 各有四个钟，四根针的点积是 ${hands.join("、")}，` +
    `合计 ${digits(product, 3)}。下面是点积随距离的变化 | Four clocks each for positions ${first} and ` +
    `${second}. The dot products of their hands are ${hands.join(", ")}, in all ` +
    `${digits(product, 3)}. Below, the dot product by distance`);
  return product;
}


export function start(place) {
  const picture = drawing(WIDTH, TOP + 4 * ROW + 128, "");
  const [says, tell] = teller();
  const show = () => {
    const at = inputs.map((input) => Number(input.value));
    const product = digits(draw(picture, at), 3), distance = Math.abs(at[0] - at[1]);
    tell(pick(`相距 ${distance} 步，点积 ${product} | ${distance} apart, dot product ${product}`));
    back.setAttribute("aria-disabled", Math.min(...at) === 0);
    on.setAttribute("aria-disabled", Math.max(...at) === LAST);
  };
  const range = { min: 0, max: LAST };
  const [one, first] = slider("一个位置 | one position", { ...range, value: 3 }, show);
  const [other, second] = slider("另一个位置 | the other", { ...range, value: 10 }, show);
  const inputs = [first, second];
  const walk = (step) => {
    const at = inputs.map((input) => Number(input.value) + step);
    if (at.some((position) => position < 0 || position > LAST)) return;
    inputs.forEach((input, i) => { input.value = at[i]; input.dispatchEvent(new Event("input")) });
  };
  const back = make("button", { type: "button", click: () => { walk(-1) } },
    pick("一起退一步 | both a step back"));
  const on = make("button", { type: "button", click: () => { walk(1) } },
    pick("一起进一步 | both a step on"));
  settle(place, one, other, make("div", { class: "row" }, back, on), picture, says);
  show();
}
