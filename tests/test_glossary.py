"""A term is found where it stands as a word, and is explained once a page."""

from dataclasses import replace
from pathlib import Path

import pytest

from literate.blocks import Block, ChapterError
from literate.glossary import entry, find, link, parse, terms, tips


FENCE = """```glossary
[attention]
zh = "注意力"
en = "attention"
zh_means = "加权平均。"
en_means = "An average."
tooltip = false

[query]
zh = "查询"
en = "query"
zh_means = "问的。"
en_means = "What asks."

[key]
zh = "键"
en = "key"
zh_means = "比较 a < b。"
en_means = "Compares a < b."
zh_near = ["查询", "QK"]
en_near = ["quer"]

[value]
zh = "值"
en = "value"
zh_means = "平均的。"
en_means = "What is averaged."
avoid = ["真值", "数"]

[head]
zh = "注意力头"
en = "attention head"
zh_means = "一组注意力。"
en_means = "One attention."
zh_also = ["头"]
en_also = ["head"]

[mask]
zh = "掩码"
en = "mask"
zh_means = "一张表。"
en_means = "A table."

[causal-mask]
zh = "因果掩码"
en = "causal mask"
zh_means = "一个三角形。"
en_means = "A triangle."

[batch]
zh = "批量"
en = "batch"
zh_means = "几个样本。"
en_means = "Some examples."

[n-gram]
zh = "n 元语法"
en = "n-gram"
zh_means = "挨着的词。"
en_means = "Neighbouring words."

[softmax]
zh = "softmax"
en = "softmax"
zh_means = "归一化。"
en_means = "Normalises."

[cache]
zh = "键值缓存"
en = "key–value cache"
zh_means = "存着的键和值。"
en_means = "Stored keys and values."
en_also = ["KV cache"]
```"""
BOOK = parse(Block("fence", FENCE, 1, "glossary"))


def mark(text: str, language: str) -> str:
    """The text with 【】 around each use of a term."""
    for start, end, _ in reversed([*find(text, language, BOOK)]):
        text = f"{text[:start]}【{text[start:end]}】{text[end:]}"
    return text


@pytest.mark.parametrize(
    "marked",
    [
        # Not inside another word:
        "键盘是【查询】的关键，按键、【键】和键入，按键【键】。",
        "数值、阈值、价值、均值、取值、【值】、值得，每个【值】。",
        # A word that the segmenter does not know is not guessed, as 和键 was:
        "给【查询】和【键】打分，【查询】、【键】和【值】",
        "log-softmax 和 softmax2，【softmax】。",
        # The longest term:
        "【因果掩码】是【掩码】。",
        "【查询】用【键值缓存】。",
        "2 元语法，【n 元语法】",
        # Only in the sense that is meant:
        "一个键。",
        "$QK$ 里的【键】。",
        # Not in code, formulas, links, tags, or the title of an exercise:
        "`掩码` $掩码$ [掩码](a.md) [掩码][b.c] <i 掩码> 【掩码】",
        "**练习 1，掩码。** 写【掩码】。",
        "**【掩码】**（mask）是表。",
    ],
)
def test_chinese_terms(marked: str) -> None:
    assert (
        mark(marked.translate({ord("【"): "", ord("】"): ""}), "zh") == marked
    )


@pytest.mark.parametrize(
    "marked",
    [
        "【Masks】 unmask; masked, mask-based, a 【mask】.",
        "【Causal masks】 and 【batches】",
        "A 【query】, 【queries】 and 【keys】, monkeys and turnkey",
        "self-attention, attention-free, 【attention】",
        "a 【head】, two 【attention\nheads】",
        "A 【key-value cache】, 【KV caches】",
        "`mask` $mask$ [a mask](b.md) {.mask} <mask> 【mask】",
        "**Exercise 1: a mask.** No 【mask】",
    ],
)
def test_english_terms(marked: str) -> None:
    assert (
        mark(marked.translate({ord("【"): "", ord("】"): ""}), "en") == marked
    )


