"""Weave the book into two trees of plain Markdown, one for each edition.

Both languages are on a page, so that a button can lay them side by side; the other
language's half is marked `twin`, and hidden by the style sheet.
A lab stays a notebook, which mkdocs-jupyter shows, in one language.
A tree holds all that a site engine needs: pages, API pages, labs, notebooks, assets.
"""

import ast
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat import v4

from literate import ROOT, glossary, labs, summary
from literate.blocks import DIAGRAM, FIGURE, LIVE, RECORD, Block, fenced, heading, names, pick
from literate.chapter import PACKAGE, Chapter, Twin, dotted, pages, read, read_all
from literate.drawing import draw
from literate.explain import explain, uses
from literate.export import export, localize
from literate.glossary import Term, Use
from literate.plots import FRAME, dark
from literate.records import RECORDS, caption, check, load, markdown
from literate.references import anchor, numbers, refer, tagged
from literate.setup import colab
from literate.tangle import write


EDITIONS = {"zh": "mkdocs.yml", "en": "mkdocs.en.yml"}
WOVEN = ROOT / ".cache/woven"
HIDDEN = 'class="twin"'
ORIGIN = "出自 | From"
PUBLIC = "{0} 里公开的函数和类：{1}。 | The public functions and classes of {0}: {1}."
EXERCISE = "练习 {0} | Exercise {0}"
HOW = (
    "先在[终端]({1}#check)里取一道练习，`attention-book exercise {0} > ex.py`，写好以后运行 `attention-book check ex.py`，不看答案就知道对不对。",
    "In a [terminal]({1}#check), `attention-book exercise {0} > ex.py` gives you an exercise to fill in, and `attention-book check ex.py` tells whether it is right, without showing the answer.",
)
CHECKER = "docs/source/cli.md"
SCRIPT = "这一页的程序在浏览器里运行，请打开 JavaScript。 | This page runs in your browser. Please turn JavaScript on."
FOLDED = "导入与公开的名字 | Imports and public names"
CHECKS = "检查 | Checks"
SHADES = (("", "light"), (".dark", "dark"))
RANGE = re.compile(r" (\([^()]*(?:–|…)[^()]*\))$")
MINUS = re.compile(r"(?<![\w`-])-(?=\d)")  # before a number, and no dash of a range
NUMBERED = '<span class="number">{}</span> '
# A link to the glossary as explain() makes it, which only Python-Markdown understands.
TERM = re.compile(r"\[([^]]*)\]\(([^)]*)\)\{ \.term (aria-describedby=\"[^\"]*\") \}")


class Book(NamedTuple):
    """What a page needs to know of all others."""

    terms: tuple[Term, ...] = ()
    uses: Mapping[Term, Sequence[Use]] = {}


def write_trees(editions: Iterable[str] = EDITIONS) -> Book:
    """Write the trees anew; return what a page needs that is woven again alone."""
    everyone = read_all()
    terms = tuple(glossary.terms())
    book = Book(terms, uses(everyone, terms))
    for edition in editions:
        draft = WOVEN / f"{edition}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(ROOT / "docs/assets", draft / "assets")
        for script in draft.glob("assets/live/*.js"):  # with the records that it reads
            for record in re.findall(r'"([\w-]+\.json)"', script.read_text("utf-8")):
                shutil.copy(ROOT / RECORDS / record, script.parent)
        for path in pages():
            if path.parts[0] == "docs":
                write_page(read(path), edition, draft, book)
        for unit, files in units(everyone).items():
            write(draft / f"api/{unit}.md", api_page(unit, files, edition))
        shutil.rmtree(WOVEN / edition, ignore_errors=True)
        draft.rename(WOVEN / edition)
    return book


