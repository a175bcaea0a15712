"""From a chapter to the Markdown of an edition, and to a notebook."""

import json
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from literate.blocks import heading
from literate.chapter import Chapter, read_all
from literate.export import export
from literate.weave import api_page, owned, weave


TEXT = """# 苹果 | Apples {#apple}

这是一段（`code`）。

A paragraph.

- 甲

- 乙

- a

- b

## 为什么 `x` | Why `x`?

$$
x = 1
$$

/// details | 答案 | Answer

见[第二章](02-apple.md#apple)与 [`Core`][attention_book.apple.Core] 一节。

See [chapter two](02-apple.md#apple) and [`Core`][attention_book.apple.Core].

函数 `f[i](x)` 与 $a[i](x)$ 不是链接。

Neither `f[i](x)` nor $a[i](x)$ is a link.

///

```python title="attention_book/apple.py"
import math


__all__ = ["Core"]
```

```python title="attention_book/apple.py"
class Core:
    seeds = math.floor(5.5)


SEEDS = 5


def _hidden():
    pass
```

```python
import matplotlib.pyplot as plt

plt.figure("core")
print(Core.seeds)
```

```output
5
```

![一个苹果。 | An apple.](figures/apple/core.svg "图：苹果 | Figure: apple")
"""


@pytest.fixture
def chapter() -> Chapter:
    return Chapter(Path("docs/chapters/02-apple.md"), TEXT).check()


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_one_language_is_shown_the_other_hidden(
    chapter: Chapter, edition: str
) -> None:
    woven = weave(chapter, edition)
    other = {"zh": "en", "en": "zh"}[edition]
    hidden = 'class="twin" data-search-exclude="true"'
    assert woven.count(f'<section lang="{edition}" markdown="block">') == 4
    assert (
        woven.count(f'<section lang="{other}" markdown="block" {hidden}>') == 4
    )
    first = woven.index(f'<section lang="{edition}"')
    assert first < woven.index(f'<section lang="{other}"')


def test_headings_have_ascii_ids_and_titles_of_their_edition(
    chapter: Chapter,
) -> None:
    zh = weave(chapter, "zh")
    en = weave(chapter, "en")
    assert zh.startswith("# 苹果<small")
    assert '{#apple data-toc-label="苹果"}' in zh
    assert '{#apple data-toc-label="Apples"}' in en
    ids = [heading(b)[2] for b in chapter.blocks if b.kind == "heading"]
    assert ids == ["apple", "why-x"]


def test_shared_blocks_stand_once(chapter: Chapter) -> None:
    for edition in ("zh", "en"):
        woven = weave(chapter, edition)
        for shared in ("x = 1\n$$", "class Core:", "print(Core.seeds)"):
            assert woven.count(shared) == 1
        assert "``` {.text .output .no-copy}\n5\n```" in woven
        assert "API [`Core`][attention_book.apple.Core]</p>" in woven
        assert "_hidden`]" not in woven
        assert "SEEDS`]" not in woven  # a constant has no place there


def test_imports_are_folded(chapter: Chapter) -> None:
    woven = weave(chapter, "en")
    fold = woven.index("//// details | Imports and public names<small")
    assert fold < woven.index("import math") < woven.index("\n////\n")
    assert woven.index("\n////\n") < woven.index("class Core:")
    assert "导入与公开的名字<small" in weave(chapter, "zh")


def test_the_api_page_lists_the_modules_of_a_chapter(chapter: Chapter) -> None:
    page = api_page(chapter, "en", [chapter])
    assert page.startswith("---\ntitle: 'Apples'\n---\n")
    assert page.count(":::") == 1  # neither a constant nor what is private
    entry = page.index("\n::: attention_book.apple.Core\n")
    assert entry < page.index("\nFrom [Apples](../chapters/02-apple.md#why-x)")
    assert "# 苹果" in api_page(chapter, "zh", [chapter])


def test_the_api_page_of_a_folder_leads_to_each_files_chapter() -> None:
    fence = (
        '```python title="attention_book/apple/{}.py"\ndef {}(): ...\n```\n'
    )
    apple = Chapter(
        Path("docs/chapters/02-apple.md"),
        "# 苹果 | Apples {#apple}\n\n" + fence.format("core", "core"),
    )
    pie = Chapter(
        Path("docs/chapters/30-pie.md"),
        "# 派 | Pie {#pie}\n\n" + fence.format("bake", "bake"),
    )
    page = api_page(apple, "en", [apple, pie])
    assert (
        "## `attention_book.apple.bake` {#attention_book-apple-bake}" in page
    )
    bake = page.index("::: attention_book.apple.bake.bake\n")
    core = page.index("::: attention_book.apple.core.core\n")
    assert bake < page.index("[Pie](../chapters/30-pie.md#pie)") < core
    assert "[Apples](../chapters/02-apple.md#apple)" in page[core:]
    assert owned(pie, [apple, pie]) == {}  # and so no page of its own


def test_captions_and_titles_carry_both_languages(chapter: Chapter) -> None:
    woven = weave(chapter, "en")
    assert "![An apple.](figures/apple/core.svg)" in woven
    assert "Figure: apple<small" in woven
    assert "/// details | Answer<small" in woven


def test_a_list_stays_one_list(chapter: Chapter) -> None:
    assert "- 甲\n\n- 乙\n\n</section>" in weave(chapter, "zh")


def test_notebook_has_one_language_code_and_output(chapter: Chapter) -> None:
    book = json.loads(export(chapter, "en"))
    kinds = [cell["cell_type"] for cell in book["cells"]]
    assert kinds == ["markdown", "code", "code", "code"]
    prose = "".join(book["cells"][0]["source"])
    assert "# Apples" in prose
    assert "A paragraph." in prose
    assert "一段" not in prose
    assert "[chapter two](02-apple.ipynb) and `Core`." in prose
    assert "Neither `f[i](x)` nor $a[i](x)$ is a link." in prose
    assert book["cells"][3]["outputs"][0]["text"] == ["5\n"]
    assert "这是一段" in export(chapter, "zh")


def test_a_real_notebook_runs() -> None:
    """In one language: the code of both is the same, but for its labels."""
    chapter = next(c for c in read_all() if c.name == "by-hand")
    book, other = (
        nbformat.reads(export(chapter, edition), as_version=4)
        for edition in ("zh", "en")
    )
    codes, others = (
        [cell.source for cell in each.cells if cell.cell_type == "code"]
        for each in (book, other)
    )
    bare, bare_too = (
        [re.sub('"[^"]*"', '""', code) for code in each]
        for each in (codes, others)
    )
    assert bare == bare_too
    promised = [
        cell.outputs[0].text if cell.outputs else ""
        for cell in book.cells
        if cell.cell_type == "code"
    ]
    nbclient.NotebookClient(book, timeout=120).execute()
    printed = [
        "".join(o.text for o in cell.outputs if o.get("name") == "stdout")
        for cell in book.cells
        if cell.cell_type == "code"
    ]
    assert printed == promised
