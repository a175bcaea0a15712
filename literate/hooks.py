"""The thin layer that knows MkDocs: it points the engine at a woven tree."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jieba
from mkdocs.config.defaults import MkDocsConfig

from literate.blocks import pick
from literate.glossary import terms


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
    for term in terms():
        jieba.add_word(term.zh)  # the search shall find a term as a whole
