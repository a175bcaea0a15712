/** What all live pieces share: words in the page's language, elements, the piece in its figure. */

export const isChinese = document.documentElement.lang.startsWith("zh");

/** One side of `中文 | English`. */
export const pick = (words) => words.split(" | ")[isChinese ? 0 : 1] ?? words;

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set("svg g path rect circle line text title polyline".split(" "));

/** An element. Functions are listeners, `true` and `false` set or leave out an attribute. */
export function make(tag, attributes = {}, ...children) {
  const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Put a piece into the figure before it, whose picture then is left to paper. */
export function settle(place, ...children) {
  const figure = place.previousElementSibling;
  if (figure?.localName === "figure") {
    const height = figure.firstElementChild.getBoundingClientRect().height;
    place.style.minHeight = `${height}px`; // so that nothing below it moves
    figure.classList.add("is-live");
    figure.insertBefore(place, figure.querySelector("figcaption"));
  }
  place.replaceChildren(...children);
}

/** Whether to show every change at once. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A labelled slider, [its element, its input]. `show` says its value in words, beside it. */
export function slider(words, attributes, act, show = String) {
  const says = make("span", { class: "says" });
  const input = make("input", { type: "range", ...attributes, input: () => { tell(); act() } });
  const tell = () => {
    says.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", says.textContent);
  };
  tell();
  return [make("div", { class: "slider" }, make("label", {}, pick(words), input), says), input];
}

/** Words that change, [their element, what sets them]: seen at once, heard once they rest. */
export function teller(rest = () => 700) {
  const seen = make("div", { "aria-hidden": "true" });
  const heard = make("div", { class: "unseen", "aria-live": "polite" });
  let waits;
  const tell = (...children) => {
    const copies = children.map((child) => child.cloneNode?.(true) ?? child);
    const speak = () => { heard.replaceChildren(...copies) };
    seen.replaceChildren(...children);
    clearTimeout(waits);
    if (heard.firstChild) waits = setTimeout(speak, rest());
    else speak();
  };
  return [make("div", { class: "words" }, seen, heard), tell];
}

/** A number with a minus sign that is one. */
export const digits = (number, n = 2) =>
  number.toFixed(n).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");

/** A drawing in small units; what it shows is told in words. */
export const drawing = (width, height, words, ...children) =>
  make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": pick(words) },
    ...children);

/** What a drawing shows by now, for those who do not see it. */
export const describe = (picture, words) => picture.setAttribute("aria-label", pick(words));

/** A word in a drawing, its middle at x unless told. */
export const write = (x, y, words, attributes = {}) =>
  make("text", { x, y, "text-anchor": "middle", ...attributes }, words);
