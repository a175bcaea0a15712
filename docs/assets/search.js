// The search of an edition: Pagefind finds, and this shows what it found, chapters before the API.
// Chinese stands in the index as pairs of characters and longer words (see literate/search.py).
// Pagefind takes the language of the page, and would cut a Chinese query once more, elsewhere than
// the index: it is told English, in which words end at spaces.
const { createInstance } = await import(new URL("../pagefind/pagefind.js", import.meta.url));
const { lang } = document.documentElement;
document.documentElement.lang = "en";
const pagefind = createInstance();
document.documentElement.lang = lang;

const PAGES = 10, SECTIONS = 3, BEFORE = 40, AFTER = lang.startsWith("zh") ? 90 : 160, OTHER = 0.7;
const dialog = document.getElementById("search");
const input = dialog.querySelector("input");
const said = dialog.querySelector("[role=status]");
const list = dialog.querySelector("ol");

const more = document.createElement("button");
Object.assign(more, { type: "button", hidden: true, className: "more", style: "padding: .5rem; cursor: pointer; font-size: .7rem", textContent: lang.startsWith("zh") ? "更多" : "More" });
list.after(more);

const links = () => [...list.querySelectorAll("a")];
const make = (name, html, properties = {}) =>
  Object.assign(document.createElement(name), { innerHTML: html }, properties);

const HAN = "[㐀-鿿豈-﫿]";
const TIGHT = RegExp(`${HAN}{2}|[，。；：？！、“”（）]|[^][.,;:?!)]$`);
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
const ours = (title) => plain(title).split(/ ?[|⟦] ?/)[0];  // the other language comes second

// Words that ask, and say nothing of what is asked for.
const ASKING = /为什么|是什么|什么是|什么|怎么样|怎么|怎样|如何|哪些|多少|有没有|是不是|一[下个种]|[的吗呢？?！!，。、]/g;
const STOP = new Set(("a about all am an and are as at be by can did do does for from get had has have how i if in into is " +
  "it its me much my of on or s so than that the their them there this to use used using vs versus was we were what " +
  "when where which who why will with you your").split(" "));

