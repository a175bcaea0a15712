# Made from docs/source/texts.md (0188a5099006). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Cleaning of sentence pairs. Explained on the page "Real corpora"."""

import random
import re
import unicodedata
from collections.abc import Iterable, Sequence

from attention_book.data.readers import Pair


__all__ = ["clean", "dedup_key", "split_pairs"]


_SHORTCUT = r"\s*[(（][_&](\w)[)）]"  # 打开(_O)


def _normalize(text: str, shortcut: str = "") -> str:
    """Return a message in NFC, with single spaces and no shortcut mark.

    Args:
        text: The message.
        shortcut: Its shortcut key, if its translation names one: without it
            the marks of _Open and E&xit stay, as R&D and pg_dump must.
    """
    text = re.sub(_SHORTCUT, "", unicodedata.normalize("NFC", text))
    if shortcut:
        mark = f"[_&](?={shortcut})"
        text = re.sub(mark, "", text, count=1, flags=re.IGNORECASE)
    return " ".join(text.split())


def clean(pairs: Iterable[Pair], max_length: int = 200) -> list[Pair]:
    """Keep what can be learnt from, once.

    Args:
        pairs: As they were found.
        max_length: The most characters on either side.
    """
    kept: dict[str, str] = {}
    for pair in pairs:
        shortcut = re.search(_SHORTCUT, pair[1])
        source = _normalize(pair[0], shortcut[1] if shortcut else "")
        target = _normalize(pair[1])
        source_key = dedup_key(source)
        target_key = dedup_key(target)
        ratio = (len(source) + 9) / (len(target) + 3)  # Chinese is shorter
        if (
            source_key
            and target_key
            and source_key != target_key  # else it is not translated
            and max(len(source), len(target)) <= max_length
            and 1 / 3 < ratio < 9
        ):
            kept.setdefault(source, target)
    return list(kept.items())


def dedup_key(text: str) -> str:
    """What is left without case, digits, punctuation, placeholders, spaces."""
    text = unicodedata.normalize("NFKC", text)
    placeholder = r"%(\(\w*\))?[-+#\d.$*']*[hlzjtL]*[a-zA-Z]|\{[\w.:!]*\}"
    text = re.sub(placeholder, "", text)
    return re.sub(r"[\W\d_]+", "", text.casefold())


def split_pairs(
    pairs: Sequence[Pair], n_test: int, seed: int = 0
) -> tuple[list[Pair], list[Pair]]:
    """Draw pairs for testing, and keep for training what is unlike them.

    Returns:
        The training pairs, and n_test test pairs. They share no source and
        no target, whatever the case, digits, punctuation, placeholders.

    Raises:
        ValueError: No pair is left to train on.
    """
    n = len(pairs)
    shuffled = random.Random(seed).sample(list(pairs), n)
    test = shuffled[:n_test]
    sources = {dedup_key(source) for source, _ in test}
    targets = {dedup_key(target) for _, target in test}
    train = [
        (source, target)
        for source, target in shuffled[n_test:]
        if dedup_key(source) not in sources
        and dedup_key(target) not in targets
    ]
    if not train:
        raise ValueError(
            f"wanted pairs to train on that differ from the {n_test} for "
            "testing in more than case, digits and punctuation, got none "
            f"among {n}"
        )
    return train, test
