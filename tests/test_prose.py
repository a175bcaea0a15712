"""The check of the prose finds what it is there to find."""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from literate.chapter import ROOT, Chapter, read_all
from literate.prose import (
    NOT_YET,
    check,
    drawings,
    excesses,
    forbidden,
    problems,
    redefined,
    unevenness,
    unmentioned,
)


def found(zh: str) -> list[str]:
    text = f"{zh}\n\nAn English twin.\n"
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    return list(problems(chapter, forbidden()))


def test_the_book_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    program = str(ROOT / "literate/prose.py")
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(program, run_name="__main__")
    assert not ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    "zh",
    [
        "把 `mask` 放在 softmax 之前，权重 $a$ 加起来等于 1，占 50%。",
        "至少 2 倍，最小三倍，降到 2 倍。",
        "见[章](by-hand.md)（注意力）：“好”。",
        "**掩码**：`True` 表示可以看。",
    ],
)
def test_good_prose_passes(zh: str) -> None:
    assert found(zh) == []


@pytest.mark.parametrize(
    ("zh", "says"),
    [
        ("把`mask` 放在前面。", "a space between Chinese and `code`"),
        ("权重$a$ 很大。", "a space between Chinese and a formula"),
        ("放在softmax之前。", "放在 softmax 之前"),
        ("大约有50 % 的词。", "no space between number and %"),
        ("先这样, 再那样。", "full-width punctuation"),
        ('他说"你好"。', "quotes “ ”"),
        ("注意(这里)。", "full-width parentheses"),
        ("这样 ，不好。", "no space beside full-width"),
        ("这个令牌很长。", "the glossary says 词元, not 令牌"),
        ("显存降低 3.5 倍，不至少于两倍。", "a fraction, as in 降到几分之一"),
        ("一段话\n分成两行。", "one Chinese paragraph, one line"),
    ],
)
def test_bad_prose_is_named(zh: str, says: str) -> None:
    messages = found(zh)
    assert any(says in message for message in messages), messages
    assert messages[0].startswith("docs/fruit/apple.md:1: ")


@pytest.mark.parametrize(
    ("twins", "n"),
    [
        ("- 一项\n  分成两行。\n- 二\n\n- one\n- two\n", 1),
        ("- 一项\n\n  又一段。\n  - 二\n\n- one\n\n  Still.\n  - two\n", 0),
    ],
)
def test_lists_and_quotes_break_no_chinese(twins: str, n: int) -> None:
    chapter = Chapter(Path("docs/fruit/apple.md"), twins)
    said = list(problems(chapter, {}))
    assert len(said) == n
    assert all(
        "one Chinese paragraph, one line" in message for message in said
    )


def test_lines_have_a_width() -> None:
    wide = f"y = '{'o' * 80}'\n"
    text = f"```python\n{wide}```\n"
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    (broad,) = problems(chapter, {})
    assert broad.endswith(":2: a line of 86 characters; at most 79")


def test_short_strings_are_checked_too() -> None:
    text = (
        "## 令牌 | Token\n\n/// note | 遮蔽 | Mask\n\n///\n\n"
        '![译码器 | D](a.svg "补丁 | P")\n'
    )
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    lines = [
        message.split(":")[1] for message in problems(chapter, forbidden())
    ]
    assert lines == ["1", "3", "7", "7"]


def test_definitions_are_checked_too() -> None:
    fence = (
        '```glossary\n[a]\nzh = "甲"\nen = "a"\nzh_means = "一个令牌。"\n'
        'en_means = "A token."\navoid = ["译码器"]\n```\n'
    )
    page = Chapter(Path("docs/glossary.md"), fence)
    said = list(problems(page, {"令牌": "词元", "译码器": "解码器"}))
    assert len(said) == 1
    assert said[0].endswith("the glossary says 词元, not 令牌")


