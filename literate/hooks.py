"""The thin layer that knows MkDocs: it points the engine at a woven tree."""

import posixpath
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from markdown.extensions.toc import nest_toc_tokens  # type: ignore[import-untyped]
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc

from literate import ROOT, labs
from literate.blocks import pick
from literate.finish import finish
from literate.release import version


HEAD = re.compile(r'<h([1-4]) id="([^"]+)">(.*?)<a class="headerlink"', re.DOTALL)


def on_config(config: MkDocsConfig) -> None:
    """Take this edition's tree, and its side of every `中文 | English`."""
    edition = str(config.theme["language"])
    config.docs_dir = str(Path(config.docs_dir).parent / ".cache/woven" / edition)

    autorefs: Any = config.plugins["autorefs"]
    autorefs.scan_toc = False  # or set[…] in a signature led to a heading
    for key in ("site_name", "site_description", "copyright", "nav", "extra"):
        config[key] = localise(config[key], edition, api_pages(config.docs_dir))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.extra["version"] = version()
    config.extra["repository"] = project.get("urls", {}).get("Source", "")


def api_pages(tree: str) -> list[str]:
    """The pages of the package that are made from the chapters."""
    made = {f"api/{path.name}" for path in Path(tree, "api").glob("*.md")}
    return sorted(made - {"api/index.md"})


def localise(value: Any, edition: str, made: list[str]) -> Any:
    """Take an edition's side of every `中文 | English`; after the package's page, those made."""
    if isinstance(value, Mapping):
        return {
            localise(key, edition, made): localise(item, edition, made)
            for key, item in value.items()
        }
    if isinstance(value, list):
        more = made if "api/index.md" in value else []
        return [localise(item, edition, made) for item in value] + more
    return pick(value, edition) if isinstance(value, str) else value


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the formulas, and lighten the code; make a lab a page like the others."""
    edition = str(config.theme["language"])
    if edition == "zh":  # the one word that mkdocstrings does not translate
        html = html.replace("  Bases: <code>", "  基类：<code>")
        html = html.replace(
            '<div class="doc doc-contents', '<div lang="en" class="doc doc-contents'
        )
    try:
        if page.file.src_uri.endswith(".ipynb"):
            html = lab(html, page, config, files)
        return finish(html, edition, Path(config.docs_dir, page.url))
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None


def lab(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A lab as a page like the others, of which MkDocs knows title, headings and links."""
    links: dict[Any, dict[str, str]] = {}

    def link(target: str) -> str:
        path, _, anchor = target.partition("#")
        if ":" in path:
            return target
        place = posixpath.normpath(posixpath.join(page.file.src_uri, "..", path))
        there = files.get_file_from_path(place) if path else page.file
        if not there:
            raise ValueError(f"leads to {target}, which is not there")
        if anchor:  # MkDocs looks for it later
            links.setdefault(there, {})[anchor] = target
        return (there.url_relative_to(page.file) if path else "") + (anchor and f"#{anchor}")

    about = nbformat.read(str(page.file.abs_src_path), as_version=4).metadata[labs.ABOUT]
    ids = about.pop("ids")
    page.meta |= about
    html = labs.page(html, ids, link, config.mdx_configs["toc"]["permalink_title"])
    heads = [
        {"level": int(level), "id": id_, "name": re.sub("<[^>]*>", "", name)}
        for level, id_, name in HEAD.findall(html)
    ]
    page.toc = get_toc(nest_toc_tokens(heads))
    page.present_anchor_ids = set(re.findall(r'\bid="([^"]+)"', html))
    page.links_to_anchors = links
    return html
