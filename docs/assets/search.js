// The search of an edition: Pagefind finds, and this shows what it found, chapters before the API.
// Chinese stands in the index as pairs of characters and longer words (see literate/search.py).
// Pagefind takes the language of the page, and would cut a Chinese query once more, elsewhere than
// the index: it is told English, in which words end at spaces.
const { createInstance } = await import(new URL("../pagefind/pagefind.js", import.meta.url));
const { lang } = document.documentElement;
document.documentElement.lang = "en";
const pagefind = createInstance({ excerptLength: 24 });
document.documentElement.lang = lang;

const PAGES = 10, SECTIONS = 3, LOADED = 24;
const dialog = document.getElementById("search");
const input = dialog.querySelector("input");
const said = dialog.querySelector("[role=status]");
const list = dialog.querySelector("ol");

const links = () => [...list.querySelectorAll("a")];
const make = (name, html, properties = {}) =>
  Object.assign(document.createElement(name), { innerHTML: html }, properties);

const HAN = "[㐀-鿿豈-﫿]";
const TIGHT = RegExp(`${HAN}{2}|[，。；：？！、“”（）]`);
const pairs = (text) => text.replace(RegExp(`${HAN}+`, "g"), (run) =>
  ` ${[...run].slice(0, Math.max(1, run.length - 1)).map((_, i) => run.slice(i, i + 2)).join(" ")} `).trim();

// 因果 果掩 掩码 因果掩码 is read as 因果掩码 again, and stays marked where it was found.
const plain = (text) => {
  const parts = text.split(/\s+/).map((word) => [word.replace(/<\/?mark>/g, ""), word.includes("<mark>")]);
  const letters = [];  // each with whether it is marked
  let run = "";
  for (const [word, marked] of parts) {
    const isHan = RegExp(`^${HAN}+$`).test(word);
    if (isHan && run && word.length > 2 && run.includes(word)) {
      const start = letters.length - run.length + run.lastIndexOf(word);
      if (marked) for (let i = start; i < start + word.length; i++) letters[i][1] = true;
      continue;
    }
    const follows = isHan && word.length === 2 && run.endsWith(word[0]);
    if (follows && marked) letters.at(-1)[1] = true;
    const joint = (letters.at(-1)?.[0] ?? "") + word[0];  // Chinese puts no space between these
    if (!follows && letters.length && !TIGHT.test(joint)) letters.push([" ", false]);
    for (const letter of follows ? word.slice(1) : word) letters.push([letter, marked]);
    run = follows ? run + word[1] : isHan ? word : "";
  }
  return letters.map(([letter, marked], i) =>
    `${marked && !letters[i - 1]?.[1] ? "<mark>" : ""}${letter}${marked && !letters[i + 1]?.[1] ? "</mark>" : ""}`).join("");
};
const ours = (title) => plain(title).split(/ ?\| ?/)[0];  // the other language comes second

const weight = ({ weighted_locations }) => weighted_locations.reduce((sum, place) => sum + place.balanced_score, 0);

const show = (page) => {
  const isPage = ({ title }) => ours(page.meta.title).endsWith(ours(title));
  const below = page.sub_results.filter((section) => section.url.includes("#") && !isPage(section));
  const sections = below.sort((one, other) => weight(other) - weight(one)).slice(0, SECTIONS);
  const item = make("li", "");
  item.append(
    make("a", "", { href: page.url, textContent: ours(page.meta.title) }),
    make("p", plain((sections[0] ?? page).excerpt)),
    make("ul", ""));
  for (const { title, url } of sections) {
    const section = make("li", "");
    section.append(make("a", "", { href: url, textContent: ours(title) }));
    item.lastChild.append(section);
  }
  return item;
};

// First the chapter that explains a term, then what holds the words as they were typed, then what
// holds them in that order, then the rest.
export const find = async (words) => {
  const found = new Map();
  const explaining = await pagefind.search(null, { filters: { explains: words.toLowerCase() } });
  const isFirst = new Set(explaining.results.map((result) => result.id));
  for (const asked of new Set([words, `"${pairs(words)}"`, pairs(words)]))
    for (const result of (await pagefind.search(asked)).results)
      if (!found.has(result.id)) found.set(result.id, result);
  const results = [...found.values()];
  return [...results.filter(({ id }) => isFirst.has(id)), ...results.filter(({ id }) => !isFirst.has(id))];
};

const typed = () => input.value.replaceAll('"', " ").trim();
let waiting;
const look = () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const words = typed();
    const found = words ? await find(words) : [];
    const pages = await Promise.all(found.slice(0, LOADED).map((result) => result.data()));
    if (words !== typed()) return;  // the reader went on typing
    const isApi = ({ url }) => url.includes("/api/");
    const sorted = [...pages.filter((page) => !isApi(page)), ...pages.filter(isApi)];
    list.replaceChildren(...sorted.slice(0, PAGES).map(show));
    said.textContent = !words ? "" : found.length ? said.dataset.some.replace("{}", found.length) : said.dataset.none;
    list.dataset.asked = words;
  }, 80);
};

input.addEventListener("input", look);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.isComposing) {
    event.preventDefault();
    links()[0]?.click();
  }
});
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const stops = [input, ...links()];
  stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest("a")) dialog.close();
});

export const open = () => {
  if (!dialog.open) dialog.showModal();
  input.select();
};
