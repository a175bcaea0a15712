"""The check of the prose finds what it is there to find."""

import runpy
from pathlib import Path

import pytest

from literate.chapter import ROOT, Chapter, read_all
from literate.prose import (
    NOT_YET,
    check,
    excesses,
    forbidden,
    problems,
    redefined,
    retired_in_files,
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
        ("把 `mask`放在前面。", "a space between Chinese and `code`"),
        ("权重$a$ 很大。", "a space between Chinese and a formula"),
        ("权重 $a$很大。", "a space between Chinese and a formula"),
        ("放在softmax之前。", "放在 softmax 之前"),
        ("大约有50 % 的词。", "no space between number and %"),
        ("先这样, 再那样。", "full-width punctuation"),
        ('他说"你好"。', "quotes “ ”"),
        ("注意(这里)。", "full-width parentheses"),
        ("这样 ，不好。", "no space beside full-width"),
        ("这个令牌很长。", "the glossary says 词元, not 令牌"),
        ("用集束搜索来做。", "the glossary says 束搜索, not 集束搜索"),
        ("一段话\n分成两行。", "one Chinese paragraph, one line"),
        ("一段话\n`code` 分成两行。", "one Chinese paragraph, one line"),
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
        ("> 一段\n> 分成两行。\n\n> One.\n", 1),
        ("- 一项\n\n  又一段。\n  - 二\n\n- one\n\n  Still.\n  - two\n", 0),
        ("> 一段。\n>\n> 又一段。\n\n> One.\n>\n> Two.\n", 0),
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


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("```python\nx = 1\nlay_out(x)\n```\n", 3, "use prepack_linears"),
        ("用 `Recipe`。\n\nTake `Recipe`.\n", 1, "use TrainingConfig"),
        ("## 用 `Recipe` | With `Recipe`\n", 1, "use TrainingConfig"),
        ("随机抽样。\n\nWe sample.\n", 1, "use 采样"),
        ("甲。\n\nThe length of the gradient.\n", 3, "use gradient norm"),
    ],
)
def test_retired_names_and_words_are_refused(
    text: str, line: int, says: str
) -> None:
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    found = list(problems(chapter, {}))
    assert found[0].startswith(f"docs/fruit/apple.md:{line}: ")
    assert found[0].endswith(says)


def test_other_uses_of_the_same_letters_pass() -> None:
    text = "写作 `x.recipes`。\n\nWe `relay_outer` a Recipe.\n"
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    assert list(problems(chapter, {})) == []


@pytest.mark.parametrize(
    "code",
    [
        "def look(x): ...",
        "def f(look): ...",
        "class A:\n    look: int",
        "class A:\n    def f(self):\n        self.look = 1",
        "look = 1",
        "def _look(x): ...",
    ],
)
def test_retired_names_are_not_defined_again(
    tmp_path: Path, code: str
) -> None:
    module = tmp_path / "attention_book/apple/core.py"
    module.parent.mkdir(parents=True)
    module.write_text(code)
    (message,) = retired_in_files(tmp_path)
    assert message.startswith("attention_book/apple/core.py:")
    assert "look` is a retired name; use single_query_attention" in message
    module.write_text("def f(x):\n    look = x\n    return look")
    assert list(retired_in_files(tmp_path)) == []
    test = tmp_path / "tests/test_apple.py"
    test.parent.mkdir()
    test.write_text("x = 1\nRecipe()\n")
    (message,) = retired_in_files(tmp_path)
    assert message.startswith("tests/test_apple.py:2: ")


def test_a_name_that_python_has_chosen_passes(tmp_path: Path) -> None:
    module = tmp_path / "attention_book/apple.py"
    module.parent.mkdir()
    text = "import io\nclass A(io.FileIO):\n    def tell(self): ..."
    module.write_text(text)
    assert list(retired_in_files(tmp_path)) == []
    for other in (
        text.replace("(io.FileIO)", ""),
        text.replace("tell", "look"),
        text.replace("tell(self)", "read(self, look)"),
        f"{text}\ndef tell(x): ...",
    ):
        module.write_text(other)
        assert len(list(retired_in_files(tmp_path))) == 1


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
        'en_means = "An opinionated softmax."\navoid = ["译码器"]\n```\n'
    )
    page = Chapter(Path("docs/glossary.md"), fence)
    said = list(problems(page, {"令牌": "词元", "译码器": "解码器"}))
    assert [message.split(": ", 1)[1] for message in said] == [
        "the glossary says 词元, not 令牌",
        "`opinionated` is a retired word; use saturated, peaked",
    ]


