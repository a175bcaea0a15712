// What a page of the book does by itself. It can be read without any of this.
"use strict";
{
  const assets = new URL(".", document.currentScript.src);
  const root = document.documentElement;
  const isChinese = root.lang.startsWith("zh");
  const $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];

  const recall = (key) => { try { return localStorage.getItem(key) } catch { return null } };
  const remember = (key, value) => { try { localStorage.setItem(key, value) } catch { } };

  // Light or dark: as the system is, until the reader chooses.
  const shade = $("shade");
  const paint = (scheme) => {
    document.body.dataset.mdColorScheme = scheme;
    shade.setAttribute("aria-pressed", scheme === "slate");
  };
  paint(document.body.dataset.mdColorScheme);
  shade.addEventListener("click", () => {
    paint(document.body.dataset.mdColorScheme === "slate" ? "default" : "slate");
    remember("shade", document.body.dataset.mdColorScheme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
    if (!recall("shade")) paint(matches ? "slate" : "default");
  });

  // On a phone the contents of the book open over the page.
  const menu = $("menu"), drawer = $("__drawer"), contents = $("contents");
  const open = (isOpen) => {
    drawer.checked = isOpen;
    menu.setAttribute("aria-expanded", isOpen);
    if (isOpen) (contents.querySelector("[aria-current]") ?? contents.querySelector("a")).focus();
  };
  menu.addEventListener("click", () => open(!drawer.checked));
  drawer.addEventListener("change", () => open(drawer.checked));

  // The search is loaded when it is first wanted.
  const search = () => import(new URL("search.js", assets));
  const find = $("find");
  find.addEventListener("pointerenter", search, { once: true });
  find.addEventListener("focus", search, { once: true });
  find.addEventListener("click", async () => (await search()).open());

  addEventListener("keydown", async (event) => {
    const isTyping = event.target.closest("input, textarea, select");
    const asks = event.key === "/" && !isTyping && !event.metaKey && !event.altKey;
    if (asks && !event.ctrlKey || event.key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      (await search()).open();
    } else if (event.key === "Escape") {
      putAway();
      if (drawer.checked) open(false), menu.focus();
    }
  });

  // Both languages, side by side. Formulas that both have are set once, and copied when asked for.
  const twins = $("twins");
  const show = () => {
    const isBoth = root.classList.contains("both");
    twins.setAttribute("aria-pressed", isBoth);
    if (!isBoth) return;
    const set = new Map(all(".arithmatex .katex").map((formula) => [
      formula.closest(".arithmatex").localName + formula.querySelector("annotation").textContent, formula]));
    for (const waiting of all(".arithmatex[data-tex]")) {
      waiting.replaceChildren(set.get(waiting.localName + waiting.textContent).cloneNode(true));
      waiting.removeAttribute("data-tex");
    }
    reachable();
  };
  twins.addEventListener("click", () => {
    // Keep the line that is being read where it is.
    const anchor = all(".md-content :is(h1, h2, h3, .twins, .highlight, figure)")
      .find((element) => element.getBoundingClientRect().top > 60);
    const before = anchor?.getBoundingClientRect().top;
    remember("twins", root.classList.toggle("both") ? "both" : "one");
    show();
    if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  });

  // What scrolls sideways can be reached by keyboard.
  const reachable = () => {
    const wide = all("pre > code, div.arithmatex, .md-content table, figure")
      .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth);
    for (const element of wide) element.tabIndex = 0;
  };
  show();
  addEventListener("load", () => setTimeout(reachable));
  addEventListener("resize", reachable);
  addEventListener("toggle", reachable, true);

  // The other edition opens at the same heading.
  const edition = $("edition");
  remember("edition", isChinese ? "zh" : "en");
  edition.addEventListener("click", () => {
    remember("edition", edition.hreflang);
    const heads = all(".md-content :is(h2, h3)[id]");
    const last = heads.filter((head) => head.getBoundingClientRect().top < innerHeight / 3).pop();
    if (last) edition.hash = last.id;
    if (location.hash.startsWith("#%7B")) edition.hash = location.hash; // what a live page shares
  });

  // The contents of the page follow the reader.
  const places = new Map(all(".toc a").map((link) => [link.hash.slice(1), link]));
  const heads = [...places.keys()].map($).filter(Boolean);
  const follow = () => {
    const last = heads.filter((head) => head.getBoundingClientRect().top < 120).pop();
    for (const [id, link] of places) link.toggleAttribute("data-here", id === last?.id);
    const pane = document.querySelector(".md-sidebar--secondary .md-sidebar__scrollwrap");
    const link = pane?.querySelector("[data-here]");
    if (link) pane.scrollTop = link.offsetTop - pane.clientHeight / 2;
  };
  if (heads.length) {
    let waits = false;
    addEventListener("scroll", () => {
      if (!waits) requestAnimationFrame(() => { waits = false; follow() });
      waits = true;
    }, { passive: true });
  }
  setTimeout(() => {
    const here = contents.querySelector("[aria-current]"), pane = contents.closest(".md-sidebar__scrollwrap");
    if (here) pane.scrollTop = here.offsetTop - pane.clientHeight / 2;
  });

  // A block of code is copied whole; a long docstring shows its first line and opens.
  document.addEventListener("click", async ({ target }) => {
    const copy = target.closest(".copy"), fold = target.closest(".fold");
    if (copy) {
      const code = copy.parentElement.querySelector("code").cloneNode(true);
      for (const button of code.querySelectorAll("button")) button.remove();
      await navigator.clipboard.writeText(code.textContent);
      const label = copy.getAttribute("aria-label");
      copy.setAttribute("aria-label", copy.dataset.done);
      copy.classList.add("done");
      setTimeout(() => { copy.setAttribute("aria-label", label); copy.classList.remove("done") }, 2000);
    } else if (fold) {
      const rest = fold.nextElementSibling;
      fold.setAttribute("aria-expanded", !(rest.hidden = !rest.hidden));
    }
  });

  // What moves takes the place of its picture, and is loaded when the reader comes near.
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      import(new URL(`live/${target.dataset.live}.js`, assets)).then(({ start }) => start(target));
    }
  }, { rootMargin: "400px" });
  for (const place of all(".live")) near.observe(place);

  // On paper everything is open, and dark on light.
  let before;
  addEventListener("beforeprint", () => {
    before = document.body.dataset.mdColorScheme;
    paint("default");
    for (const fold of all("details:not([open])")) fold.open = fold.dataset.opened = true;
  });
  addEventListener("afterprint", () => {
    paint(before);
    for (const fold of all("[data-opened]")) { fold.open = false; delete fold.dataset.opened }
  });

  // A term shows what it means: under the mouse, when a key reaches it, at the first tap.
  // It stays while the mouse is on it, and Escape puts it away.
  let term = null, leaving, tapped = false;
  const meaning = () => $(term.getAttribute("aria-describedby"));
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
    for (const link of all("a.term")) {
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
    for (const tip of all(".tip")) {
      tip.addEventListener("pointerenter", () => clearTimeout(leaving));
      tip.addEventListener("pointerleave", leave);
    }
    addEventListener("pointerdown", (event) => {
      tapped = event.pointerType === "touch";
      if (!event.target.closest(".term, .tip")) putAway();
    });
    addEventListener("resize", putAway);
  }
}
