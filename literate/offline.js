// A page opened from a folder (file://), where browsers refuse scripts that import and fetch. What
// they would ask for is in `packed`, whose modules stand above this line in the zip: the search and
// the live pieces. The index of the search comes when it is first asked for. On a server, even the
// smallest, all is as online, and none of this runs.
"use strict";
if (location.protocol === "file:") {
  const base = new URL("..", document.currentScript.src);
  const isChinese = document.documentElement.lang.startsWith("zh");

  // Each module by its address. It learns where it would stand, of which a blob knows nothing;
  // Pagefind wants the path alone.
  const imports = {};
  for (const [name, source] of Object.entries(packed.modules)) {
    const place = new URL(name, base);
    const text = source
      .replaceAll("import.meta.url", JSON.stringify(name.startsWith("pagefind/") ? place.pathname : place.href))
      .replace(/(\bfrom )"(\.[^"]*)"/g, (_, from, other) => from + JSON.stringify(new URL(other, place).href));
    imports[place.href] = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  }
  const map = document.createElement("script");
  Object.assign(map, { type: "importmap", textContent: JSON.stringify({ imports }) });
  document.head.append(map);

  // Pagefind searches in the page itself if there are no workers, and fetches its index from here.
  window.Worker = undefined;
  let waiting;
  const index = () => waiting ??= new Promise((loaded, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: new URL("pagefind/packed.js", base), onload: loaded, onerror: failed });
    document.head.append(script);
  });
  const online = window.fetch.bind(window);
  window.fetch = async (asked) => {
    await index();
    const { pathname } = new URL(asked, document.baseURI);
    const file = packed.index[pathname.slice(base.pathname.length)];
    return online(file ? `data:application/octet-stream;base64,${file}` : asked);
  };

  // A page that was found is a file, not a folder.
  const name = ({ target }) => {
    const link = target.closest?.("#search a");
    if (link?.pathname.endsWith("/")) link.pathname += "index.html";
  };
  for (const event of ["click", "auxclick", "contextmenu", "pointerover", "focusin"]) addEventListener(event, name, true);

  // What needs a worker stays as it is drawn, and says how to set it in motion.
  for (const place of document.querySelectorAll(".live")) {
    if (`assets/live/${place.dataset.live}.js` in packed.modules) continue;
    const how = document.createElement("p");
    const here = new URL(location.pathname.slice(new URL("..", base).pathname.length), "http://localhost:8000");
    how.innerHTML = isChinese
      ? `要让这里动起来，请在解压后的文件夹里运行 <code>python -m http.server</code>，再打开 <a href="${here}">localhost:8000</a>。`
      : `To set this in motion, run <code>python -m http.server</code> in the folder of the book and open <a href="${here}">localhost:8000</a>.`;
    place.replaceWith(how);
  }
}
