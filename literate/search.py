"""Index an edition for its search, by Pagefind, which a page loads when it is first asked.

Pagefind would have to guess where a Chinese word ends, in the pages and in the query, and not
twice alike. So both are given it as pairs of characters, as search engines do: 因果掩码 is
因果 果掩 掩码. Each edition finds the terms of both languages, as the other one is on the page too.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import jieba

from literate import glossary
from literate.chapter import order
from literate.glossary import Term
from literate.tangle import write


ARTICLE = re.compile(r"<article[^>]*>(.*)</article>", re.S)
TITLE = re.compile(r'data-pagefind-meta="title:([^"]*)"')
TEXT = re.compile(r">([^<]+)")
TWIN = re.compile(r'(<(section|small)\b[^>]*class="twin"[^>]*)>(.*?)(?=</\2>)', re.S)
HEADING = re.compile(r"<h[1-6]\b.*?</h[1-6]>", re.S)
LAST = re.compile(r'<h2( id="(?:remember|exercises|references)".*?</h2>)(.*?)(?=<h2|$)', re.S)
TEX = re.compile(
    r'<math\b.*?<annotation[^>]*>(.*?)</annotation>.*?</math>|(?<=data-tex="">)(.*?)(?=<)', re.S
)
SPAN = re.compile(r"<(/?)span\b[^>]*>")
HAN = re.compile(r"[㐀-鿿豈-﫿]+")
# Found by no one: code, which the API pages describe, tooltips, marks of the theme.
LEFT_OUT = re.compile(
    r'<(pre|button|svg)\b.*?</\1>|<p class="(?:tip|about|api)".*?</p>'
    r'|<details class="contents".*?</details>|<a class="headerlink".*?</a>'
    r'|<span class="(?:number|uses|filename)".*?</span>',
    re.S,
)


@cache
def tokenizer() -> jieba.Tokenizer:
    return glossary.words(tuple(glossary.terms()))


def pairs(text: str) -> str:
    """The text with each run of Chinese as overlapping pairs, and after them its longer words."""

    def apart(run: re.Match[str]) -> str:
        han = run[0]
        two = [han[i : i + 2] for i in range(max(1, len(han) - 1))]
        longer = [word for word in tokenizer().cut(han, HMM=False) if len(word) > 2]
        return f" {' '.join([*two, *longer])} "

    return HAN.sub(apart, text)


def unseen(text: str) -> str:
    """What is found, and shown in no excerpt: headings, the other language, words for symbols."""
    return f" ⟦ {text} ⟧ "


def formula(found: re.Match[str]) -> str:
    """A formula by the names of its symbols, such as d_k, and shown if it is short."""
    tex = unescape(found[1] or found[2] or "").replace("\\sqrt", " √")
    tex = re.sub(r"\\(?:math|text|operator)\w*|[{}]", "", tex)
    words = re.findall(r"[A-Za-z]+(?:_[A-Za-z0-9]+)?", tex)
    words += ["sqrt", "square", "root", "根号"] * ("√" in tex)
    shown = "…" if "\\" in tex or len(tex) > 20 else escape(tex)
    return f" {shown}{unseen(' '.join(words))}"


def twin(found: re.Match[str]) -> str:
    """A passage or a heading in the other language, which counts half."""
    weight = 0.5 if found[2] == "section" else 3
    return f'{found[1]} data-pagefind-weight="{weight}">{unseen(found[3])}'


def written(html: str) -> str:
    """The page with each formula as words, without what KaTeX draws."""
    while (start := html.find('<span class="katex-html"')) >= 0:
        depth = 0
        for tag in SPAN.finditer(html, start):
            depth += -1 if tag[1] else 1
            if not depth:
                break
        html = html[:start] + html[tag.end() :]
    return TEX.sub(formula, html)


def prepared(html: str, terms: Sequence[Term] = ()) -> str:
    """What is found of a page, and a filter for each name of a term that it explains."""
    article = ARTICLE.search(html)
    title = TITLE.search(html)
    if not (article and title):
        return ""
    body = LEFT_OUT.sub(" ", written(article[1]))
    body = TWIN.sub(twin, body)
    body = LAST.sub(
        r'<h2 data-pagefind-weight="0.1"\1<div data-pagefind-weight="0.1">\2</div>', body
    )
    body = HEADING.sub(lambda heading: unseen(heading[0]), body)
    body = TEXT.sub(lambda found: ">" + pairs(found[1]), f"<div>{body}</div>")
    meta = unseen(f'<i data-pagefind-meta="title">{pairs(title[1])}</i>')
    names = list(dict.fromkeys(name for term in terms for name in term.names))
    explains = unseen(pairs(" / ".join(names))) if names else ""
    explains = f'<p data-pagefind-weight="10">{explains}</p>' if names else ""
    for name in names:
        explains += f'<i data-pagefind-filter="explains:{escape(name.lower())}"></i>'
    return f"<html><body>{meta}{explains}{body}</body></html>"


def index(edition: Path) -> None:
    """Index the pages under a folder, into `pagefind` within it."""
    explained: defaultdict[Path, list[Term]] = defaultdict(list)
    for term in glossary.terms():
        if term.path:
            explained[term.path.relative_to("docs").with_suffix("")].append(term)
    chapters = {path.relative_to("docs").with_suffix("") for path in order()}
    with TemporaryDirectory() as folder:
        for path in edition.glob("**/index.html"):
            page = path.parent.relative_to(edition)
            if html := prepared(path.read_text("utf-8"), explained[page]):
                kind = "chapter" if page in chapters else "api" if "api" in page.parts else "other"
                kind = f'<i data-pagefind-filter="kind:{kind}"></i></body>'
                write(Path(folder) / path.relative_to(edition), html.replace("</body>", kind))
        command = ["-m", "pagefind", "--site", folder, "--output-path", str(edition / "pagefind")]
        subprocess.run([sys.executable, *command, "--force-language", "en", "--silent"], check=True)
    for unused in [*edition.glob("pagefind/*ui.*"), edition / "pagefind/pagefind-highlight.js"]:
        unused.unlink(missing_ok=True)