def test_the_first_use_in_a_section_is_a_link_and_no_later_one() -> None:
    sections = [["**掩码**与掩码。", "注意力的掩码、批量。"], ["掩码。"]]
    linked, used = link(sections, "zh", BOOK, "../g.md")
    mask = '{ .term aria-describedby="tip-mask-zh" }'
    batch = '{ .term aria-describedby="tip-batch-zh" }'
    assert linked == [
        [
            f"**[掩码](../g.md#mask){mask}**与掩码。",
            f"注意力的掩码、[批量](../g.md#batch){batch}。",
        ],
        [f"[掩码](../g.md#mask){mask}。"],
    ]
    assert {term.id: at for term, at in used.items()} == {
        "mask": 0,
        "batch": 0,
    }


def test_what_a_term_means_is_plain_text() -> None:
    key = next(term for term in BOOK if term.id == "key")
    assert tips([key], "zh") == (
        '<p class="tip" role="tooltip" popover="manual" id="tip-key-zh" '
        'lang="zh"><b lang="en">key</b> 比较 a &lt; b。</p>\n'
    )
    (tip,) = tips([replace(key, number=2)], "en").splitlines()
    assert tip.endswith("Compares a &lt; b. <i>Chapter 2</i></p>")
    assert '<b lang="zh">键</b>' in tip


def test_an_entry_has_both_names_and_says_what_not_to_write() -> None:
    value = next(term for term in BOOK if term.id == "value")
    title, zh, en = entry(value, "zh")
    assert title.startswith('### 值 <small lang="en">value</small> {#value ')
    assert zh == "平均的。不写作“真值”“数”。"
    assert en == "What is averaged. In Chinese not 真值 or 数."
    assert entry(value, "en")[0].startswith('### value <small lang="zh">值<')
    softmax = next(term for term in BOOK if term.id == "softmax")
    assert entry(softmax, "zh")[0].startswith("### softmax {#softmax ")


ENTRY = 'zh = "甲"\nen = "a"\nzh_means = "甲。"\nen_means = "A."\n'


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (f"[a]\n{ENTRY}[b]\n{ENTRY}", "glossary.md:9: en a is in the"),
        (f"[a]\n{ENTRY}chapter = 'pear'\n", ":4: there is no chapter named"),
        (f"[a]\n{ENTRY}meaning = 'x'\n", "unexpected keyword argument"),
        ("[a]\nzh = '甲'\n", "missing 3 required"),
        ("[a\n", "glossary.md:3: "),
    ],
)
def test_a_faulty_glossary_is_refused(
    tmp_path: Path, entries: str, says: str
) -> None:
    (tmp_path / "docs").mkdir()
    nav = "nav:\n  - preface.md\n  - fruit/pie.md\n  - fruit/apple.md\n"
    (tmp_path / "mkdocs.yml").write_text(nav, "utf-8")
    page = tmp_path / "docs/glossary.md"
    page.write_text(f"# 词 | G\n\n```glossary\n{entries}```\n", "utf-8")
    with pytest.raises(ChapterError, match=says):
        terms(tmp_path)
    text = f"[a]\n{ENTRY}chapter = 'apple'\n"
    page.write_text(f"# 词 | G\n\n```glossary\n{text}```\n", "utf-8")
    (term,) = terms(tmp_path)
    assert term.path == Path("docs/fruit/apple.md")
    assert "[第\N{NO-BREAK SPACE}2" in entry(term, "zh")[1]


def test_every_definition_is_one_sentence() -> None:
    for term in terms():
        for language, stop in (("zh", "。"), ("en", ".")):
            means = term.means(language)
            assert means.endswith(stop), term.id
            assert means.count(stop) == 1, term.id
            assert "\n" not in means
            assert len(means) <= {"zh": 60, "en": 220}[language], term.id
