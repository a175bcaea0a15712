"""The thin layer that knows MkDocs: it points the engine at a woven tree."""

import logging
import re
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


CODE = re.compile(r"<code>([^<\n]*)</code>")  # within a line: blocks of code have breaks
HYPHENATED = re.compile(r"[^\s&;]*-[^\s&;]+")
LONGEST = 24  # characters that fit into a line on every phone


def on_page_content(html: str, **_: Any) -> str:
    """Keep `--model` on one line: browsers break lines after each hyphen, in code as well."""

    def keep(word: re.Match[str]) -> str:
        is_short = len(word[0]) <= LONGEST
        return f'<span class="together">{word[0]}</span>' if is_short else word[0]

    return CODE.sub(lambda code: f"<code>{HYPHENATED.sub(keep, code[1])}</code>", html)
