"""Reading a chapter: what is right is read, what is wrong is named."""

from pathlib import Path

import pytest

from attention_book.models.decoder import DecoderLayer
from literate.blocks import ChapterError, names
from literate.chapter import Chapter, Twin, defined_in, read, read_all


PATH = Path("docs/fruit/apple.md")


def chapter(text: str) -> Chapter:
    return Chapter(PATH, text).check()


def error(text: str) -> str:
    with pytest.raises(ChapterError) as caught:
        chapter(text)
    return str(caught.value)


def test_twins_are_paired_block_by_block() -> None:
    parts = chapter(
        "# 苹果 | Apple\n\n第一段。\n\n- 甲\n- 乙\n\nOne.\n\n- a\n- b\n\n"
        "---\n\n| 甲 |\n|---|\n| 乙 |\n\n| a |\n|---|\n| b |\n"
    ).parts
    twins = [
        (p.zh.kind, p.zh.line, p.en.line) for p in parts if isinstance(p, Twin)
    ]
    assert twins == [("paragraph", 3, 8), ("list", 5, 10), ("table", 15, 19)]


def test_quoted_chinese_does_not_make_english_chinese() -> None:
    (twin,) = chapter(
        "我爱你，意思是 I love you。\n\nThe sentence 我爱你 says `爱` once.\n"
    ).parts
    assert isinstance(twin, Twin)
    assert (twin.zh.language, twin.en.language) == ("zh", "en")


def test_a_list_may_hold_paragraphs() -> None:
    (twin,) = chapter(
        "- 甲\n\n  还是甲。\n- 乙\n\n- a\n\n  Still a.\n- b\n"
    ).parts
    assert isinstance(twin, Twin)
    assert twin.zh.text == "- 甲\n\n  还是甲。\n- 乙"
    assert twin.en.line == 6
    assert twin.en.shape == "a list of 2 items, 3 paragraphs"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("只有中文。\n", 1, "no English twin"),
        ("Only English here.\n", 1, "no Chinese twin"),
        (
            "一段。\n\n- an item\n",
            3,
            "a list of 1 items, 1 paragraphs here, a paragraph",
        ),
        ("# 只有中文\n", 1, "a heading must be `中文 | English`"),
        ("```python\nx = 1\n", 1, "this fence has no end; close it with ```"),
        ("$$\nx = 1\n", 1, "this formula has no end"),
        ("/// note | 提示 | Note\n\n---\n", 1, "this /// block has no end"),
        ("///\n", 1, "this /// closes nothing"),
        ("/// note | 提示\n\n///\n", 1, "must be `中文 | English`"),
        ("/// note | 提示 | Note\n话。\n", 1, "leave a blank line"),
        (
            "!!! note\n\n    ```python\n    x = 1\n    ```\n",
            1,
            "never tested",
        ),
        ("---\n\n    ```python\n    x = 1\n    ```\n", 3, "never tested"),
        ("- 甲\n\n  ```python\n  x = 1\n  ```\n", 3, "never tested"),
        (
            "```py\nassert False\n```\n",
            1,
            "would not be tested; write `python`",
        ),
        (
            "```python title='attention_book/apple.py'\n```\n",
            1,
            "not be tested",
        ),
        ("<div>\n```python\nassert False\n```\n</div>\n", 1, "never tested"),
        ("$$\n```python\nassert False\n```\n$$\n", 1, "never tested"),
        ("<p>只有中文</p>\n", 1, "HTML has no twin"),
        ("| 甲 |\n|---|\n| 乙 |\n\n| a |\n|---|\n", 5, "1 rows here"),
        ("## 甲 | A {#a}\n\n## 乙 | B {#a}\n", 3, "id is that of line 1"),
        ("## 甲 | 乙\n", 1, "id is empty; add {#an-id}"),
        ("/// exercise | 甲 | A\n\n///\n", 1, "a /// block is one of: note"),
        ("/// note | 甲 | A\n\n////\n", 3, "as many / as it began with"),
        ('![图](figures/a.svg "图 | A")\n', 1, "alternative text must be"),
        ("![图 | A](figures/a.svg)\n", 1, "a figure's caption must be"),
        ("![图 | A](a.svg) and text\n", 1, "a figure stands alone"),
        ("[甲]: https://example.org\n", 1, "no block holds this line"),
        ("```output\n1\n```\n", 1, "output that follows no"),
        (
            '```python title="apple.py"\nx = 1\n```\n',
            1,
            "a title is a file of",
        ),
        (
            '```python title="attention_book/apple.py"\nx = (\n```\n',
            2,
            "was never closed",
        ),
        (
            '```python title="attention_book/apple.py"\nx = 1\n```\n\n'
            '```python title="attention_book/apple.py"\nx = 2\n```\n',
            5,
            "x is defined twice, first on line 1",
        ),
    ],
)
def test_an_error_names_file_line_and_remedy(
    text: str, line: int, says: str
) -> None:
    message = error(text)
    assert message.startswith(f"docs/fruit/apple.md:{line}: ")
    assert says in message


