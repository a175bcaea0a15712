"""The pages of the built site as one plain HTML, in which pandoc finds all that a book is made of.

The site has resolved numbers, references, records and terms. What serves a screen is left out:
buttons, the other language, links to the API. The home page, the annotated source and the API
stay on the web, where links to them lead.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup
from bs4.element import Tag
from mkdocs.utils.yaml import yaml_load

from literate import ROOT
from literate.blocks import pick
from literate.chapter import NAV
from literate.finish import TWIN
from literate.paper.still import for_typst, grounded, still


ON_THE_WEB = re.compile(r"index\.md|api/.*")
CHROME = ".about, .contents, .headerlink, .copy, .fold, .api, .tip, img.dark"
DIAGRAM = re.compile(
    r'<svg\b[^>]*class="diagram".*?<title id="([^"]+)">(.*?)</title>.*?</svg>', re.S
)
NUMBER = re.compile(r"\s*\\tag\{([^{}]*)\}\s*$")
BARE = ("div", "section")  # of which only the contents stay, unless something leads there
KEPT = set(
    "alt class colspan display encoding href id lang number rowspan src start style title "
    "width".split()
)
WIDEST = 600  # pixels: as wide as the text on paper
PLOT = 0.85  # of its size: its letters are then as large as those of the text
TRY = "在网上，这里可以动手：{} | On the web there is something to try here: {}"


def listed(nav: Iterable[object]) -> Iterator[str]:
    """The pages of a navigation, in order."""
    for item in nav:
        if isinstance(item, dict):
            for inner in item.values():
                yield from listed(inner if isinstance(inner, list) else [inner])
        else:
            yield str(item)


class Leaves:
    """The pages of an edition, and the folder where their pictures are put."""

    def __init__(self, edition: str, site: Path, url: str, folder: Path) -> None:
        self.edition, self.folder = edition, folder
        self.site, self.url = site / edition, f"{url.rstrip('/')}/{edition}/"
        nav = yaml_load((ROOT / NAV).read_text("utf-8"))["nav"]
        pages = (page for page in listed(nav) if not ON_THE_WEB.fullmatch(page))
        places = [re.sub(r"((^|/)index)?\.\w+$", "", page) for page in pages]
        self.pages = {place: self._article(place) for place in places}
        first = re.compile(r'<h1 id="([^"]+)"')
        self.heads = {place: first.findall(html)[0] for place, html in self.pages.items()}

    def _article(self, place: str) -> str:
        file = self.site / place / "index.html"
        if not file.exists():
            raise SystemExit(f"there is no site/{self.edition}/{place}/; run: nox -s site")
        html = file.read_text("utf-8")
        return html[html.index("<article") : html.index("</article>")]

    def bound(self) -> str:
        """All pages in one.

        Raises:
            ValueError: A link that leads nowhere.
        """
        whole = "\n".join(self.leaf(place) for place in self.pages)
        there = set(re.findall(r' id="([^"]+)"', whole))
        for lost in sorted(set(re.findall(r' href="#([^"]+)"', whole)) - there):
            raise ValueError(f"a link of the {self.edition} book leads to {lost}, which it lacks")
        return f'<html lang="{self.edition}"><body>\n{whole}\n</body></html>\n'

    def leaf(self, place: str) -> str:
        """A page as plain HTML."""
        html = DIAGRAM.sub(self._diagram, TWIN.sub("", self.pages[place]))
        soup = BeautifulSoup(html, "lxml")
        for annotation in soup.find_all("annotation"):  # first, as half of all tags is KaTeX's
            _as_tex(annotation)
        for chrome in soup.select(CHROME):
            chrome.decompose()
        for code in soup.select("div.highlight, div.output"):
            _as_code(code)
        for box in soup.select("details, .admonition"):
            box.name = "blockquote"
        for title in soup.select("summary, .admonition-title"):
            title.name = "strong"
            title.wrap(Tag(name="p"))
        for figure in soup.select("figure"):
            _as_figure(figure)
        for image in soup.select("img.light"):
            self._plot(image, place)
        is_below = place.rpartition("/")[0] in self.pages  # the first page of its part
        for head in soup.select("h1, h2, h3, h4"):
            head.name = f"h{int(head.name[1]) + is_below}"
        for tag in soup.select("article *"):
            self._plain(tag, place)
        for live in soup.select("p.live"):
            address = f"{self.url}{place}/"
            before, _, after = pick(TRY, self.edition).partition("{}")
            link = Tag(name="a", attrs={"href": address})
            link.string = address
            live.clear()  # of what asks for JavaScript
            live.extend([before, link, after])
        text = re.sub(r"\n{3,}", "\n\n", "".join(map(str, soup.select("article")[0].contents)))
        return text if is_below else f'<div class="outside">\n{text}\n</div>'

    def _diagram(self, found: re.Match[str]) -> str:
        """An image in the place of a diagram of the site."""
        name = f"{found[1]}.svg"
        drawn = still(found[0])
        (self.folder / name).write_text(drawn, "utf-8")
        (self.folder / f"typst-{name}").write_text(for_typst(drawn), "utf-8")
        width = min(WIDEST, float(found[0].partition('viewBox="')[2].split()[2]))
        return f'<img src="{name}" alt="{found[2].replace(chr(34), "&quot;")}" width="{width:g}">'

    def _plot(self, image: Tag, place: str) -> None:
        """Have an image beside the book, and no wider than the paper."""
        found = (self.site / place / str(image["src"])).resolve()
        name = "-".join(found.relative_to(self.site.resolve()).parts)
        for kind in ("", "typst-"):
            text = grounded(found.read_text("utf-8"))
            (self.folder / f"{kind}{name}").write_text(text, "utf-8")
        image["src"] = name
        image["width"] = f"{min(WIDEST, PLOT * float(str(image['width']))):g}"

    def _plain(self, tag: Tag, place: str) -> None:
        """Leave of a tag what means something everywhere."""
        if tag.name == "small":
            tag.name = "span"
        if "live" in (tag.get("class") or []):
            tag.name = "p"
        for name in [name for name in tag.attrs if name not in KEPT]:
            del tag[name]
        if "id" in tag.attrs:
            tag["id"] = self._id(place, str(tag["id"]))
        if "href" in tag.attrs:
            tag["href"] = self._target(str(tag["href"]), place)
        if tag.name in BARE and not ("id" in tag.attrs or "number" in tag.attrs):
            tag.unwrap()

    def _id(self, place: str, anchor: str) -> str:
        """The id in the book of what a page has under an id, if only its page's."""
        page = place.replace("/", ".")
        return page if anchor in ("", self.heads[place]) else f"{page}.{anchor}"

    def _target(self, href: str, place: str) -> str:
        """Where a link leads: in the book, or on the web."""
        there = urlsplit(urljoin(f"{self.url}{place}/", href))
        address = there._replace(fragment="").geturl()
        if address.startswith(self.url):
            page = address.removeprefix(self.url).strip("/")
            if page in self.pages:
                return f"#{self._id(page, there.fragment)}"
        return there.geturl()


