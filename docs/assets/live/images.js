// Made from docs/source/live-parts.md (b29eb4a2e54a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** From ink to what the model sees, as in attention_book/data/images.py. */
import { Matrix } from "./tensors.js";

const EMPTY = "wanted something drawn, got an empty image";


/**
 * The ink of a canvas, from 0 to 1, out of how opaque its pixels are. The page
 * knows its paper, so that of find_ink only the last step is left: the darkest
 * is 1, and what is hardly there is 0.
 */
export function findInk(opacity) {
  const most = opacity.reduce((a, b) => Math.max(a, b), 0);
  if (!(most > 0.05)) throw new Error(EMPTY);
  return opacity.map((x) => Math.min(Math.max((x / most - 0.1) / 0.8, 0), 1));
}


/** Ink in a square as in MNIST, thin lines thickened: size × size numbers. */
export const toDigit = (ink, height, width, size = 28) =>
  toImage(toSquare(ink, height, width).square, size);

export const toImage = (square, size) => average(square, size, size).data;


/**
 * The square of 84 by 84 with the ink in it, and its place, in pixels of what
 * was given: what is drawn keeps its shape in a box of 60 by 60, and its centre
 * of mass goes to the middle.
 */
export function toSquare(pixels, height, width) {
  const ink = dropSpecks(new Matrix(height, width, pixels));
  const { top, left, bottom, right } = bounds(ink);
  const part = crop(ink, top, left, bottom - top, right - left);
  const longer = Math.max(part.rows, part.columns);
  const [rows, columns] = [part.rows, part.columns]
    .map((side) => Math.max(1, round(60 * side / longer)));
  const resize = longer > 60 ? largest : stretch;
  const inner = resize(part, rows, columns);
  const above = 84 - rows >> 1, before = 84 - columns >> 1;
  let square = crop(inner, -above, -before, 84, 84);
  while (lineWidth(square) < 6) square = thicken(square);
  const [down, across] = fromCentre(square);
  const { data } = square;
  square = square.map((_, j, i) => {
    const row = (i + down + 84) % 84, column = (j + across + 84) % 84;
    return data[row * 84 + column];
  });
  const x = part.columns / columns; // pixels to one of the square
  const y = part.rows / rows;
  const place = {
    left: left + (across - before) * x,
    top: top + (down - above) * y,
    width: 84 * x,
    height: 84 * y,
  };
  return { square, place };
}


/** Ink without what is apart and small, on a grid of at most 32 by 32. */
function dropSpecks(ink) {
  const mass = average(ink, Math.min(32, ink.rows), Math.min(32, ink.columns));
  const isInk = (i) => mass.data[i] > Math.fround(0.02);
  let cells = mass.map((_, column, row) => row * mass.columns + column + 1);
  cells = cells.map((cell) => isInk(cell - 1) ? cell : 0);
  for (let isDone = false; !isDone;) { // each part takes its highest number
    const spread = new Matrix(cells.rows, cells.columns,
      thicken(cells).data.map((cell, i) => isInk(i) ? cell : 0));
    isDone = spread.data.every((cell, i) => cell === cells.data[i]);
    cells = spread;
  }
  const masses = new Float32Array(cells.data.length + 1);
  cells.data.forEach((cell, i) => { if (cell) masses[cell] += mass.data[i] });
  const least = 0.04 * masses.reduce((a, b) => Math.max(a, b));
  const nearest = (side, of) => Array.from({ length: side }, (_, i) =>
    Math.floor(Math.fround(i * Math.fround(of / side))));
  const rows = nearest(ink.rows, cells.rows);
  const columns = nearest(ink.columns, cells.columns);
  return ink.map((x, j, i) => {
    const cell = cells.data[rows[i] * cells.columns + columns[j]];
    return cell && masses[cell] >= least ? x : 0;
  });
}


