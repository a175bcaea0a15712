"""From a chapter to the Markdown of an edition, and to a notebook."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import nbclient
import nbformat
import pytest
from markdown import markdown

from attention_book import __version__
from literate.blocks import ChapterError, heading
from literate.chapter import Chapter, read_all
from literate.explain import uses
from literate.export import export, localize
from literate.glossary import Term
from literate.references import numbers
from literate.weave import Book, api_page, units, weave


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

见[第二章](apple.md#apple)与 [`Core`][attention_book.apple.Core] 一节。

See [chapter two](apple.md#apple) and [`Core`][attention_book.apple.Core].

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
    return Chapter(Path("docs/fruit/apple.md"), TEXT, 2).check()


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_one_language_is_shown_the_other_hidden(
    chapter: Chapter, edition: str
) -> None:
    woven = weave(chapter, edition)
    other = {"zh": "en", "en": "zh"}[edition]
    hidden = 'class="twin"'
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
    number = '<span class="number">2</span>'
    assert zh.startswith(f"# {number} 苹果<small")
    assert zh.count(number) == 1
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
    for name, folds in (("_check_core", True), ("core", False)):
        page = f'# 核 | Core\n\n```python title="attention_book/apple.py"\ndef {name}(): ...\n```\n'
        woven = weave(Chapter(chapter.path, page), "en")
        assert ("//// details | Checks<small" in woven) == folds
    page = '# 核 | Core\n\n```python title="attention_book/apple/__init__.py"\n"""Apples."""\n```\n'
    assert "details" not in weave(Chapter(chapter.path, page), "en")


def test_the_api_page_lists_the_modules_of_a_chapter(chapter: Chapter) -> None:
    files = units([chapter])["apple"]
    page = api_page("apple", files, "en")
    about = "The public functions and classes of attention_book.apple: Core."
    head = f"---\ntitle: attention_book.apple\ndescription: '{about}'\n---\n"
    assert page.startswith(head)
    assert page.count(":::") == 1  # neither a constant nor what is private
    assert page.count("\n      heading_level: 2\n") == 1
    assert "\n## " not in page  # where there is one file, it has no heading
    entry = page.index("\n::: attention_book.apple.Core\n")
    assert entry < page.index("\nFrom [Apples](../fruit/apple.md#why-x)")
    assert "# `attention_book.apple` {#api-apple}" in page
    assert "公开的函数和类：Core。" in api_page("apple", files, "zh")


HIDDEN = '# 壳 | Shell\n\n```python title="attention_book/_x.py"\nx = 1\n```\n'


def test_the_api_page_of_a_folder_leads_to_each_files_chapter() -> None:
    fence = (
        '```python title="attention_book/apple/{}.py"\ndef {}(): ...\n```\n'
    )
    apple = Chapter(
        Path("docs/fruit/apple.md"),
        "# 苹果 | Apples {#apple}\n\n" + fence.format("core", "core"),
    )
    pie = Chapter(
        Path("docs/source/pie.md"),
        "# 派 | Pie {#pie}\n\n" + fence.format("bake", "bake"),
    )
    hidden = replace(pie, path=Path("docs/source/nut.md"), text=HIDDEN)
    found = units([apple, pie, hidden])
    assert list(found) == ["apple"]  # what is private has no page
    page = api_page("apple", found["apple"], "en")
    assert (
        "## `attention_book.apple.bake` {#attention_book-apple-bake}" in page
    )
    bake = page.index("::: attention_book.apple.bake.bake\n")
    core = page.index("::: attention_book.apple.core.core\n")
    assert bake < page.index("[Pie](../source/pie.md#pie)") < core
    assert page.count("\n      heading_level: 3\n") == 2
    assert "[Apples](../fruit/apple.md#apple)" in page[core:]


TERMS = [
    Term("paragraph", "段", "paragraph", "一段。", "A paragraph."),
    Term("apple", "苹果", "apple", "水果。", "A fruit."),
    Term("chapter", "章", "chapter", "一章。", "A chapter."),
    Term("link", "链接", "link", "通向别处。", "Leads elsewhere."),
]
BOOK = Book(tuple(TERMS))


def test_a_term_is_a_link_where_a_chapter_first_uses_it(
    chapter: Chapter,
) -> None:
    woven = weave(chapter, "zh", BOOK)
    for language, word in (("zh", "链接"), ("en", "link")):
        tip = f"tip-link-{language}"
        href = f"[{word}](../glossary.md#link)"
        assert woven.count(f'{href}{{ .term aria-describedby="{tip}" }}') == 1
        assert woven.count(f'id="{tip}" lang="{language}"') == 1
    assert woven.count('id="tip-paragraph-en"') == 1
    # Neither in a heading, an alternative text, a caption, nor in a link.
    assert "glossary.md#apple" not in woven
    assert "glossary.md#chapter" not in woven
    assert "[chapter two](apple.md#apple)" in woven
    assert woven.index('<p class="tip"') > woven.index("一个苹果。")
    assert weave(chapter, "zh") == weave(chapter, "zh", Book(BOOK.terms[1:3]))


def test_the_glossary_leads_back_to_where_a_term_is_used() -> None:
    texts = {
        "x": "# 苹果 | Apples {#x}\n\n甲。\n\nOne.\n\n"
        "## 梨 | Pears {#pears}\n\n链接。\n\nA link.\n",
        "y": "# 派 | Pies {#pies}\n\n无。\n\nA link.\n",
    }
    chapters = [
        Chapter(Path(f"docs/fruit/{name}.md"), text, number)
        for number, (name, text) in zip((2, 5), texts.items(), strict=True)
    ]
    found = uses(chapters, BOOK.terms)
    link = TERMS[-1]
    assert [tuple(use) for use in found[link]] == [
        (2, "fruit/x.md#pears"),
        (5, "fruit/y.md#pies"),
    ]
    entry = "[link]\nzh = '甲'\nen = 'a'\nzh_means = '甲。'\nen_means = 'A.'"
    page = Chapter(Path("docs/glossary.md"), f"```glossary\n{entry}\n```\n")
    woven = weave(page, "en", Book(BOOK.terms, found))
    both = "[2](fruit/x.md#pears), [5](fruit/y.md#pies)"
    assert f"Used in chapters {both}</span>" in woven
    assert "用于第\N{NO-BREAK SPACE}[2](fruit/x.md#pears)、[5]" in woven


def test_tables_and_references_link_to_no_term() -> None:
    text = (
        "| 段 |\n|---|\n| 段 |\n\n| paragraph |\n|---|\n| link |\n\n"
        "## 参考文献 | References\n\n一个链接。\n\nA link.\n"
    )
    page = Chapter(Path("docs/fruit/apple.md"), text)
    assert weave(page, "en", BOOK) == weave(page, "en")


def test_the_glossary_lists_terms_and_links_to_none() -> None:
    entry = "[link]\nzh = '甲'\nen = 'a'\nzh_means = '甲。'\nen_means = 'A.'"
    text = f"链接。\n\nA link.\n\n```glossary\n{entry}\n```\n"
    part = Chapter(Path("docs/fruit/index.md"), text)
    assert "[link](../glossary.md#link)" in weave(part, "en", BOOK)
    page = Chapter(Path("docs/glossary.md"), text)
    woven = weave(page, "en", BOOK)
    assert woven.count("### link <small") == woven.count("###") == 1
    assert ".term" not in woven
    for edition, means in (("zh", "通向别处。"), ("en", "Leads elsewhere.")):
        shown = f'<section lang="{edition}" markdown="block">\n\n{means}'
        assert shown in weave(page, edition, BOOK)


def test_figures_and_formulas_have_numbers() -> None:
    figure = '![甲。 | A.](figures/x/{}.svg "梨 | pear")\n\n'
    text = (
        "# 苹果 | Apples\n\n"
        + figure.format("one")
        + "$$\nx = 1 \\label{eq-x}\n$$\n\n$$\ny = 2\n$$\n\n"
        + figure.format("two")
        + "看[图](#fig-two)与[式](#eq-x)。\n\n"
        + "[Figure](#fig-two) and [equation](#eq-x).\n"
    )
    page = Chapter(Path("docs/fruit/x.md"), text, 7).check()
    zh, en = (weave(page, edition) for edition in ("zh", "en"))
    assert '<figure id="fig-two"' in zh
    assert '<span class="number">图 7.2</span> 梨<small lang="en"' in zh
    assert '<span class="number">Figure 7.2</span> pear<small' in en
    assert "x = 1 \\tag{7.1}" in zh
    assert '<div id="eq-x" markdown="block">' in zh
    assert zh.count("\\tag") == zh.count('id="eq-') == 1
    space = "\N{NO-BREAK SPACE}"
    for woven in (zh, en):
        assert (
            f"看[图{space}7.2](#fig-two) 与[式{space}(7.1)](#eq-x)。" in woven
        )
        assert (
            f"[Figure{space}7.2](#fig-two) and [equation{space}(7.1)]" in woven
        )
    book = export(page, "en")
    assert "\\\\tag{7.1}" in book
    assert "*Figure 7.2 pear*" in book
    assert f"Figure{space}7.2 and equation{space}(7.1)." in json.loads(
        json.dumps("".join(json.loads(book)["cells"][0]["source"]))
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# 甲 | A\n\n[图](#fig-x)\n\nSee.\n", r":3: \[图\]\(#fig-x\) leads"),
        (
            "# 甲 | A\n\n" + "$$\nx \\label{eq-x}\n$$\n\n" * 2,
            ":7: eq-x is there already",
        ),
    ],
)
def test_a_number_that_leads_nowhere_is_refused(text: str, says: str) -> None:
    page = Chapter(Path("docs/fruit/x.md"), text, 7)
    with pytest.raises(ChapterError, match="^docs/fruit/x.md" + says):
        weave(page, "zh")


def test_a_reference_to_another_chapter_has_its_number() -> None:
    place = "../attention/scoring.md"
    text = (
        f"# 甲 | A\n\n[图]({place}#fig-causal)，见[章]({place}#masks)。\n\n"
        f"[Chapter]({place}), chapters [#]({place}) and [#](x.md).\n"
    )
    chapters = {chapter.name: chapter for chapter in read_all()}
    scoring, encoder = chapters["scoring"], chapters["encoder"]
    page = Chapter(Path("docs/transformer/encoder.md"), text, 8)
    text = text.replace("(x.md)", "(encoder.md)")
    woven = weave(replace(page, text=text), "zh")
    number = numbers(scoring)["fig-causal"]
    assert number.startswith(f"{scoring.number}.")
    assert f"[图\N{NO-BREAK SPACE}{number}]({place}#fig-causal)" in woven
    kept = f"{scoring.number}".join(["\N{NO-BREAK SPACE}"] * 2)
    assert f"见[第{kept}章]({place}#masks)" in woven
    assert f"[Chapter{kept[:-1]}]({place})" in woven
    assert (
        f"chapters [{scoring.number}]({place}) and [{encoder.number}](enc"
        in woven
    )
    with pytest.raises(ChapterError, match=r"encoder.md:5: .* leads to no pa"):
        weave(page, "zh")
    lost = replace(page, text="见[章](../source/cli.md)。\n\nNone.\n")
    with pytest.raises(ChapterError, match="without number; name it by"):
        weave(lost, "zh")


def test_captions_and_titles_carry_both_languages(chapter: Chapter) -> None:
    woven = weave(chapter, "en")
    assert "![An apple.](figures/apple/core.svg){ .light" in woven
    assert "![An apple.](figures/apple/core.dark.svg){ .dark" in woven
    assert (
        '<span class="number">Figure 2.1</span> Figure: apple<small' in woven
    )
    assert "/// details | Answer<small" in woven


DIAGRAM = """# 头 | Heads