@pytest.mark.parametrize(
    ("zh", "word"),
    [
        ("卡多八倍，每块要算的少了八倍。", "少了八倍"),
        ("显存降低 3.5 倍。", "降低 3.5 倍"),
        ("至少 2 倍，最小三倍，不少于两倍，降到 2 倍。", ""),
        ("正向的计算。", "正向"),
        ("真正向前，正向量。", ""),
        ("打印一条错误消息。", "错误消息"),
        ("这是好消息，消息目录。", ""),
        ("n 元语法（n-gram）", ""),
        ("把 n-gram 数一数。", "n-gram"),
        ("把参数朝那边挪一点。", "参数朝那边挪"),
        ("把头挪到前面。", ""),
    ],
)
def test_retired_chinese_words(zh: str, word: str) -> None:
    said = [message for message in found(zh) if "retired" in message]
    assert len(said) == bool(word)
    assert all(f"`{word}` is a retired word" in message for message in said)


def chapter_of(
    zh: str = "", colons: int = 0, words: int = 1200, lines: int = 300
) -> Chapter:
    """A chapter with a thousand Han characters and these numbers."""
    chinese = "字" * (
        1000 - len(zh.translate(dict.fromkeys(map(ord, "：；"))))
    )
    english = "word " * (words - 1) + ":" * colons
    code = "```python\n" + "x = 1\n" * lines + "```"
    text = f"{zh}{chinese}。`：；`\n\n{english} word.\n\n{code}\n"
    return Chapter(Path("docs/fruit/apple.md"), text, 5)


@pytest.mark.parametrize(
    ("chapter", "says"),
    [
        (chapter_of("：" * 5 + "；" * 3, colons=1), ""),
        (chapter_of("：" * 6), ": 6 ： in 1000 Han characters, 6.0 in a"),
        (chapter_of("；" * 4), ": 4 ； in 1000 Han characters, 4.0 in a"),
        (chapter_of(colons=2), ":3: 2 colons in a paragraph; at most 1"),
        (chapter_of(words=2200), ""),
        (chapter_of(words=2201), ": 2201 words of English prose; from 1200"),
        (chapter_of(words=1199), ": 1199 words of English prose; from 1200"),
        (chapter_of(lines=301), ": 301 lines of Python; at most 300"),
    ],
)
def test_what_is_too_much_is_counted(chapter: Chapter, says: str) -> None:
    said = list(excesses(chapter))
    assert len(said) == bool(says)
    assert all(f"fruit/apple.md{says}" in message for message in said)


def test_headings_and_captions_count_and_the_source_may_be_short() -> None:
    text = (
        "## 甲：乙 | A\n\n一句话。\n\nA **sentence**.\n\n- 一\n- 二\n\n"
        "- **A.** One: two.\n- **Exercise 1: b.** It: is\n  : so.\n\n"
        '![丙 | C](a.svg "丁：戊 | D: E: F")\n\n## 己 | G {#references}\n\n'
        "- 庚\n\n- H: I: J.\n"
    )
    page = Chapter(Path("docs/source/apple.md"), text)
    assert [message.split("md:")[1] for message in excesses(page)] == [
        " 2 ： in 12 Han characters, 166.7 in a thousand; at most 5",
        "11: 2 colons in a paragraph; at most 1",
    ]


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
            FIGURE + "在这里。\n\n[Figure](pear.md#fig-core).\n",
            [
                "Chinese text never refers to this; write [图](#fig-core)",
                "English text never refers to this; write [Figure](#fig-core)",
            ],
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
    for name in ("README.md", "CONTRIBUTING.md", "docs/glossary.md"):
        (tmp_path / name).write_text("# 甲 | A\n", "utf-8")
    path = chapters / "apple.md"
    path.write_text("一：句。\n\nA: sentence.\n", "utf-8")
    (message,) = check(tmp_path)
    assert "apple.md: 1 ： in 2 Han characters" in message
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