def test_a_name_is_that_of_one_chapter(tmp_path: Path) -> None:
    write(tmp_path, "fruit/apple.md")
    write(tmp_path, "source/apple.md")
    with pytest.raises(
        ChapterError,
        match=r"source/apple.md:1: docs/fruit/apple.md has this name",
    ):
        read_all(tmp_path)


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ("一行。\n\nA line.\n\n坏".encode() + b"\xff\n", ":5: .*udcff"),
        ("\ufeff一行。\n\nA line.\n".encode(), ":1: .*ufeff"),
        ("一行。\n\nA line.\r\n".encode(), r":3: .*\\r"),
    ],
)
def test_a_file_that_is_not_plain_utf8_is_named(
    tmp_path: Path, raw: bytes, where: str
) -> None:
    (tmp_path / "apple.md").write_bytes(raw)
    with pytest.raises(ChapterError, match=f"apple.md{where}"):
        read(Path("apple.md"), tmp_path)


def test_names_are_those_of_the_module() -> None:
    first = "import os\n\n\ndef f(x):\n    y = [k for k in x]\n    return y\n"
    second = "TABLE = {k: v for k, v in {}.items()}\nif TABLE:\n    z = 1\n"
    assert set(names(first, PATH, 1)) == {"os", "f"}
    assert set(names(second, PATH, 1)) == {"TABLE", "z"}
    assert names(first, PATH, 1, imports=False) == ["f"]


def test_a_chapter_may_own_a_folder_of_modules() -> None:
    blocks = [
        ("attention_book/apple/core.py", "import math\n\nSEEDS = 5"),
        ("attention_book/apple/skin.py", "import math\n\nSEEDS = 7"),
        ("attention_book/apple/core.py", "def cut(n):\n    return n"),
        ("attention_book/apple/deep/er.py", "x = 1"),
    ]
    text = "\n\n".join(
        f'```python title="{title}"\n{code}\n```' for title, code in blocks
    )
    modules = chapter(text).modules
    assert {name: len(found) for name, found in modules.items()} == {
        "attention_book/apple/core.py": 2,
        "attention_book/apple/skin.py": 1,
        "attention_book/apple/deep/er.py": 1,
    }


def write(root: Path, name: str, *titles: str) -> None:
    """Write a page whose blocks define these files, and list it in the nav."""
    path = root / "docs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = (
        f'```python title="{t}"\nx{i} = 1\n```\n' for i, t in enumerate(titles)
    )
    path.write_text("\n".join(blocks))
    if "source" not in name:
        with (root / "mkdocs.yml").open("a") as nav:
            nav.write(f"      - {name}\n")


def test_the_navigation_numbers_the_chapters(tmp_path: Path) -> None:
    for name in ("index", "preface", "nut/index", "nut/pie", "fruit/pear"):
        write(tmp_path, f"{name}.md")
    write(tmp_path, "source/peel.md")
    found = read_all(tmp_path)
    assert [(page.name, page.number) for page in found] == [
        ("preface", 0), ("pie", 1), ("pear", 2), ("peel", -1)
    ]  # fmt: skip
    assert [page.is_source for page in found] == [False] * 3 + [True]
    part = read(Path("docs/nut/index.md"), tmp_path)
    assert part.is_part
    assert not part.is_chapter

    nav = (tmp_path / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(nav.replace("- nut/pie", "- x/pie"))
    write(tmp_path, "nut/other.md")
    (tmp_path / "mkdocs.yml").write_text(nav.replace("- nut/pie.md\n", "\n"))
    write(tmp_path, "nut/seed.md")
    with pytest.raises(ChapterError, match=r"nut/other.md:1: is not in the"):
        read_all(tmp_path)


def test_a_file_belongs_to_one_chapter(tmp_path: Path) -> None:
    write(tmp_path, "fruit/apple.md", "attention_book/apple/core.py")
    titles = [f"attention_book/apple/{name}.py" for name in ("peel", "core")]
    write(tmp_path, "source/pie.md", *titles)
    with pytest.raises(
        ChapterError, match=r"stands on docs/fruit/apple\.md:1"
    ):
        read_all(tmp_path)


def test_cells_that_an_experiment_uses_find_what_titled_blocks_bind() -> None:
    cells = defined_in("docs/transformer/decoder.md", "Sorter")
    assert cells["DecoderLayer"] is DecoderLayer
    assert isinstance(cells["Sorter"](True).decoder, DecoderLayer)
    assert "train" not in cells
