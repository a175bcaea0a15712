# Made from docs/source/texts.md (cd826ae52116). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Cleaning of sentence pairs. Explained on the page "Real corpora"."""

import random
import unicodedata
from collections.abc import Iterable, Sequence

from attention_book.data.readers import Pair
from attention_book.data.similarity import SimilarTexts, dedup_key


__all__ = ["clean", "split_pairs"]


_INVISIBLE = dict.fromkeys(map(ord, "\u200b\ufeff"))  # spaces of no width


def _normalize(text: str) -> str:
    """Return a text in NFC, with single spaces."""
    text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    return " ".join(text.split())


def clean(pairs: Iterable[Pair], max_length: int = 200) -> list[Pair]:
    """Keep what can be learnt from, once.

    Args:
        pairs: As they were found.
        max_length: The most characters on either side.
    """
    kept: dict[Pair, None] = {}
    for pair in pairs:
        source, target = map(_normalize, pair)
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

    A group is drawn as often as it has pairs. Groups of more than a twentieth
    of the test are not drawn.

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
