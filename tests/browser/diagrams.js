// What is wrong with the diagrams of a page: run by test_site.py, as a function.
(edition) => {
  const faults = [];
  const rgba = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    return [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (above, below) => above.slice(0, 3).map((c, i) => c * above[3] + below[i] * (1 - above[3]));
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const within = (a, b) => b.left <= a.left && a.right <= b.right && b.top <= a.top && a.bottom <= b.bottom;
  const edges = (box) => ({ left: box.x, top: box.y, right: box.x + box.width, bottom: box.y + box.height });
  for (const svg of document.querySelectorAll("svg.diagram")) {
    const view = edges(svg.viewBox.baseVal);
    const say = (text, fault) => faults.push(`${svg.getAttribute("aria-labelledby")}: ${text.textContent ?? text}: ${fault}`);
    const texts = [...svg.querySelectorAll("text")].map((text) => {
      // A line is as high as its font says; what is seen of it is about as high as a Chinese character.
      const size = parseFloat(getComputedStyle(text).fontSize), line = Number(text.getAttribute("y"));
      return { text, size, box: { ...edges(text.getBBox()), top: line - .8 * size, bottom: line + .15 * size } };
    });
    if (!texts.length) say("", "no label");
    if (!within(edges(svg.getBBox()), view)) say("", "sticks out of the drawing");
    const frames = [...svg.querySelectorAll(".box > rect, .ring > rect, .group")];
    const cells = [...svg.querySelectorAll(".cells > rect")].map((cell) =>
      ({ cell: edges(cell.getBBox()), empty: getComputedStyle(cell).fill === "none" }));
    const points = [...svg.querySelectorAll("path:is(.line, .band)")].flatMap((path) => {
      const half = path.matches(".band") ? parseFloat(path.getAttribute("stroke-width")) / 2 : 0;
      return Array.from({ length: path.getTotalLength() / 2 }, (_, i) => {
        const { x, y } = path.getPointAtLength(2 * i);
        return { left: x - half, right: x + half, top: y, bottom: y };
      });
    });
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const ground = rgba(getComputedStyle(document.body).backgroundColor);
    texts.forEach(({ text, size, box }, number) => {
      for (const other of texts.slice(number + 1))
        if (meet(box, other.box)) say(text, `on “${other.text.textContent}”`);
      if (!within(box, view)) say(text, "leaves the drawing");
      if (text.parentElement.matches(".box, .ring") && !within(box, edges(text.parentElement.firstElementChild.getBBox())))
        say(text, "leaves its box");
      // A number may stand in an empty cell.
      if (cells.some(({ cell, empty }) => meet(box, cell) && !(empty && within(box, cell)))) say(text, "on a cell");
      if (points.some((point) => meet(box, point))) say(text, "on a line");
      let below = ground.slice(0, 3);
      for (const frame of frames) {
        const around = edges(frame.getBBox());
        if (meet(box, around) && !within(box, around)) say(text, "across a frame");
        const style = getComputedStyle(frame), fill = rgba(style.fill);
        if (within(box, around)) below = over([...fill.slice(0, 3), fill[3] * style.fillOpacity], below);
      }
      const both = [light(over(rgba(getComputedStyle(text).fill), below)), light(below)];
      const contrast = (Math.max(...both) + .05) / (Math.min(...both) + .05);
      if (contrast < 4.5) say(text, `contrast ${contrast.toFixed(2)}`);
      if (size * scale < 9) say(text, `${(size * scale).toFixed(1)} pixels high`);
    });
    const title = svg.querySelector("title").textContent;
    if (/^[^a-z]*[\u3400-\u9fff]/i.test(title) !== (edition === "zh")) say(title, "in another language");
  }
  return faults;
}
