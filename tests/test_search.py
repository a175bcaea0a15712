"""What the search is given of a page."""

import json
import re
from pathlib import Path

from py_mini_racer import MiniRacer

from literate.glossary import Term
from literate.search import index, pairs, prepared


PAGE = """<html lang="zh"><body><nav>目录</nav>
<article class="x" data-pagefind-body data-pagefind-meta="title:2 苹果">
<h1 id="a"><span class="number">2</span> 苹果<small lang="en" class="twin">Apples</small></h1>
<p class="about">约 3 分钟</p>
<p>因果掩码 and softmax<button>复制</button></p><pre><code>secret = 1</code></pre>
<section lang="en" class="twin"><p>A causal mask.</p></section>
</article></body></html>"""


def test_chinese_stands_as_pairs_and_longer_words() -> None:
    assert pairs("用因果掩码，好。").split() == [
        *("用因", "因果", "果掩", "掩码", "因果掩码"),
        *("，", "好", "。"),
    ]
    assert pairs("a mask") == "a mask"


def test_a_page_is_indexed_without_code_and_chrome() -> None:
    html = prepared(PAGE)
    for left_out in ("目录", "secret", "分钟", "复制", ">2<"):
        assert left_out not in html
    assert '<i data-pagefind-meta="title">2  苹果 </i>' in html
    assert " | <small" in html
    assert 'class="twin" data-pagefind-weight="0.5"' in html
    assert prepared("<html><body>404</body></html>") == ""


def test_a_chapter_is_found_by_the_terms_it_explains() -> None:
    term = Term(
        "mask", "掩码", "Mask", "一张表。", "A table.", en_also=("masking",)
    )
    html = prepared(PAGE, [term])
    assert '<p data-pagefind-weight="10"> 掩码  / Mask / masking</p>' in html
    for name in ("掩码", "mask", "masking"):
        assert f'data-pagefind-filter="explains:{name}"' in html
    assert "explains:" not in prepared(PAGE)


def test_an_edition_is_indexed(tmp_path: Path) -> None:
    page = tmp_path / "fruit/apple/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE, "utf-8")
    index(tmp_path)
    entry = json.loads((tmp_path / "pagefind/pagefind-entry.json").read_text())
    assert entry["languages"]["en"]["page_count"] == 1
    assert not [*tmp_path.glob("pagefind/*ui*")]


def test_page_and_script_pair_characters_alike() -> None:
    """The query is paired by search.js, the pages by Python."""
    script = Path("docs/assets/search.js").read_text("utf-8")
    (function,) = re.findall(r"(?s)const pairs = .*?\.trim\(\);", script)
    engine = MiniRacer()
    engine.eval(
        'const HAN = "[㐀-鿿豈-﫿]"; '
        + function.replace("const pairs", "var pairs")
    )
    for text in ("因果", "键", "mask 掩码", "加性打分"):
        theirs = str(engine.call("pairs", text)).split()
        ours = pairs(text).split()
        assert [word for word in ours if word in theirs] == theirs
        assert all(len(word) > 2 for word in ours if word not in theirs)
