/** The first thing on the home page: a sentence of one's own, translated, in place of the picture. */
import { Asker, share } from "./asking.js";
import { drawLines } from "./maps.js";
import { isChinese, make, pick } from "./page.js";
import { sayDoubt } from "./translate.js";

const NAME = "decoder.layers.1.cross_attention";


export function start(place) {
  const figure = place.previousElementSibling, view = make("div", { class: "live view" });
  const text = make("input", { type: "text", maxlength: 200, autocomplete: "off", spellcheck: "false",
    value: isChinese ? "这本书很有意思。" : "This book is very interesting.",
    "aria-label": pick("要翻译的句子，中文或英文 | A sentence to translate, English or Chinese"),
    input: ({ isComposing }) => isComposing || asker.worker && ask(), compositionend: () => asker.worker && ask() });
  const button = make("button", { type: "submit" }, pick("翻译 | Translate"));
  const says = make("p", { class: "says", role: "status" },
    pick("写一句话，模型（8 MB）取来以后在你的浏览器里翻译。 | Write a sentence. The model (8 MB) is fetched and translates it in your browser."));
  figure.append(place);
  place.append(make("form", { class: "row ask", submit: (event) => { event.preventDefault(); ask() } }, text, button), says);

  const asker = new Asker({
    progress: (share) => { says.textContent = pick("正在取模型 | Fetching the model") + ` ${Math.round(100 * share)}%` },
    answer: show,
    fail: () => { says.textContent = pick("没有成功。请检查网络，再按一次“翻译”。 | It did not work. Please check the network and press Translate again.") },
    refuse: (why) => { says.textContent = why },
  });

  function ask() {
    if (text.value.trim()) asker.ask({ text: text.value.trim() });
    else asker.drop(), says.textContent = pick("写一句话。 | Write a sentence.");
  }

  function show(found) {
    const heads = found.weights[NAME], width = found.source.length;
    const mean = (i, j) => heads.reduce((sum, weights) => sum + weights[i * width + j], 0) / heads.length;
    const label = pick("译文的每个词元看原文的哪里（最后一层四个头的平均）。线越粗，权重越大。"
      + " | Where in the source each token of the translation looks, as the mean of the last layer's four heads. The wider a line, the larger the weight.");
    const before = place.getBoundingClientRect().top, drawn = drawLines(found.target, found.source, mean, label);
    if (!view.isConnected) { // what was there stays for paper
      view.style.minHeight = `${before - figure.getBoundingClientRect().top}px`;
      figure.classList.add("is-live");
      place.before(view);
    }
    drawn.style.minHeight = `${drawn.getAttribute("height")}px`;
    view.replaceChildren(drawn, make("p", { "aria-hidden": "true" }, label));
    const link = make("a", { href: `live/translate/${share({ text: text.value })}` },
      pick("每个头都看看，再弄坏它 | See every head, and break it"));
    const lang = /[\u4e00-\u9fff]/.test(found.text) ? "zh" : "en";
    says.replaceChildren(make("b", { lang }, found.text), ` ${sayDoubt(found)} `, link);
    scrollBy({ top: place.getBoundingClientRect().top - before, behavior: "instant" }); // a long sentence is tall
  }
}
