"""The check of the prose finds what it is there to find."""

import re
from pathlib import Path

import pytest

from literate.chapter import ROOT, Chapter
from literate.links import dead_links, untested
from literate.prose import forbidden, main, problems


def found(zh: str) -> list[str]:
    text = f"{zh}\n\nAn English twin.\n"
    chapter = Chapter(Path("docs/chapters/02-apple.md"), text)
    return list(problems(chapter, forbidden()))


def test_the_book_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "zh",
    [
        "把 `mask` 放在 softmax 之前，权重 $a$ 加起来等于 1，占 50%。",
        "见[第 3 章](03-by-hand.md)（注意力）：“好”。",
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
    ],
)
def test_bad_prose_is_named(zh: str, says: str) -> None:
    messages = found(zh)
    assert any(says in message for message in messages), messages
    assert messages[0].startswith("docs/chapters/02-apple.md:1: ")


def test_blocks_have_a_size() -> None:
    lines = "x = 1\n" * 46
    wide = f"y = '{'o' * 80}'\n"
    text = f"```python\n{lines}```\n\n```python\n{wide}```\n"
    chapter = Chapter(Path("docs/chapters/02-apple.md"), text)
    long, broad = problems(chapter, {})
    assert long.endswith(":1: a block of 46 lines; at most 45")
    assert broad.endswith(":51: a line of 86 characters; at most 79")


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("[甲](nowhere.md)", "there is no docs/chapters/nowhere.md"),
        (
            "[甲](02-apple.md#pear)",
            "docs/chapters/02-apple.md has only #apple",
        ),
        ("[甲](#pear)", "docs/chapters/02-apple.md has only #apple"),
        ("[`甲`][attention_book.apple.Pear]", "nothing is called"),
        ("[甲]( nowhere.md 'x')", "there is no docs/chapters/nowhere.md"),
        (
            "<a href='nowhere.md'>甲</a>",
            "there is no docs/chapters/nowhere.md",
        ),
        ("[attention_book.apple.Pear][]", "nothing is called"),
        ("[好](02-apple.md#apple)", ""),
        ("[好](https://example.org)", ""),
        ("`[好](nowhere.md)`", ""),
    ],
)
def test_a_dead_link_is_named(tmp_path: Path, link: str, says: str) -> None:
    page = tmp_path / "docs/chapters/02-apple.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "README.md").touch()
    page.write_text(
        f"# 苹果 | Apple\n\n这里要说的东西，请看：{link}。\n\nSee here.\n"
    )
    dead = dead_links(tmp_path)
    if says:
        (message,) = dead
        assert message.startswith("docs/chapters/02-apple.md:3: ")
        assert says in message
    else:
        assert dead == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"(?m)^ +- (?:.*: )?([\w/-]+\.md)$", text)
    pages = (ROOT / "docs").glob("**/*.md")
    assert sorted(listed) == sorted(
        page.relative_to(ROOT / "docs").as_posix() for page in pages
    )


def test_short_strings_are_checked_too() -> None:
    text = (
        "## 令牌 | Token\n\n/// note | 遮蔽 | Mask\n\n///\n\n"
        '![译码器 | D](a.svg "补丁 | P")\n'
    )
    chapter = Chapter(Path("docs/chapters/02-apple.md"), text)
    lines = [
        message.split(":")[1] for message in problems(chapter, forbidden())
    ]
    assert lines == ["1", "3", "7", "7"]


def test_code_that_no_test_runs_is_found(tmp_path: Path) -> None:
    page = tmp_path / "docs/index.md"
    misnamed = tmp_path / "docs/chapters/4-x.md"
    misnamed.parent.mkdir(parents=True)
    (tmp_path / "README.md").touch()
    page.write_text("```python\nassert False\n```\n")
    misnamed.write_text("# 甲 | A\n")
    assert [message.split(": ")[0] for message in untested(tmp_path)] == [
        "docs/chapters/4-x.md:1",
        "docs/index.md:1",
    ]
