"""Weave the book into two trees of plain Markdown, one for each edition.

python -m literate.weave    write .cache/woven/zh and .cache/woven/en

Both languages are on a page, so that a button can lay them side by side; the other
language's half is marked `twin`, hidden by the style sheet, and left out of the search.
A tree holds all that a site engine needs: pages, API pages, labs, notebooks, assets.
"""

import ast
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path

import nbformat

from literate import freshness, labs
from literate.blocks import FIGURE, Block, ChapterError, heading, pick
from literate.chapter import CHAPTERS, ROOT, Chapter, Twin, dotted, pages, read, read_all
from literate.export import export, join_lines
from literate.glossary import parse


EDITIONS = ("zh", "en")
WOVEN = ROOT / ".cache/woven"
HIDDEN = 'class="twin" data-search-exclude="true"'
FOLDED = "导入与公开的名字 | Imports and public names"


def write_trees() -> None:
    """Write both trees anew; refuse chapters whose code did not pass."""
    chapters = read_all()
    for chapter in chapters:
        if not freshness.fresh(chapter):
            raise ChapterError(chapter.path, 1, "has not passed as it stands; run: nox -s doctests")
    for edition in EDITIONS:
        draft = WOVEN / f"{edition}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        _write_tree(chapters, edition, draft)
        shutil.rmtree(WOVEN / edition, ignore_errors=True)
        draft.rename(WOVEN / edition)


def _write_tree(chapters: list[Chapter], edition: str, tree: Path) -> None:
    docs = ROOT / "docs"
    shutil.copytree(docs / "assets", tree / "assets")
    for path in pages():
        if path.parts[0] == "docs":
            page = read(path)
            _put(tree / path.relative_to("docs"), _front(page, edition) + weave(page, edition))
    for chapter in chapters:
        _put(tree / f"notebooks/{chapter.path.stem}.ipynb", export(chapter, edition))
        for _, figure in chapter.figures():
            _put(tree / "chapters" / figure, (ROOT / CHAPTERS / figure).read_text("utf-8"))
        if chapter.modules and chapter.name != "preface":
            _put(tree / f"api/{chapter.name}.md", api_page(chapter, edition))
    _put(
        tree / "api/index.md",
        (tree / "api/index.md").read_text("utf-8") + _api_list(chapters, edition),
    )
    for path in sorted((ROOT / labs.LABS).glob("*.ipynb")):
        notebook = nbformat.writes(labs.in_edition(labs.read(path), edition)) + "\n"
        _put(tree / f"notebooks/{path.name}", notebook)
        _put(tree / f"labs/{path.name}", path.read_text("utf-8"))


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _front(page: Chapter, edition: str) -> str:
    """The page's front matter, with its title and notebook."""
    given = next((b.text for b in page.blocks if b.kind == "meta"), "---\n---").split("\n")[1:-1]
    if page.path.name != "index.md" or page.path.parent != Path("docs"):
        given.append(f"title: {title_of(page, edition)!r}")
    if page.path.parent == CHAPTERS:
        given.append(f"notebook: notebooks/{page.path.stem}.ipynb")
    return "\n".join(["---", *given, "---", "", ""])


def title_of(page: Chapter, edition: str) -> str:
    """The text of a page's first heading."""
    first = next(block for block in page.blocks if block.kind == "heading")
    return heading(first)[edition == "en"].replace("`", "")


def api_page(chapter: Chapter, edition: str) -> str:
    """The page of all that is public in a chapter's modules, for mkdocstrings."""
    title = title_of(chapter, edition)
    name = chapter.module.removesuffix(".py").replace("/", ".")
    lines = ["---", f"title: {title!r}", "---", f"# {title}: `{name}` {{#api-{chapter.name}}}"]
    for module in sorted(chapter.modules):
        if not module.endswith("__init__.py") and "__all__" in _source(chapter, module):
            if len(chapter.modules) > 1:
                lines.append(f"## `{dotted(module)}` {{#{dotted(module).replace('.', '-')}}}")
            level = 3 if len(chapter.modules) > 1 else 2
            lines.append(f"::: {dotted(module)}\n    options:\n      heading_level: {level}")
    return "\n\n".join(lines[3:]).join(["\n".join(lines[:3]) + "\n\n", "\n"])


def _source(chapter: Chapter, module: str) -> str:
    return "".join(block.body for block in chapter.modules[module])


