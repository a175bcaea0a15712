# Made from docs/transformer/real-text.md (1bdd06243651). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Which way to translate. Explained in "Translating real sentences"."""

import re


__all__ = ["DIRECTIONS", "space_scripts", "with_direction"]


DIRECTIONS = ("<2en>", "<2zh>")  # what a source begins with

_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]"


def space_scripts(text: str) -> str:
    """Put a space between Chinese characters and Latin letters or digits."""
    return re.sub(
        rf"(?<={_HAN})(?=[A-Za-z\d])|(?<=[A-Za-z\d])(?={_HAN})", " ", text
    )


def with_direction(text: str) -> str:
    """Return a source as the model reads it: Chinese is to become English.

    A text that begins with a token of direction keeps it.

    Source: Johnson et al. (2017), §3.
    """
    if not text.startswith(DIRECTIONS):
        to_english, to_chinese = DIRECTIONS
        is_chinese = re.search(_HAN, text)
        text = f"{to_english if is_chinese else to_chinese}{text}"
    return space_scripts(text)
