"""The thin layer that knows MkDocs: it points the engine at a woven tree.

The labs alone come as HTML, from mkdocs-jupyter; they are made pages like the others.
"""

import logging
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jieba
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, TableOfContents

from literate import labs
from literate.blocks import pick
from literate.chapter import ROOT
from literate.glossary import glossary


def on_config(config: MkDocsConfig) -> None:
    """Take this edition's tree, and its side of every `中文 | English`."""
    edition = str(config.theme["language"])
    config.docs_dir = str(Path(config.docs_dir).parent / ".cache/woven" / edition)

    def localise(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {localise(key): localise(item) for key, item in value.items()}
        if isinstance(value, list):
            return [localise(item) for item in value]
        return pick(value, edition) if isinstance(value, str) else value

    for key in ("site_name", "site_description", "copyright", "nav", "extra"):
        config[key] = localise(config[key])
    for toggle in config.theme["palette"]:
        toggle["toggle"] = localise(toggle["toggle"])
    jieba.setLogLevel(logging.WARNING)
    for term in glossary():
        jieba.add_word(term.chinese)  # the search shall find a term as a whole


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

    edition = str(config.theme["language"])
    notebook = labs.read(ROOT / "docs" / uri)
    heads = labs.headings(notebook, edition)
    title, *rest = [AnchorLink(text, anchor, level) for level, text, anchor in heads]
    title.children = rest
    page.title = title.title
    page.toc = TableOfContents([title])
    page.meta["notebook"] = f"notebooks/{Path(uri).name}"
    return labs.page(html, notebook, edition, link, config.mdx_configs["toc"]["permalink_title"])