![两个头。 | Two heads.](../diagrams/{}.svg "图：`h` | Figure: `h`")
"""


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_diagram_is_drawn_into_the_page(edition: str) -> None:
    page = Chapter(Path("docs/fruit/x.md"), DIAGRAM.format("multi-head"))
    woven = weave(page.check(), edition)
    ours, theirs = {"zh": ("追逐", "chases"), "en": ("chases", "追逐")}[
        edition
    ]
    svg = woven[woven.index("<svg") : woven.index("</svg>")]
    assert f">{ours}</text>" in svg
    assert theirs not in svg
    alt = {"zh": "两个头。", "en": "Two heads."}[edition]
    assert f'<title id="diagram-multi-head">{alt}</title>' in svg
    html = markdown(woven, extensions=["md_in_html", "attr_list"])
    assert svg in html  # not read as Markdown
    assert html.count("<figcaption>") == html.count("<code>h</code>") // 2 == 1


def test_a_diagram_that_is_not_there_is_named() -> None:
    page = Chapter(Path("docs/fruit/x.md"), DIAGRAM.format("no-head"))
    with pytest.raises(
        ChapterError,
        match=r"^docs/fruit/x.md:3: there is no docs/diagrams/no_head.py",
    ):
        weave(page.check(), "zh")


def test_a_notebook_holds_its_diagrams() -> None:
    page = Chapter(Path("docs/fruit/x.md"), DIAGRAM.format("multi-head"))
    cells = nbformat.reads(export(page.check(), "en"), 4).cells
    found = re.fullmatch(
        r'<img alt="Two heads\." src="data:image/svg\+xml;base64,(\S+)">'
        r"\n\n\*.*h`\*",
        cells[1].source,
    )
    assert found
    svg = b64decode(found[1]).decode()
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314
    assert "chases" in svg
    assert "追逐" not in svg
    assert '<rect class="paper"' in svg  # white, in a notebook that is dark


@pytest.mark.parametrize(
    ("code", "zh", "en"),
    [
        ('x = "苹果 | apple"', 'x = "苹果"', 'x = "apple"'),
        (
            'x = "苹", "果 | a"  # 甲 | b',
            'x = "苹", "果"  # 甲 | b',
            'x = "苹", "a"  # 甲 | b',
        ),
        (
            'x = (\n    "很长" "的 | "\n    "long"\n)',
            'x = (\n    "很长的"\n)',
            'x = (\n    "long"\n)',
        ),
        ('x = ("甲" f"{n} | A{n}")', 'x = (f"甲{n}")', 'x = (f"A{n}")'),
        ('f("甲 | A", "乙 | B")', 'f("甲", "乙")', 'f("A", "B")'),
        ('x = "甲 \\" | A \\""', 'x = "甲 \\""', 'x = "A \\""'),
        *[
            (same, same, same)
            for same in (
                'x = "P(y | x)"',
                'x = "甲 | 乙"',
            )
        ],
    ],
)
def test_code_shows_the_editions_side(code: str, zh: str, en: str) -> None:
    assert (localize(code, "zh"), localize(code, "en")) == (zh, en)


def test_page_and_notebook_show_the_same_side() -> None:
    text = (
        "# 图 | Plot\n\n```python\nimport matplotlib.pyplot as plt\n\n"
        'plt.figure("core", label="苹果 | apple")\n```\n\n'
        '```python title="attention_book/apple.py"\nx = "梨 | pear"\n```\n'
    )
    page = Chapter(Path("docs/fruit/apple.md"), text).check()
    for edition, ours in {"zh": "苹果", "en": "apple"}.items():
        cells = nbformat.reads(export(page, edition), 4).cells
        codes = [cell.source for cell in cells if cell.cell_type == "code"]
        for shown in (weave(page, edition), "\n".join(codes)):
            assert f'label="{ours}")' in shown
            assert 'x = "梨 | pear"' in shown  # the package is what it is
        assert codes[0].startswith("%pip install")
        assert "font_manager" in codes[1]
    for old, new in (("matplotlib.pyplot as plt", "math"), ("梨", "p")):
        other = text.replace(old, new).replace("苹果 | ", "")
        page = Chapter(Path("docs/fruit/apple.md"), other).check()
        assert "font_manager" not in export(page, "zh")


def test_notebook_has_one_language_code_and_output(chapter: Chapter) -> None:
    book = json.loads(export(chapter, "en"))
    kinds = [cell["cell_type"] for cell in book["cells"]]
    text, code = "markdown", "code"
    assert kinds == [text, code, text, code, code, code, text]
    sources = ["".join(cell["source"]) for cell in book["cells"]]
    assert sources[0].startswith("# Apples\n\n*Made from a chapter of [the")
    assert sources[1] == (
        f'%pip install --quiet "attention-book[plot]=={__version__}"'
    )
    prose = sources[2]
    assert "A paragraph." in prose
    assert "一段" not in prose
    assert "[chapter two](apple.ipynb) and `Core`." in prose
    assert "Neither `f[i](x)` nor $a[i](x)$ is a link." in prose
    assert book["cells"][5]["outputs"][0]["text"] == ["5\n"]
    assert sources[6] == "*Figure 2.1 Figure: apple*"
    assert "这是一段" in export(chapter, "zh")


def test_a_notebook_leads_to_notebooks_alone() -> None:
    text = "# 苹果 | Apple\n\n见{0}这三个地方。\n\nSee {0}.\n"
    links = "[A](b.md#c), [B](../labs/translate.ipynb), [C](../live/d.md)"
    page = Chapter(Path("docs/fruit/x.md"), text.format(links))
    told = "See [A](b.ipynb), [B](translate.ipynb), C."
    assert told in json.loads(export(page, "en"))["cells"][0]["source"][-1]


@pytest.mark.slow
def test_a_real_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one language: the code of both is the same, but for its labels.

    It installs nothing that is there already, and so asks no network.
    """
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
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
    note = printed.pop(0)  # of IPython, after pip
    assert "ERROR" not in note
    assert printed == promised[1:]
