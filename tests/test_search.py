"""What the search is given of a page."""

import json
import re
from pathlib import Path

import pytest
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
    assert '⟦ <i data-pagefind-meta="title">2  苹果 </i> ⟧' in html
    assert "> ⟦ Apples ⟧ </small>" in html
    assert 'class="twin" data-pagefind-weight="0.5"' in html
    assert prepared("<html><body>404</body></html>") == ""


def test_a_chapter_is_found_by_the_terms_it_explains() -> None:
    term = Term(
        *("mask", "掩码", "Mask", "一张表。", "A table."),
        en_also=("masking",),
        avoid=("遮罩",),
        asked=("ABC",),
    )
    html = prepared(PAGE, [term])
    names = " 掩码  / Mask / masking /  遮罩  / ABC"
    assert f'<p data-pagefind-weight="10"> ⟦ {names} ⟧ </p>' in html
    for name in ("掩码", "mask", "masking", "遮罩", "abc"):
        assert f'data-pagefind-filter="explains:{name}"' in html
    assert "explains:" not in prepared(PAGE)


@pytest.mark.parametrize(
    "drawn",
    [
        r'<span data-tex="">\sqrt{d_k}</span>',
        r"<span><math><mi>d</mi><annotation a='x'>\sqrt{d_k}</annotation></math>"
        '<span class="katex-html"><span>X</span><span><i>Y</i></span></span></span>',
    ],
)
def test_a_formula_is_found_by_the_names_of_its_symbols(drawn: str) -> None:
    html = prepared(PAGE.replace("softmax", f"{drawn}。"))
    assert "√d_k ⟦ d_k sqrt square root  根号  ⟧ </span>。" in html
    assert not re.search("[XY]|mi>", html)


def test_exercises_and_references_weigh_little() -> None:
    last = '<h2 id="exercises">练习</h2><p>难</p>'
    html = prepared(PAGE.replace("</article>", f"{last}</article>"))
    little = 'data-pagefind-weight="0.1"'
    assert f'<h2 {little} id="exercises"> 练习 </h2> ⟧ <div {little}>' in html
    assert little not in prepared(PAGE)


def test_misspelt_words_are_near_those_of_the_glossary() -> None:
    script = Path("docs/assets/search.js").read_text("utf-8")
    (functions,) = re.findall(
        r"(?s)const distance = .*?(?=const bare)", script
    )
    engine = MiniRacer()
    engine.eval(re.sub("(?m)^const", "var", functions))
    assert engine.call("distance", "atention", "attention") == 1
    assert engine.call("distance", "lenght", "length") == 1
    assert engine.call("distance", "位置编玛", "位置编码") == 1
    words = ["decoder", "encoder", "pre-norm"]
    assert engine.call("nearest", "encodr", words, 1) == "encoder"
    assert engine.call("nearest", "prenrom", words, 1) == "pre-norm"
    assert engine.eval('nearest("elephant", ["decoder"], 2) === undefined')


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