def write_page(page: Chapter, edition: str, tree: Path, book: Book) -> None:
    """Write a page with its figures and its notebook."""
    check(page)
    place = tree / page.path.relative_to("docs")
    given = next((b.text for b in page.blocks if b.kind == "front_matter"), "---\n---")
    about = summary.of(page, edition) | {"source": page.path.as_posix()}
    if page.path != Path("docs/index.md"):
        about["title"] = title_of(page, edition)
    if page.is_chapter:
        about["title"] = f"{page.number} {about['title']}"
        about["number"] = str(page.number)
    is_lab = page.path.parent == labs.LABS
    if page.is_chapter or is_lab:
        about["notebook"] = f"notebooks/{page.path.stem}.ipynb"
        about["colab"] = colab(about["notebook"], edition)
        write(tree / about["notebook"], export(page, edition))
    drawn: dict[str, str] = {}
    if is_lab:
        write(place, weave_lab(page, edition, about, book))
        lab = nbformat.reads(page.text, as_version=4)
        labels = lab.metadata.get("labels", {}) if edition == "zh" else {}
        for cell in lab.cells:
            drawn |= labs.figures(page.path, cell, labels)
    else:
        front = [*given.split("\n")[1:-1], *(f"{key}: {json.dumps(about[key])}" for key in about)]
        write(place, "\n".join(["---", *front, "---", "", weave(page, edition, book)]))
    for figure in page.figures:
        saved = (ROOT / page.path.parent / figure).with_suffix(f".{edition}.svg")
        drawn[figure] = saved.read_text("utf-8") if saved.exists() else FRAME
    for figure, svg in drawn.items():
        write(place.parent / figure, svg)
        write((place.parent / figure).with_suffix(".dark.svg"), dark(svg))


def title_of(page: Chapter, edition: str) -> str:
    """The text of a page's first heading."""
    first = next(block for block in page.blocks if block.kind == "heading")
    return heading(first)[edition == "en"].replace("`", "")


def units(chapters: list[Chapter]) -> dict[str, dict[str, Chapter]]:
    """The public folders and modules of the package's root, and who defines each of their files."""
    files = {file: chapter for chapter in chapters for file in chapter.modules}
    found: dict[str, dict[str, Chapter]] = {}
    for file in sorted(files):
        unit = file.removeprefix(f"{PACKAGE}/").removesuffix(".py").split("/")[0]
        if not unit.startswith("_"):
            found.setdefault(unit, {})[file] = files[file]
    return found


def api_page(unit: str, files: Mapping[str, Chapter], edition: str) -> str:
    """The page of all that is public in a folder or module of the package, for mkdocstrings."""
    listed = [
        name for file, owner in files.items() for b in owner.modules[file] for name in public(b)
    ]
    about = pick(PUBLIC, edition).format(f"{PACKAGE}.{unit}", ", ".join(listed))
    page = [f"---\ntitle: {PACKAGE}.{unit}\ndescription: {about!r}\n---"]
    page.append(f"# `{PACKAGE}.{unit}` {{#api-{unit}}}")
    level = 3 if len(files) > 1 else 2
    for file, owner in files.items():
        module, blocks = dotted(file), owner.modules[file]
        if level == 3 and any(map(public, blocks)):
            page.append(f"## `{module}` {{#{module.replace('.', '-')}}}")
        for block in blocks:
            target = os.path.relpath(owner.path, "docs/api") + f"#{owner.above(block)}"
            place = f"[{title_of(owner, edition)}]({target})"
            for name in public(block):
                page.append(f"::: {module}.{name}\n    options:\n      heading_level: {level}")
                page.append(f"{pick(ORIGIN, edition)} {place}")
    return "\n\n".join(page) + "\n"


def weave(page: Chapter, edition: str, book: Book = Book()) -> str:  # noqa: B008, it is a tuple
    """The page as Material for MkDocs reads it, for edition `zh` or `en`."""
    explained = explain(page, book.terms)
    parts = []
    for part in explained.parts:
        if isinstance(part, Twin):
            parts.append(_twins(part, edition))
            continue
        glosses = part.info == "glossary"
        parts.append(_glossary(part, edition, book) if glosses else _shared(page, part, edition))
        if part.kind == "heading" and heading(part)[2] == "exercises":
            parts += [how_to_check(e.id, page, edition) for e in page.exercises[:1]]
    text = "\n\n".join(part for part in [*parts, explained.tips] if part) + "\n"
    return refer(text, page)


def weave_lab(
    lab: Chapter,
    edition: str,
    about: Mapping[str, str] = {},
    book: Book = Book(),  # noqa: B008, it is a tuple
) -> str:
    """The lab's notebook as mkdocs-jupyter reads it, which leaves out the other language.

    Its metadata has what stands at the head of other pages, and the ids of its headings.
    """
    explained = explain(lab, book.terms)
    cells: list[Any] = []
    given = nbformat.reads(lab.text, as_version=4)
    code = (cell for cell in given.cells if cell.cell_type == "code")
    drawn = [file for cell in given.cells for file in labs.figures(lab.path, cell)]
    ids: list[str] = []
    for part in explained.parts:
        if isinstance(part, Twin):
            cells += _tagged(part.zh.text, part.en.text, lab)
        elif part.kind == "heading":
            zh, en, id_ = heading(part)
            marks = part.text.partition(" ")[0]
            cells += _tagged(f"{marks} {zh}", f"{marks} {en}", lab)
            ids.append(id_)
        elif part.info == "python":
            cells.append(_with_figures(next(code), lab, edition, drawn))
    if tips := [line for line in explained.tips.split("\n") if f'lang="{edition}">' in line]:
        cells.append(v4.new_markdown_cell("\n".join(["<div>", *tips, "</div>"])))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    given.cells = cells
    given.metadata[labs.ABOUT] = {**about, "ids": ids}
    nbformat.validate(given)
    return str(nbformat.writes(given)) + "\n"


