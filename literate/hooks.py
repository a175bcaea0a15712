"""The thin layer that knows MkDocs: weave each page, add notebooks, link both ways."""

import logging
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import griffe
import jieba
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, TableOfContents

from literate import labs, ran
from literate.blocks import ChapterError, heading, pick
from literate.chapter import CHAPTERS, Chapter, dotted, names, read, read_all
from literate.export import export
from literate.prose import glossary
from literate.weave import headings, weave


def _edition(config: MkDocsConfig) -> str:
    return str(config.theme["language"])


def on_config(config: MkDocsConfig) -> None:
    """Take this edition's side of every `中文 | English` in the configuration."""

    def localise(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {localise(key): localise(item) for key, item in value.items()}
        if isinstance(value, list):
            return [localise(item) for item in value]
        return pick(value, _edition(config)) if isinstance(value, str) else value

    jieba.setLogLevel(logging.WARNING)
    for _, chinese, _ in glossary():
        jieba.add_word(chinese)  # the search shall find a term as a whole
    for key in ("site_name", "site_description", "copyright", "nav", "extra"):
        config[key] = localise(config[key])
    for toggle in config.theme["palette"]:
        toggle["toggle"] = localise(toggle["toggle"])


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add a notebook for each chapter; refuse chapters whose code did not pass."""
    try:
        chapters = read_all()
    except ChapterError as error:
        raise PluginError(str(error)) from None
    for chapter in chapters:
        if not ran.fresh(chapter):
            raise PluginError(
                f"{chapter.path.as_posix()}:1: has not passed as it stands; run: nox -s doctests"
            )
        uri = f"notebooks/{chapter.path.stem}.ipynb"
        files.append(File.generated(config, uri, content=export(chapter, _edition(config))))
    for path in sorted(labs.LABS.glob("*.ipynb")):
        notebook = labs.in_edition(labs.read(path), _edition(config))
        text = nbformat.writes(notebook) + "\n"
        files.append(File.generated(config, f"notebooks/{path.name}", content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Weave the page; its first heading is its title."""
    if page.file.src_uri.endswith(".ipynb"):
        return markdown  # a lab: mkdocs-jupyter reads it
    edition = _edition(config)
    path = Path("docs", page.file.src_uri)
    # MkDocs has cut the front matter off: read the file itself, so that lines are right.
    chapter = read(path)
    try:
        woven = weave(chapter, edition)
    except ChapterError as error:
        raise PluginError(str(error)) from None
    first = next((b for b in chapter.blocks if b.kind == "heading"), None)
    if first and "title" not in page.meta and not page.is_homepage:
        zh, en, _ = heading(first)
        page.meta["title"] = (zh if edition == "zh" else en).replace("`", "")
    if path.parent == CHAPTERS:
        page.meta["notebook"] = f"notebooks/{path.stem}.ipynb"
    return woven


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the notebook of a lab into a page like the others."""
    uri = page.file.src_uri
    if not uri.endswith(".ipynb"):
        return html

    def link(target: str) -> str:
        path, _, anchor = target.partition("#")
        there = files.get_file_from_path(posixpath.normpath(f"{uri}/../{path}"))
        if there is None:
            raise PluginError(f"docs/{uri}: leads to {target}, which is not there")
        return there.url_relative_to(page.file) + (anchor and f"#{anchor}")

    notebook = labs.read(Path("docs", uri))
    heads = labs.headings(notebook, _edition(config))
    title, *rest = [AnchorLink(text, anchor, level) for level, text, anchor in heads]
    title.children = rest
    page.title = title.title
    page.toc = TableOfContents([title])
    page.meta["notebook"] = f"notebooks/{Path(uri).name}"
    permalink = config.mdx_configs["toc"]["permalink_title"]
    return labs.page(html, notebook, _edition(config), link, permalink)


class ChapterLinks(griffe.Extension):
    """Begin the docstring of each object with a link to the place that defines it."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.places: dict[tuple[str, str], tuple[Chapter, str]] = {}
        for chapter in read_all():
            for block, anchor in headings(chapter):
                for name in names(block.body, chapter.path, block.line, imports=False):
                    self.places[dotted(block.title), name] = chapter, anchor

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        del kwargs
        if obj.is_module or obj.parent is None or not obj.parent.is_module:
            return
        found = self.places.get((obj.module.path, obj.name))
        if found and obj.docstring:
            chapter, anchor = found
            first = next(b for b in chapter.blocks if b.kind == "heading")
            title = heading(first)[self.language == "en"]
            word = "出自" if self.language == "zh" else "From"
            obj.docstring.value += (
                f"\n\n{word} [{title}](../{CHAPTERS.name}/{chapter.path.name}#{anchor})\n"
            )
