// What a page of the book does by itself: formulas, the two languages, the choice remembered.
"use strict";
{
  const assets = new URL(".", document.currentScript.src);
  const root = document.documentElement;

  const remember = (key, value) => { try { localStorage.setItem(key, value) } catch { } };

  // No line begins with the stop that follows a formula.
  const keepStop = (formula) => {
    const text = formula.nextSibling;
    const [stop] = /^\u200b?[，。；：？！、）,.;:?!)]+/.exec(text?.data ?? "") ?? [];
    if (!stop || formula.offsetWidth > 200) return;
    const together = Object.assign(document.createElement("span"), { className: "together" });
    text.data = text.data.slice(stop.length);
    formula.replaceWith(together);
    together.append(formula, stop);
  };

  // KaTeX is loaded only where there is a formula.
  const formulas = document.querySelectorAll(".arithmatex");
  if (formulas.length) {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("katex/katex.min.css", assets) });
    const script = Object.assign(document.createElement("script"), { src: new URL("katex/katex.min.js", assets) });
    // Both, as what has no style yet is twice as wide.
    const loads = [style, script].map((element) => new Promise((done) => { element.onload = element.onerror = done }));
    Promise.all(loads).then(() => {
      for (const element of formulas) {
        const tex = element.textContent.trim().slice(2, -2);
        katex.render(tex, element, { displayMode: element.tagName === "DIV", throwOnError: false, strict: "ignore" });
        keepStop(element);
      }
      reachable();
    });
    document.head.append(style, script);
  }

  // The search has a name, and hears text that comes without a key: pasted, or from an input method.
  const query = document.querySelector(".md-search__input");
  query.closest(".md-search").setAttribute("aria-label", query.placeholder);
  query.addEventListener("input", () => query.dispatchEvent(new KeyboardEvent("keyup")));

  // What scrolls sideways can be reached by keyboard.
  const reachable = () => {
    for (const element of document.querySelectorAll("div.arithmatex, .md-typeset__scrollwrap"))
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  };
  addEventListener("load", reachable);
  addEventListener("resize", reachable);

  const button = document.getElementById("twins");
  const show = () => button.setAttribute("aria-pressed", root.classList.contains("both"));
  button.addEventListener("click", () => {
    // Keep the line that is being read where it is.
    const all = [...document.querySelectorAll(".md-content :is(h1, h2, h3, .twins, .highlight, figure)")];
    const anchor = all.find((element) => element.getBoundingClientRect().top > 60);
    const before = anchor?.getBoundingClientRect().top;
    remember("twins", root.classList.toggle("both") ? "both" : "one");
    if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
    show();
  });
  show();

  // The other edition opens at the same heading.
  const edition = document.getElementById("edition");
  remember("edition", root.lang.startsWith("zh") ? "zh" : "en");
  edition.addEventListener("click", () => {
    remember("edition", edition.hreflang);
    const heads = [...document.querySelectorAll(".md-content :is(h2, h3)[id]")];
    const last = heads.filter((head) => head.getBoundingClientRect().top < innerHeight / 3).pop();
    if (last) edition.hash = last.id;
  });

  // A term shows what it means: under the mouse, when a key reaches it, at the first tap.
  // It stays while the mouse is on it, and Escape puts it away.
  let term = null, leaving, tapped = false;
  const meaning = () => document.getElementById(term.getAttribute("aria-describedby"));
  const putAway = () => {
    clearTimeout(leaving);
    if (term) meaning().hidePopover();
    term = null;
  };
  const leave = () => { leaving = setTimeout(putAway, 250) };
  const explain = (link) => {
    clearTimeout(leaving);
    if (term === link) return;
    putAway();
    term = link;
    const tip = meaning();
    tip.showPopover();
    const lines = link.getClientRects(), first = lines[0], last = lines[lines.length - 1];
    const above = first.top - tip.offsetHeight - 6, below = last.bottom + 6;
    const top = below + tip.offsetHeight > innerHeight && above > 60 ? above : below;
    const left = Math.max(8, Math.min(last.left, root.clientWidth - tip.offsetWidth - 8));
    tip.style.top = `${top + scrollY}px`;
    tip.style.left = `${left + scrollX}px`;
  };
  if ("popover" in root) {
    for (const link of document.querySelectorAll("a.term")) {
      link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") explain(link) });
      link.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave() });
      link.addEventListener("focus", () => { if (link.matches(":focus-visible")) explain(link) });
      link.addEventListener("blur", putAway);
      link.addEventListener("click", (event) => {
        if (!tapped || term === link) return;
        event.preventDefault();  // the second tap opens the glossary
        explain(link);
      });
    }
    for (const tip of document.querySelectorAll(".tip")) {
      tip.addEventListener("pointerenter", () => clearTimeout(leaving));
      tip.addEventListener("pointerleave", leave);
    }
    addEventListener("keydown", (event) => { if (event.key === "Escape") putAway() });
    addEventListener("pointerdown", (event) => {
      tapped = event.pointerType === "touch";
      if (!event.target.closest(".term, .tip")) putAway();
    });
    addEventListener("resize", putAway);
  }

  // A long docstring shows its first line; a button shows the rest. Copying takes all of it.
  const between = (node) => node.nodeType === Node.TEXT_NODE ? !node.data.trim() : node.matches("a[id], .w");
  const title = root.lang.startsWith("zh") ? "展开文档字符串" : "Show the docstring";
  for (const code of document.querySelectorAll(".highlight code")) {
    const nodes = [...code.childNodes];
    for (let first = 0; first < nodes.length; first++) {
      if (!nodes[first].matches?.(".sd")) continue;
      let last = first;
      for (let i = first + 1; i < nodes.length; i++)
        if (nodes[i].matches?.(".sd")) last = i;
        else if (!between(nodes[i])) break;
      const run = nodes.slice(first + 1, last + 1);
      if (run.filter((node) => node.matches?.(".sd")).length >= 6) {
        const rest = Object.assign(document.createElement("span"), { className: "folded", hidden: true });
        const button = Object.assign(document.createElement("button"), { type: "button", className: "fold", textContent: "…", title });
        button.setAttribute("aria-label", title);
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => button.setAttribute("aria-expanded", !(rest.hidden = !rest.hidden)));
        nodes[first].after(button, rest);
        rest.append(...run);
      }
      first = last;
    }
  }
}
