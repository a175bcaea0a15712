# Made from docs/source/texts.md (e3292d471395). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Cleaning of sentence pairs. Explained on the page "Real corpora"."""

import random
import re
import unicodedata
from collections.abc import Iterable, Sequence

from attention_book.data.readers import Pair
from attention_book.data.similarity import SimilarTexts, dedup_key


__all__ = ["clean", "split_pairs"]


_SHORTCUT = r"\s*[(（][_&](\w)[)）]"  # 打开(_O)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\ufeff"))  # spaces of no width


def _normalize(text: str, shortcut: str = "") -> str:
    """Return a message in NFC, with single spaces and no shortcut mark.

    Args:
        text: The message.
        shortcut: Its shortcut key, if its translation names one: without it
            the marks of _Open and E&xit stay, as R&D and pg_dump must.
    """
    text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    text = re.sub(_SHORTCUT, "", text)
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
    kept: dict[Pair, None] = {}
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
            kept[source, target] = None
    return list(kept)


def _group(
    first: int,
    pairs: Sequence[Pair],
    similar: Sequence[SimilarTexts],
    max_size: int,
) -> set[int]:
    """Return all pairs that near copies lead to, or more than max_size."""
    group = {first}
    new = [first]
    while new and len(group) <= max_size:
        pair = pairs[new.pop()]
        for texts, text in zip(similar, pair, strict=True):
            found = {*texts.near(text)} - group
            group |= found
            new += sorted(found)
    return group


def split_pairs(
    pairs: Sequence[Pair], n_test: int, seed: int = 0
) -> tuple[list[Pair], list[Pair]]:
    """Draw pairs for testing, with all that is nearly like them.

    Groups of more than a twentieth of the test are not drawn.

    Returns:
        The training pairs, and n_test test pairs. No training pair is a near
        copy of a test pair, neither its source nor its target.

    Raises:
        ValueError: There are not enough such pairs, or none is left to train
            on.
    """
    similar = [SimilarTexts(side) for side in zip(*pairs, strict=True)]
    order = random.Random(seed).sample(range(len(pairs)), len(pairs))
    max_size = max(1, n_test // 20)
    test: list[int] = []
    seen = set[int]()
    for first in order:
        if len(test) == n_test:
            break
        if first not in seen:
            group = _group(first, pairs, similar, max_size)
            seen |= group
            if len(group) <= min(max_size, n_test - len(test)):
                test += sorted(group)
    held_out = {*test}
    train = [i for i in order if i not in held_out]
    if len(test) < n_test or not train:
        raise ValueError(
            f"wanted {n_test} pairs to test on and others, unlike them, to "
            f"train on, got {len(test)} and {len(train)} of {len(pairs)}"
        )
    return [pairs[i] for i in train], [pairs[i] for i in test]