def _as_tex(annotation: Tag) -> None:
    """In place of a formula as KaTeX sets it what pandoc reads as TeX; its number beside it."""
    (formula,) = annotation.find_parents(class_="katex")
    tex = annotation.get_text()
    attributes = {}
    if block := formula.find_parent("div", class_="arithmatex"):
        attributes["display"] = "block"
        if number := NUMBER.search(tex):
            block["number"] = f"({number[1]})"
    math = Tag(name="math", attrs=attributes)
    inside = Tag(name="annotation", attrs={"encoding": "application/x-tex"})
    inside.string = NUMBER.sub("", tex)
    math.append(inside)
    formula.replace_with(math)


def _as_figure(figure: Tag) -> None:
    """A table with its caption, or a figure; pandoc finds from afar only the id of a `div`."""
    if table := figure.find("table", recursive=False):
        if caption := figure.find("figcaption", recursive=False):
            caption.name = "caption"
            table.insert(0, caption.extract())
        figure.name = "div"
    elif "id" in figure.attrs:
        figure.wrap(Tag(name="div", attrs={"id": figure.attrs.pop("id")}))


def _as_code(box: Tag) -> None:
    """A block of code with its language, or `output`, and the name of its file."""
    kinds = " ".join(box.get("class") or [])
    code = Tag(name="code")
    code.string = box.select("pre")[0].get_text()
    language = "output" if "output" in kinds else kinds.partition("language-")[2].split()[0]
    block = Tag(name="pre", attrs={"class": language})
    if title := box.select(".filename"):
        block["title"] = title[0].get_text()
    block.append(code)
    box.replace_with(block)
