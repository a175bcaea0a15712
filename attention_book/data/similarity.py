# Made from docs/source/texts.md (7d2ec9dda626). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Which texts are nearly alike. Explained on the page "Real corpora"."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain


__all__ = ["SimilarTexts", "dedup_key"]


def dedup_key(text: str) -> str:
    """What is left without case, digits, punctuation, placeholders, spaces."""
    text = unicodedata.normalize("NFKC", text)
    placeholder = r"%(\(\w*\))?[-+#\d.$*']*[hlzjtL]*[a-zA-Z]|\{[\w.:!]*\}"
    text = re.sub(placeholder, "", text)
    return re.sub(r"[\W\d_]+", "", text.casefold())


def _trigrams(text: str) -> set[str]:
    """The groups of three characters in a text's deduplication key."""
    key = dedup_key(text)
    return {key[i : i + 3] for i in range(max(1, len(key) - 2))}


class SimilarTexts:
    """Finds those of many texts that are similar to a text.

    Similarity is the Jaccard index of the trigrams of deduplication keys: how
    many of all trigrams both have, from 0 to 1.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._trigrams = [_trigrams(text) for text in texts]
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, trigrams in enumerate(self._trigrams):
            for trigram in trigrams:
                self._where[trigram].append(number)

    def near(self, text: str, least: float = 0.5) -> list[int]:
        """Return the numbers of all texts at least so similar."""
        found = self._similarities(text)
        return sorted(
            n for n, similarity in found.items() if similarity >= least
        )

    def nearest(self, text: str) -> int | None:
        """Return the number of the most similar text, if any is similar."""
        found = self._similarities(text)
        return max(found, key=lambda n: (found[n], -n), default=None)

    def _similarities(self, text: str) -> dict[int, float]:
        """The similarity of each text that shares a trigram."""
        ours = _trigrams(text)
        where = (self._where.get(trigram, ()) for trigram in ours)
        shared = Counter(chain.from_iterable(where))
        return {
            n: both / (len(ours) + len(self._trigrams[n]) - both)
            for n, both in shared.items()
        }
