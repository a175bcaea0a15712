/** Attention weights drawn: as curved lines, as a table one can walk through, as a thumbnail. */
import { make } from "./page.js";

const WIDTH = 300, EDGE = 110;
const short = (token) => token.trim() || "␣";


/** Lines from each row, on the right, to each column, on the left; those of one row stand out. */
export function drawLines(rows, columns, weight, label, chosen = -1) {
  const most = Math.max(rows.length, columns.length, 1), height = most * (most > 24 ? 16 : 24);
  const y = (i, n) => (i + 0.5) * height / n;
  const curves = rows.flatMap((_, i) => columns.map((_, j) => {
    const w = weight(i, j);
    if (!(w > 0.02)) return null;
    const from = y(j, columns.length), to = y(i, rows.length), middle = WIDTH / 2;
    return make("path", {
      d: `M${EDGE} ${from} C${middle} ${from} ${middle} ${to} ${WIDTH - EDGE} ${to}`,
      fill: "none", stroke: "var(--a)", "stroke-width": 1 + 5 * w,
      "stroke-opacity": (chosen < 0 || i === chosen ? 0.15 + 0.85 * w : 0.12 * w).toFixed(3),
    });
  }));
  const names = (tokens, x, anchor) => tokens.map((token, i) => make("text", {
    x, y: y(i, tokens.length) + 5, "text-anchor": anchor,
    "font-weight": anchor === "start" && i === chosen ? 700 : 400,
  }, short(token)));
  return make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": label, xmlns: "http://www.w3.org/2000/svg" },
    ...curves, ...names(columns, EDGE - 6, "end"), ...names(rows, WIDTH - EDGE + 6, "start"));
}


/** Make one stop of Tab of many items: arrow keys, Home and End move among them, in rows of `columns`. */
export function rove(group, items, at = 0, columns = 1) {
  items.forEach((item, i) => { item.tabIndex = i === at ? 0 : -1 });
  group.onkeydown = (event) => {
    const from = items.indexOf(event.target), move = { Home: -from, End: items.length - 1 - from,
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (from < 0 || move == null) return;
    event.preventDefault();
    const to = items[from + move];
    if (!to) return;
    items[from].tabIndex = -1, to.tabIndex = 0;
    to.focus();
  };
}


/** A table of weights; see(i, j) is called for the cell under the mouse or reached by arrow keys. */
export function drawMap(rows, columns, weight, label, see) {
  const table = make("table", { class: "weights" }, make("caption", { class: "unseen" }, label),
    make("thead", {}, make("tr", {}, make("td"), ...columns.map((token) =>
      make("th", { scope: "col" }, make("span", {}, short(token)))))),
    make("tbody", {}, ...rows.map((token, i) => make("tr", {}, make("th", { scope: "row" }, short(token)),
      ...columns.map((_, j) => make("td", {
        style: `--weight: ${weight(i, j) || 0}`, pointerenter: () => see(i, j), focus: () => see(i, j),
      }, make("span", { class: "unseen" }, (weight(i, j) || 0).toFixed(2))))))));
  rove(table, [...table.querySelectorAll("tbody td")], 0, columns.length);
  return table;
}


/** All weights of a head in small: a pixel each. */
export function drawThumbnail(weights, rows) {
  const columns = weights.length / rows;
  const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true",
    style: weights.length > 32 ** 2 && "image-rendering: auto" });
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  weights.forEach((weight, i) => image.data.set([116, 70, 173, Math.round(255 * Math.min(1, weight))], 4 * i));
  context.putImageData(image, 0, 0);
  return canvas;
}
