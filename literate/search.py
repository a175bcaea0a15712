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
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import jieba

from literate import glossary
from literate.glossary import Term
from literate.tangle import write


ARTICLE = re.compile(r"<article[^>]*>(.*)</article>", re.S)
TITLE = re.compile(r'data-pagefind-meta="title:([^"]*)"')
TEXT = re.compile(r">([^<]+)")
HAN = re.compile(r"[㐀-鿿豈-﫿]+")
# Found by no one: code, which the API pages describe, formulas, tooltips, marks of the theme.
LEFT_OUT = re.compile(
    r'<(pre|button|svg)\b.*?</\1>|<p class="(?:tip|about|api)".*?</p>'
    r'|<details class="contents".*?</details>|<a class="headerlink".*?</a>'
    r'|<(span|div) class="arithmatex".*?</\2>(?=[^<]*<(?!/span))|<span class="(?:number|uses|filename)".*?</span>',
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


def prepared(html: str, terms: Sequence[Term] = ()) -> str:
    """What is found of a page, and a filter for each name of a term that it explains."""
    article = ARTICLE.search(html)
    title = TITLE.search(html)
    if not (article and title):
        return ""
    body = LEFT_OUT.sub(" ", article[1]).replace("<small", " | <small")
    body = TEXT.sub(lambda found: ">" + pairs(found[1]), body)
    body = body.replace('class="twin"', 'class="twin" data-pagefind-weight="0.5"')
    meta = f'<i data-pagefind-meta="title">{pairs(title[1])}</i>'
    names = [form for term in terms for form in (*term.forms("zh"), *term.forms("en"))]
    explains = f'<p data-pagefind-weight="10">{pairs(" / ".join(names))}</p>' if names else ""
    for name in names:
        explains += f'<i data-pagefind-filter="explains:{escape(name.lower())}"></i>'
    return f"<html><body>{meta}{explains}{body}</body></html>"


def index(edition: Path) -> None:
    """Index the pages under a folder, into `pagefind` within it."""
    explained: defaultdict[Path, list[Term]] = defaultdict(list)
    for term in glossary.terms():
        if term.path:
            explained[term.path.relative_to("docs").with_suffix("")].append(term)
    with TemporaryDirectory() as folder:
        for path in edition.glob("**/index.html"):
            page = path.parent.relative_to(edition)
            if html := prepared(path.read_text("utf-8"), explained[page]):
                write(Path(folder) / path.relative_to(edition), html)
        command = ["-m", "pagefind", "--site", folder, "--output-path", str(edition / "pagefind")]
        subprocess.run([sys.executable, *command, "--force-language", "en", "--silent"], check=True)
    for unused in [*edition.glob("pagefind/*ui.*"), edition / "pagefind/pagefind-highlight.js"]:
        unused.unlink(missing_ok=True)