def test_a_diagram_is_shown_and_speaks_both_languages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    labels = [
        *("$W_i$", "softmax", "Tom | Tom", "词元 | token"),  # which are right
        *("head", "头", "头 | ", "head | Heads", "令牌 | token"),
    ]
    diagram = tmp_path / "docs/diagrams/two_heads.py"
    diagram.parent.mkdir(parents=True)
    diagram.touch()
    drawing = SimpleNamespace(labels=labels)
    monkeypatch.setattr("literate.prose.load", lambda name: drawing)
    said = [*drawings([], {"令牌": "词元"}, tmp_path)]
    assert said[0] == "docs/diagrams/two_heads.py: no page shows it"
    assert [message.split("got ")[1] for message in said[1:5]] == [
        *("'head'", "'头'", "'头 | '", "'head | Heads'"),
    ]
    (shown,) = [message for message in said[5:] if "令牌" in message]
    assert shown.endswith("the glossary says 词元, not 令牌")
    page = '![头 | A](../diagrams/two-heads.svg "头 | A")\n'
    pages = [Chapter(Path("docs/fruit/apple.md"), page)]
    assert next(drawings(pages, {}, tmp_path)) != said[0]


def chapter_of(
    colons: int = 0, words: int = 1200, lines: int = 300
) -> Chapter:
    """A chapter with these numbers."""
    english = "word " * (words - 1) + ":" * colons
    code = "```python\n" + "x = 1\n" * lines + "```"
    text = f"一句话。\n\n{english} word.\n\n{code}\n"
    return Chapter(Path("docs/fruit/apple.md"), text, 5)


@pytest.mark.parametrize(
    ("chapter", "says"),
    [
        (chapter_of(colons=1), ""),
        (chapter_of(colons=2), ":3: 2 colons in a paragraph; at most 1"),
        (chapter_of(words=2201), ": 2201 words of English prose; from 1200"),
        (chapter_of(lines=301), ": 301 lines of Python; at most 300"),
    ],
)
def test_what_is_too_much_is_counted(chapter: Chapter, says: str) -> None:
    said = list(excesses(chapter))
    assert len(said) == bool(says)
    assert all(f"fruit/apple.md{says}" in message for message in said)


def test_titles_of_exercises_and_sources_may_have_colons() -> None:
    text = (
        "A. **B**.\n\n- 一\n- 二\n\n- **A.** One: two.\n"
        "- **Exercise 1: b.** It: is\n  : so.\n\n"
        "## 己 | G {#references}\n\n- 庚\n\n- H: I: J.\n"
    )
    page = Chapter(Path("docs/source/apple.md"), f"一句话。\n\n{text}")
    (fault,) = excesses(page)
    assert fault.endswith("apple.md:9: 2 colons in a paragraph; at most 1")


def chinese(marks: str, more: str = "") -> Chapter:
    """A chapter with a thousand Han characters and these marks among them."""
    said = marks + "字" * (1000 - len(re.sub("[：；]", "", marks)))
    parts = [said[start : start + 120] for start in range(0, len(said), 120)]
    text = "".join(f"{part}。`：；它就`\n\nA word.\n\n" for part in parts)
    more = f"{more}\n\nA word.\n\n" if more else ""
    sources = "## 己 | G {#references}\n\n- 庚：它；它。\n\n- H.\n"
    path = Path("docs/fruit/apple.md")
    return Chapter(path, f"# 甲 | A\n\n{text}{more}{sources}", 5)


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ("：：；它它它它就就就就就", ""),
        ("：：：：：；；；", ""),
        ("：；", "1.0 ： in a thousand Han; from 2 to 5"),
        ("：：：：：：；", "6.0 ： in a thousand Han; from 2 to 5"),
        ("：：", "0.0 ； in a thousand Han; from 1 to 3"),
        ("：：；；；；", "4.0 ； in a thousand Han; from 1 to 3"),
        ("：：；它它它它它", "5.0 它 in a thousand Han; from 0 to 4"),
        ("：：；就就就就就就", "6.0 就 in a thousand Han; from 0 to 5"),
    ],
)
def test_chinese_has_marks_enough_and_not_too_many(
    marks: str, says: str
) -> None:
    said = [*unevenness(chinese(marks))]
    assert said == ([f"docs/fruit/apple.md: {says}"] if says else [])


