// Text that looks alike, of which the longest is enough when colours are checked (axe says
// nothing of a single letter): run by test_site.py, as a function. It returns each kind with one;
// of `parts`, if it is given, all others are made plain text, of which axe need not see thousands.
(parts) => {
  const grounds = new Map();
  const ground = (element) => {
    if (!element) return "";
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, filter, opacity, position } = getComputedStyle(element);
      const looks = [backgroundColor, backgroundImage, filter, opacity, position].join();
      const adds = looks !== "rgba(0, 0, 0, 0),none,none,1,static";
      grounds.set(element, ground(element.parentElement) + (adds ? `${looks} ${element.className} < ` : ""));
    }
    return grounds.get(element);
  };
  const inside = "p, li, td, th, h1, h2, h3, dd, pre, summary, figcaption";
  const kind = (element) => {
    const { color, fontSize, fontWeight, textDecoration } = getComputedStyle(element);
    const formula = element.closest(".katex");
    if (formula) {
      const own = [color, fontSize, fontWeight, textDecoration, getComputedStyle(element).backgroundColor];
      return ["formula", ...own, ground(formula.parentElement)].join();
    }
    const above = element.parentElement, around = above.closest(inside)?.parentElement;
    const names = [element, above, around].map((e) => `${e?.localName}.${e?.getAttribute("class")}`);
    return [...names, color, fontSize, fontWeight, textDecoration, getComputedStyle(above).color, ground(element)].join();
  };
  const says = (element) => element.matches("a, button, input, select, textarea")
    || [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const length = (element) => element.textContent.trim().length;
  const all = [...document.body.querySelectorAll(parts ?? "*")];
  const longest = new Map();
  for (const element of all) {
    if (!element.checkVisibility() || !(parts || says(element))) continue;
    const of = kind(element), best = longest.get(of);
    if (!best || length(element) > length(best)) longest.set(of, element);
  }
  const kept = new Set(longest.values());
  if (parts) for (const element of all) if (!kept.has(element)) element.replaceWith(element.textContent);
  return [...longest];
}