def _tagged(zh: str, en: str, lab: Chapter) -> list[Any]:
    """A cell in each language."""
    texts = (
        refer(TERM.sub(r'<a class="term" href="\2" \3>\1</a>', text), lab) for text in (zh, en)
    )
    return [
        v4.new_markdown_cell(text, metadata={"tags": [language]})
        for language, text in zip(EDITIONS, texts, strict=True)
    ]


def _with_figures(cell: Any, lab: Chapter, edition: str, drawn: Sequence[str]) -> Any:
    """A code cell that shows what it drew as other pages do: a file for light, one for dark."""
    files = iter(labs.figures(lab.path, cell))
    for output in cell.outputs:
        if "image/svg+xml" in output.get("data", ()):
            name = next(files)
            file = Path(name)  # in the folder that the page will be
            number = NUMBERED.format(f"{pick('图 | Figure', edition)} {drawn.index(name) + 1}")
            below = number + escape(cell.metadata.get("alt", {}).get(edition, ""))
            images = "".join(
                f'<img class="{shade}" loading="lazy" alt="" src="{file.stem}{ending}.svg">'
                for ending, shade in SHADES
            )
            below = f"<figcaption>{below}</figcaption>"  # which says what an `alt` would
            figure = f'<figure id="fig-{file.stem}">\n{images}\n{below}\n</figure>'
            output.data = nbformat.from_dict({"text/html": figure})
    return cell


def how_to_check(id_: str, page: Chapter, edition: str) -> str:
    """The lines that say how to check an exercise."""
    place = os.path.relpath(CHECKER, page.path.parent)
    zh, en = (Block("paragraph", text.format(id_, place), 0) for text in HOW)
    return _twins(Twin(zh, en), edition)