@pytest.mark.parametrize(("marks", "fine"), [("：；", True), ("：：", False)])
def test_a_short_page_may_have_one_of_each_mark(
    marks: str, fine: bool
) -> None:
    text = f"{'字' * 50}{marks}{'字' * 50}。\n\nA word.\n"
    page = Chapter(Path("docs/source/apple.md"), text)
    assert [*unevenness(page)] == (
        []
        if fine
        else ["docs/source/apple.md: 20.0 ： in a thousand Han; from 2 to 5"]
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("字" * 180 + "。", ""),
        ("字" * 181 + "。", "a paragraph of 181 Han characters; at most 180"),
        ("甲，乙，丙，丁，戊。己，庚。", ""),
        (
            "甲，乙，丙，丁，戊，己。",
            "5 commas in …甲，乙，丙，丁，戊，己…; at most 4",
        ),
        ("加上三样东西：甲、乙和丙。", ""),
        ("三个分句，甲是一、二和三。", ""),
        (
            "加上三样东西，甲、乙和丙。",
            "want a colon in 三样东西，甲、乙和丙。",
        ),
    ],
)
def test_a_chinese_sentence_is_pointed_as_it_wants(
    more: str, says: str
) -> None:
    said = [*unevenness(chinese("：：：；；", more))]
    want = [f"docs/fruit/apple.md:39: {says}"] if says else []
    assert said == want


FIGURE = '![甲 | A](figures/apple/core.svg "乙 | B")\n\n'
FORMULA = "$$\nx = 1 \\label{eq-x}\n$$\n\n"


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        (FIGURE + "[图](#fig-core)。\n\n[Figure](#fig-core).\n", []),
        (FORMULA + "- [式](#eq-x)。\n\n- [Equation](#eq-x).\n", []),
        (
            FIGURE + "[图](#fig-core)。\n\nHere it is.\n",
            ["English text never refers to this; write [Figure](#fig-core)"],
        ),
        (
            FORMULA + "在这里。\n\n[Equation](#eq-x).\n",
            ["Chinese text never refers to this; write [式](#eq-x)"],
        ),
        ("$$\nx = 1\n$$\n\n在这里。\n\nHere.\n", []),
    ],
)
def test_figures_and_formulas_are_referred_to(
    text: str, wants: list[str]
) -> None:
    page = Chapter(Path("docs/fruit/apple.md"), "# 甲 | A\n\n" + text)
    at = "docs/fruit/apple.md:3: the "
    assert list(unmentioned([page])) == [at + want for want in wants]


def test_another_chapter_may_refer_to_a_formula_but_not_to_a_figure() -> None:
    apple = "# 甲 | A\n\n" + FIGURE + FORMULA
    there = "apple.md#"
    pear = (
        f"[图]({there}fig-core)和[式]({there}eq-x)。\n\n"
        f"[Figure]({there}fig-core) and [Equation]({there}eq-x).\n"
    )
    pages = (
        Chapter(Path("docs/fruit/apple.md"), apple),
        Chapter(Path("docs/fruit/pear.md"), pear),
    )
    said = list(unmentioned(pages))
    assert [message.split("; ")[1] for message in said] == [
        "write [图](#fig-core)",
        "write [Figure](#fig-core)",
    ]


def test_a_chapter_is_excused_until_it_keeps_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {chapter.name for chapter in read_all()} >= NOT_YET
    chapters = tmp_path / "docs/source"
    chapters.mkdir(parents=True)
    for name in ("README.zh.md", "CONTRIBUTING.md", "docs/glossary.md"):
        (tmp_path / name).write_text("# 甲 | A\n", "utf-8")
    path = chapters / "apple.md"
    path.write_text("一句。\n\nA: b: sentence.\n", "utf-8")
    (message,) = check(tmp_path)
    assert "apple.md:3: 2 colons in a paragraph" in message
    monkeypatch.setattr("literate.prose.NOT_YET", {"apple"})
    assert check(tmp_path) == []
    path.write_text("一句。\n\nA sentence.\n", "utf-8")
    (message,) = check(tmp_path)
    assert message.endswith("take it off NOT_YET in prose.py")


def test_a_public_name_is_defined_where_it_ships_alone() -> None:
    shipped = (
        '```python title="attention_book/{}.py"\ndef peel(): ...\n```\n\n'
    )
    own = "```python\ndef {}(): ...\n```\n\n"
    stub = '```python exercise="apple-1"\ndef peel(): ...\n```\n'

    def faults(title: str, *blocks: str) -> list[str]:
        text = shipped.format(title) + "".join(blocks)
        return list(redefined([Chapter(Path("docs/fruit/apple.md"), text)]))

    (fault,) = faults("fruit", own.format("peel"))
    assert fault.startswith("docs/fruit/apple.md:5: defines peel, which att")
    assert faults("fruit", own.format("peel_too_thick"), stub) == []
    assert faults("cli/peel", own.format("peel")) == []
