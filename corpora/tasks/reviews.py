"""Short reviews, whose verdict may be a matter of word order alone."""

import itertools
import random
from typing import NamedTuple


__all__ = ["Review", "make_reviews"]


_NOUNS = """
    room bed desk chair lamp bath hall lift food coffee tea soup
    bread shop bar pool garden view house train bus boat park street
""".split()
_OPPOSITES = "clean/dirty cheap/dear lovely/ugly safe/risky good/bad".split()
_FORMS = [  # what is said with a word or its opposite, and whether it holds
    ("plain", "the {noun} was {word} .", True),
    ("negation", "the {noun} was not {word} .", False),
    ("negation", "the {noun} was never {word} .", False),
    ("negation", "nobody says the {noun} was {word} .", False),
    ("double", "nobody says the {noun} was not {word} .", True),
    ("contrast", "the {noun} was {word} , not {opposite} .", True),
    ("contrast", "the {noun} was not {word} but {opposite} .", False),
]


class Review(NamedTuple):
    """A review of one sentence."""

    text: str  # tokens, with spaces between them
    is_positive: bool
    form: str  # plain, negation, double or contrast


def _review(noun: str, good: str, bad: str) -> list[Review]:
    """All that can be said of a noun with two opposite words."""
    return [
        Review(
            text.format(noun=noun, word=word, opposite=opposite),
            holds == (word == good),
            form,
        )
        for form, text, holds in _FORMS
        for word, opposite in ((good, bad), (bad, good))
    ]


def make_reviews(seed: int = 0) -> tuple[list[Review], list[Review]]:
    """Return reviews for training, and for a test with nouns and words apart.

    A fifth of the pairs of a noun and two opposite words is in the test.
    """
    topics = list(itertools.product(_NOUNS, _OPPOSITES))
    random.Random(seed).shuffle(topics)
    reviews = [_review(noun, *words.split("/")) for noun, words in topics]
    n_test = len(reviews) // 5
    test, training = reviews[:n_test], reviews[n_test:]
    return [*itertools.chain(*training)], [*itertools.chain(*test)]