def public(block: Block) -> list[str]:
    """What a block adds to the API page: a constant has no docstring, and so no place there."""
    if "/_" in block.title:
        return []  # what is private has no such page
    nodes = ast.parse(block.body).body
    documented = [node for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [node.name for node in documented if not node.name.startswith("_")]


def _twins(twin: Twin, edition: str) -> str:
    halves = [("zh", twin.zh.text), ("en", twin.en.text)]
    sections = [
        f'<section lang="{lang}" markdown="block"{"" if lang == edition else " " + HIDDEN}>\n\n{text}\n\n</section>'
        for lang, text in (halves if edition == "zh" else halves[::-1])
    ]
    return '<div class="twins" markdown="block">\n' + "\n".join(sections) + "\n</div>"


def _short(text: str, edition: str) -> str:
    """Both sides of a `中文 | English`, in line, the other language hidden."""
    other = "en" if edition == "zh" else "zh"
    ours, theirs = pick(text, edition), pick(text, other)
    return ours if ours == theirs else f'{ours}<small lang="{other}" {HIDDEN}>{theirs}</small>'


def _shared(page: Chapter, block: Block, edition: str) -> str:
    """A block that both languages share, as Material for MkDocs reads it."""
    if block.kind == "heading":
        zh, en, id_ = heading(block)
        label = escape(re.sub(r"[`*]", "", zh if edition == "zh" else en))
        marks = block.text.partition(" ")[0]
        number = NUMBERED.format(page.number) if marks == "#" and page.is_chapter else ""
        title = number + _short(f"{zh} | {en}", edition)
        return f'{marks} {title} {{#{id_} data-toc-label="{label}"}}'
    if block.kind == "open":
        head, _, text = block.text.partition(" | ")
        return f"{head} | {_short(text, edition)}"
    if block.kind == "front_matter":
        return ""  # it stands at the head of the page
    if block.kind == "figure":
        return _figure(page, block, edition)
    if block.kind == "math" and (id_ := anchor(block)):
        return f'<div id="{id_}" markdown="block">\n\n{tagged(block.text, page)}\n\n</div>'
    if block.info == "output":
        return fenced(" {.text .output .no-copy}", block.body)
    if RECORD.fullmatch(block.info):
        return _record(page, block, edition)
    if block.role:
        label = pick(EXERCISE, edition).format(block.id)
        stub = block.role == "exercise"
        return fenced(
            f'python title="{label}"' if stub else "python", localize(block.body, edition)
        )
    if block.title and block.info.startswith("python"):
        return _module_block(block, edition)
    if found := LIVE.fullmatch(block.info):
        is_all = page.path.parent.name == "live"  # the page has nothing else to show
        rest = f"<noscript>{pick(SCRIPT, edition)}</noscript>" * is_all
        return f'<div class="live" data-live="{found[1]}">{rest}</div>'
    if block.info.startswith("python"):
        ours = localize(block.body, edition)
        return block.text if ours == block.body else fenced(block.info, ours)
    return block.text


def _module_block(block: Block, edition: str) -> str:
    """A block of the package: imports and checks folded, others with links to the API pages.

    A file that is a docstring alone has nothing to fold.
    """
    given, bound = (
        names(block.body, Path(block.title), block.line, imports=imports)
        for imports in (True, False)
    )
    for prefix, label in (("__", FOLDED), ("_check", CHECKS)):
        if given and all(name.startswith(prefix) for name in bound):
            return f"//// details | {_short(label, edition)}\n\n{block.text}\n\n////"
    module = dotted(block.title)
    links = " ".join(f"[`{name}`][{module}.{name}]" for name in public(block))
    return block.text + (f'\n\n<p class="api" markdown="span">API {links}</p>' if links else "")


def _figure(page: Chapter, block: Block, edition: str) -> str:
    alternative, path, caption = FIGURE.findall(block.text)[0]
    alternative = pick(alternative, edition)
    id_ = anchor(block)
    caption = _numbered(caption, "图", "Figure", numbers(page).get(id_))
    below = f'<figcaption markdown="span">{_short(caption, edition)}</figcaption>\n'
    below = below if caption else ""
    if diagram := DIAGRAM.fullmatch(path):
        try:
            drawn = draw(diagram[1], edition, alternative)
        except FileNotFoundError as error:
            raise page.error(block, f"there is no {error.filename}; draw it there") from None
        return f'<figure id="{id_}" markdown="block">\n<div>{drawn}</div>\n{below}</figure>'
    images = "".join(
        f"![{alternative}]({Path(path).with_suffix(f'{ending}.svg').as_posix()}){{ .{shade} loading=lazy }}"
        for ending, shade in SHADES
    )
    return f'<figure id="{id_}" markdown="span">\n{images}\n{below}</figure>'


def _numbered(caption: str, zh: str, en: str, number: str | None) -> str:
    """A caption of both languages, behind the number if there is one."""
    if not (number and caption):
        return caption
    first, second = (pick(caption, language) for language in EDITIONS)
    zh, en = (NUMBERED.format(f"{kind} {number}") for kind in (zh, en))
    return f"{zh}{first} | {en}{second}"


def _record(page: Chapter, block: Block, edition: str) -> str:
    """A table of an experiment; above it what it shows and what it rests on."""
    name, of, title = RECORD.findall(block.info)[0]
    record = load(name)
    table = record["tables"][of]
    id_ = anchor(block)
    above = _numbered(caption(title, record, table), "表", "Table", numbers(page).get(id_))
    return (
        f'<figure id="{id_}" class="record" markdown="block">\n'
        f'<figcaption markdown="span">{_short(above, edition)}</figcaption>\n\n'
        + markdown(table, lambda cell: _number(_cell(_short(cell, edition))))
        + "\n\n</figure>"
    )


def _cell(text: str) -> str:
    """A cell of a table, in which a bar parts no cells; in code Python-Markdown knows that."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else part.replace("|", r"\|") for i, part in enumerate(parts))


def _number(text: str) -> str:
    """A cell of a record: a minus before numbers, and below a number, if need be, its range."""
    return RANGE.sub(r' <span class="together">\1</span>', MINUS.sub("−", text))


def _glossary(block: Block, edition: str, book: Book) -> str:
    """The terms of one fence, each under a heading, which the search and the contents list."""
    written: list[str] = []
    ids = {term.id for term in glossary.parse(block)}
    for term in (term for term in book.terms if term.id in ids):
        title, *halves = glossary.entry(term, edition, book.uses.get(term, ()))
        zh, en = (replace(block, kind="paragraph", text=half) for half in halves)
        written += title, _twins(Twin(zh, en), edition)
    return "\n\n".join(written)
