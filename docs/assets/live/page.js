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