def _api_list(chapters: list[Chapter], edition: str) -> str:
    rows = [
        f"- [`{c.module.removesuffix('.py').replace('/', '.')}`]({c.name}.md) {title_of(c, edition)}"
        for c in chapters
        if c.modules and c.name != "preface"
    ]
    return "\n" + "\n".join(rows) + "\n"


def weave(chapter: Chapter, edition: str) -> str:
    """The chapter as Material for MkDocs reads it, for edition `zh` or `en`."""
    parts = [
        _twins(part.zh.text, part.en.text, edition)
        if isinstance(part, Twin)
        else _shared(chapter, part, edition)
        for part in chapter.parts
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def headings(chapter: Chapter) -> Iterator[tuple[Block, str]]:
    """Each block with a title in it and the id of the heading above it."""
    above = ""
    for block in chapter.blocks:
        if block.kind == "heading":
            above = heading(block)[2]
        elif block.title:
            yield block, above


def _twins(zh: str, en: str, edition: str) -> str:
    halves = [("zh", join_lines(zh)), ("en", en)]
    if edition == "en":
        halves.reverse()
    sections = [
        f'<section lang="{lang}" markdown="block"{"" if lang == edition else " " + HIDDEN}>\n\n{text}\n\n</section>'
        for lang, text in halves
    ]
    return '<div class="twins" markdown="block">\n' + "\n".join(sections) + "\n</div>"


def _short(zh: str, en: str, edition: str) -> str:
    """Both sides of a short string, in line, the other language hidden."""
    if zh == en:
        return zh
    ours, theirs, lang = (zh, en, "en") if edition == "zh" else (en, zh, "zh")
    return f'{ours}<small lang="{lang}" {HIDDEN}>{theirs}</small>'


def _shared(chapter: Chapter, block: Block, edition: str) -> str:
    if block.kind == "heading":
        zh, en, id_ = heading(block)
        label = escape(re.sub(r"[`*]", "", zh if edition == "zh" else en))
        marks = block.text.partition(" ")[0]
        shown = _short(zh, en, edition)
        return f'{marks} {shown} {{#{id_} data-toc-label="{label}"}}'
    if block.kind == "open":
        head, _, text = block.text.partition(" | ")
        return f"{head} | {_short(pick(text, 'zh'), pick(text, 'en'), edition)}"
    if block.kind == "meta":
        return ""  # MkDocs has read it
    if block.kind == "figure":
        return _figure(block, edition)
    if block.info == "output":
        fence = block.text.partition("output")[0].strip()
        return f"{fence} {{.text .output .no-copy}}\n{block.body}{fence}"
    if block.info == "glossary":
        return _glossary(block, edition)
    if block.title and block.info.startswith("python"):
        return _module_block(block, edition)
    return block.text


def _module_block(block: Block, edition: str) -> str:
    """A block of the package: imports folded, or with links to the API pages."""
    nodes = ast.parse(block.body).body
    if all(_is_preamble(node) for node in nodes):
        title = _short(pick(FOLDED, "zh"), pick(FOLDED, "en"), edition)
        return f"//// details | {title}\n\n{block.text}\n\n////"
    module = dotted(block.title)
    # A constant has no docstring, and so no place on the API page.
    documented = (ast.ClassDef, ast.FunctionDef)
    public = [n.name for n in nodes if isinstance(n, documented) and n.name[0] != "_"]
    links = " ".join(f"[`{name}`][{module}.{name}]" for name in public)
    return block.text + (f'\n\n<p class="api" markdown="span">API {links}</p>' if links else "")


def _is_preamble(node: ast.stmt) -> bool:
    """Whether it imports, says what is public, or is the docstring of a module."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in ("__all__", "__version__")
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)


def _figure(block: Block, edition: str) -> str:
    alternative, path, caption = FIGURE.findall(block.text)[0]
    image = f"![{pick(alternative, edition)}]({path})"
    shown = _short(pick(caption, "zh"), pick(caption, "en"), edition)
    return (
        f'<figure markdown="span">\n{image}\n'
        f'<figcaption markdown="span">{shown}</figcaption>\n</figure>'
    )


def _glossary(block: Block, edition: str) -> str:
    heads = ("中文", "英文", "不用") if edition == "zh" else ("Chinese", "English", "not")
    table = ["| " + " | ".join(heads) + " |", "|---|---|---|"]
    table += [f"| {zh} | {en} | {'、'.join(no) or '–'} |" for en, zh, no in parse(block)]
    return "\n".join(table)


if __name__ == "__main__":
    write_trees()