/** The smallest box with all that is more than a trace. */
function bounds(ink) {
  const box = { top: Infinity, left: Infinity, bottom: 0, right: 0 };
  ink.data.forEach((x, place) => {
    if (x <= 0.15) return;
    const i = Math.floor(place / ink.columns), j = place % ink.columns;
    box.top = Math.min(box.top, i), box.bottom = Math.max(box.bottom, i + 1);
    box.left = Math.min(box.left, j), box.right = Math.max(box.right, j + 1);
  });
  if (!box.bottom) throw new Error(EMPTY);
  return box;
}


/** A part of an image; outside of it there is no ink. */
function crop(x, top, left, height, width) {
  return new Matrix(height, width).map((_, j, i) => {
    const row = top + i, column = left + j;
    if (row < 0 || row >= x.rows || column < 0 || column >= x.columns) return 0;
    return x.data[row * x.columns + column];
  });
}


/** Where the i-th of n parts of a side begins, and where it ends. */
const parts = (i, n, side) =>
  [Math.floor(i * side / n), Math.ceil((i + 1) * side / n)];


/** rows × columns numbers, each finish(its part of x added up, its sides). */
function pool(x, rows, columns, add, finish = (sum) => sum) {
  return new Matrix(rows, columns).map((_, j, i) => {
    const [top, bottom] = parts(i, rows, x.rows);
    const [left, right] = parts(j, columns, x.columns);
    let sum = 0;
    for (let k = top; k < bottom; k++) {
      const start = k * x.columns;
      for (let l = left; l < right; l++) sum = add(sum, x.data[start + l]);
    }
    return finish(sum, bottom - top, right - left);
  });
}


/** adaptive_avg_pool2d, rounded as there. */
function average(x, rows, columns) {
  const plus = (sum, value) => sum + value;
  const divide = (sum, height, width) => Math.fround(sum / height) / width;
  return pool(x, rows, columns, plus, divide);
}


/** adaptive_max_pool2d, of what is never below zero. */
const largest = (x, rows, columns) => pool(x, rows, columns, Math.max);


/** Bilinear interpolation; a pixel is at its middle. */
function stretch(x, rows, columns) {
  const at = (i, n, side) => {
    const place = Math.max(0, (i + 0.5) * side / n - 0.5);
    const first = Math.floor(place);
    return [first, Math.min(first + 1, side - 1), place - first];
  };
  return new Matrix(rows, columns).map((_, j, i) => {
    const [top, bottom, down] = at(i, rows, x.rows);
    const [left, right, across] = at(j, columns, x.columns);
    const along = (row) => (1 - across) * x.data[row * x.columns + left]
      + across * x.data[row * x.columns + right];
    return (1 - down) * along(top) + down * along(bottom);
  });
}


/** The largest of each number and its eight neighbours. */
function thicken(x) {
  return x.map((most, j, i) => {
    const bottom = Math.min(x.rows - 1, i + 1);
    const right = Math.min(x.columns - 1, j + 1);
    for (let k = Math.max(0, i - 1); k <= bottom; k++) {
      for (let l = Math.max(0, j - 1); l <= right; l++) {
        most = Math.max(most, x.data[k * x.columns + l]);
      }
    }
    return most;
  });
}


/** How far the centre of mass is off, down and across, by 9 at most. */
function fromCentre(ink) {
  let down = 0, across = 0, sum = 0;
  ink.data.forEach((x, i) => {
    down += x * (Math.floor(i / 84) - 41.5);
    across += x * (i % 84 - 41.5);
    sum += x;
  });
  const away = [round(down / sum), round(across / sum)];
  return away.map((pixels) => Math.min(Math.max(pixels, -9), 9));
}


/** About how thick lines are: area by half the outline. */
function lineWidth(ink) {
  let area = 0, outline = 0;
  ink.data.forEach((x, place) => {
    area += x;
    if (place < ink.columns || place % ink.columns === 0) return;
    const before = ink.data[place - 1], above = ink.data[place - ink.columns];
    outline += Math.hypot(x - before, x - above);
  });
  return 2 * area / outline;
}


/** To the nearest integer, and from halfway to the even one, as Python does. */
function round(x) {
  const below = Math.floor(x), rest = x - below;
  return below + (rest > 0.5 || rest === 0.5 && below % 2 !== 0 ? 1 : 0);
}
