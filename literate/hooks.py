"""The thin layer that knows MkDocs: it points the engine at a woven tree."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

from literate import ROOT
from literate.blocks import pick
from literate.finish import finish


def on_config(config: MkDocsConfig) -> None:
    """Take this edition's tree, and its side of every `中文 | English`."""
    edition = str(config.theme["language"])
    config.docs_dir = str(Path(config.docs_dir).parent / ".cache/woven" / edition)

    api = {f"api/{path.name}" for path in Path(config.docs_dir, "api").glob("*.md")}
    made = sorted(api - {"api/index.md"})

    def localise(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {localise(key): localise(item) for key, item in value.items()}
        if isinstance(value, list):  # after the package's page, those made from the chapters
            return [localise(item) for item in value] + (made if "api/index.md" in value else [])
        return pick(value, edition) if isinstance(value, str) else value

    for key in ("site_name", "site_description", "copyright", "nav", "extra"):
        config[key] = localise(config[key])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.extra["repository"] = project.get("urls", {}).get("Source", "")


def on_page_content(html: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Set the formulas, and lighten the code."""
    edition = str(config.theme["language"])
    if edition == "zh":  # the one word that mkdocstrings does not translate
        html = html.replace("  Bases: <code>", "  基类：<code>")
    try:
        return finish(html, edition, Path(config.docs_dir, page.url))
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from None
