"""The check of the prose finds what it is there to find."""

from pathlib import Path

import pytest

from literate.chapter import ROOT, Chapter
from literate.links import dead_links
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
        ("[好](02-apple.md#apple)", ""),
        ("[好](https://example.org)", ""),
        ("`[好](nowhere.md)`", ""),
    ],
)
def test_a_dead_link_is_named(tmp_path: Path, link: str, says: str) -> None:
    page = tmp_path / "docs/chapters/02-apple.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "README.md").touch()
    page.write_text(f"# 苹果 | Apple\n\n见这里：{link}。\n\nSee here.\n")
    dead = dead_links(tmp_path)
    if says:
        (message,) = dead
        assert message.startswith("docs/chapters/02-apple.md:3: ")
        assert says in message
    else:
        assert dead == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in sorted((ROOT / "docs").glob("**/*.md")):
        assert page.relative_to(ROOT / "docs").as_posix() in navigation