const distance = (one, other) => {  // of Levenshtein, two letters that changed places counted as one
  let before = [], row = [...Array(other.length + 1).keys()];
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
      if (one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[other.length];
};
const nearest = (word, words, allowed) => {
  const far = (other) => Math.abs(other.length - word.length) > allowed + 1 ? Infinity : distance(word, other.replaceAll("-", ""));
  const [best] = words.map((other) => [far(other), other]).sort(([one], [other]) => one - other);
  return best?.[0] <= allowed ? best[1] : undefined;
};
const isHan = (text) => RegExp(HAN).test(text);
const bare = (text) => text.toLowerCase().replace(/[-–\s]+/g, " ").replace(/s\b/g, "").trim();  // of plurals, too

// What the filters tell: the names of terms, and which pages are no chapters.
const told = pagefind.filters().then(async ({ explains = {} }) => {
  const names = Object.keys(explains);
  const words = [...new Set(names.flatMap((name) => [...name.split(" "), ...bare(name).split(" ")]))];
  const pagesOf = async (filters) => new Set((await pagefind.search(null, { filters })).results.map(({ id }) => id));
  return { names, words, pagesOf, api: await pagesOf({ kind: "api" }), chapters: await pagesOf({ kind: "chapter" }) };
});

// A word as the book has it: typed rightly, begun, or nearly right; otherwise nothing.
const known = async (word) => {
  if ((await pagefind.search(`"${word}"`)).results.length) return word;
  const { words } = await told;
  if (isHan(word)) return undefined;
  if (words.some((other) => other.startsWith(word))) return word;
  return word.length < 4 ? undefined : nearest(word, words, word.length < 8 ? 1 : 2);
};

// First the chapter that explains what was asked for, then what holds most of the words in the
// best places, chapters before the API. A page counts the more the more of the query it explains.
export const find = async (typed) => {
  const { names, pagesOf, api, chapters } = await told;
  const spelt = (await Promise.all(typed.toLowerCase().split(/\s+/).map(async (word) =>
    (!isHan(word) && !STOP.has(word) && await known(word)) || word))).join(" ");
  const mistyped = RegExp(`^${HAN}{4,}$`).test(spelt) &&
    (await Promise.all(pairs(spelt).split(" ").map(known))).includes(undefined);
  const near = mistyped ? nearest(spelt, names, 1) : undefined;
  const exact = names.find((name) => name === spelt) ?? names.find((name) => bare(name) === bare(spelt)) ?? near;
  const asked = (exact ?? spelt).replace(ASKING, " ").trim().split(/\s+/);
  const content = asked.filter((word) => !STOP.has(word));
  const parts = pairs((content.length ? content : asked).join(" ")).split(/\s+/).filter(Boolean);
  const words = [...new Set((await Promise.all(parts.map(known))).filter(Boolean))];
  if (!parts.length) return [];
  const found = new Map();
  const searched = await Promise.all([...words, `"${parts.join(" ")}"`].map((word) => pagefind.search(word)));
  for (const { results } of searched)
    for (const result of results) {
      const page = found.get(result.id) ?? { id: result.id, score: 0, results: [] };
      page.score += result.score;
      page.results.push(result);
      found.set(result.id, page);
    }
  const pages = [...found.values()];
  const most = Math.max(...pages.map(({ score }) => score));
  for (const page of pages) page.score *= (chapters.has(page.id) ? 1 : OTHER) / most;

  let rest = ` ${bare(content.join(" "))} `;
  const length = rest.trim().length;
  const within = names.map((name) => [name, isHan(name) ? name : ` ${bare(name)} `])
    .filter(([, text]) => text.length > 1).sort(([, one], [, other]) => other.length - one.length);
  for (const [name, text] of exact ? [[exact, rest]] : within) {
    if (name !== exact && !rest.includes(text)) continue;
    rest = rest.replace(text, " | ");
    const ids = await pagesOf({ explains: name });
    for (const page of pages)
      if (ids.has(page.id)) page.score += name === exact ? 9 : text.trim().length / length;
  }
  return pages.sort((one, other) => api.has(one.id) - api.has(other.id) || other.score - one.score);
};

// A page found, its sections with what was found in each, the best first.
const load = async ({ results }) => {
  const page = await results[0].data();
  const places = [];
  for (const result of results) places.push((await result.data()).weighted_locations);
  const words = page.raw_content.split(/\s+/);
  let depth = 0;
  const seen = words.map((word) => (word === "⟦" && depth++, word === "⟧" && depth--, !depth && word !== "⟧"));
  const marked = new Set(places.flat().map(({ location }) => location));
  const starts = page.anchors.filter(({ element }) => /^h[1-6]$/.test(element));
  const sections = starts.map(({ id, element, text, location }, i) => {
    const end = starts[i + 1]?.location ?? words.length;
    const here = places.map((place) => place.filter((at) => at.location >= location && at.location < end));
    const score = here.reduce((sum, place) => sum + Math.max(0, ...place.map((at) => at.balanced_score)) + place.length / 100, 0);
    const shown = words.slice(location, end).map((word, at) => marked.has(location + at) ? `<mark>${word}</mark>` : word);
    return { id, element, title: ours(text), score, text: plain(shown.filter((_, at) => seen[location + at]).join(" ")) };
  });
  return { url: page.url, title: ours(page.meta.title), sections: sections.sort((one, other) => other.score - one.score) };
};

// From the sentence in which a word was found, or near it, to a mark where one can pause.
const excerpt = (text) => {
  const at = Math.max(0, text.indexOf("<mark>"));
  const before = text.slice(0, at);
  const start = [...before.matchAll(/[。！？；]|[.!?;]\s/g)].at(-1);
  let from = start ? start.index + start[0].length : 0;
  if (at - from > BEFORE) from = at - BEFORE + before.slice(-BEFORE).search(/[ ，、：（]|$/) + 1;
  const rest = text.slice(from).trim();
  const end = rest.slice(at - from + AFTER).search(/[\s，。；、：！？]/);
  return end < 0 ? rest : `${rest.slice(0, at - from + AFTER + end)} …`;
};

const LAST = new Set(["remember", "exercises", "references"]);
const show = ({ url, title, sections }) => {
  const item = make("li", "");
  const best = sections.find(({ id, text }) => !LAST.has(id) && text.includes("<mark>")) ?? sections.find(({ text }) => text);
  item.append(make("a", "", { href: url, textContent: title }), make("p", excerpt(best?.text ?? "")), make("ul", ""));
  for (const { id, title: name } of sections.filter((one) => one.element !== "h1" && one.score && !LAST.has(one.id)).slice(0, SECTIONS)) {
    const section = make("li", "");
    section.append(make("a", "", { href: `${url}#${id}`, textContent: name }));
    item.lastChild.append(section);
  }
  return item;
};

const typed = () => input.value.replaceAll('"', " ").trim();
let waiting;
const look = () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const words = typed();
    const found = words ? await find(words) : [];
    const shown = async (from) => (await Promise.all(found.slice(from, from + PAGES).map(load))).map(show);
    const first = await shown(0);
    if (words !== typed()) return;  // the reader went on typing
    list.replaceChildren(...first);
    list.scrollTop = 0;
    said.textContent = !words ? "" : found.length ? said.dataset.some.replace("{}", found.length) : said.dataset.none;
    list.dataset.asked = words;
    more.hidden = found.length <= PAGES;
    more.onclick = async () => {
      const next = await shown(list.children.length);
      if (words !== typed()) return;
      list.append(...next);
      more.hidden = list.children.length >= found.length;
      next[0]?.querySelector("a").focus();
    };
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
