"""What the bundled translator learnt: the wide grammar, and outliers."""

from attention_book.data.sources import Corpus
from attention_book.generation.confidence import UNSURE
from corpora.wide.grammar import make_wide_split
from corpora.wide.outliers import draw_outliers


__all__ = ["make_wide_corpus"]


def make_wide_corpus(n_test: int = 1000) -> Corpus:
    """Make 250,000 sentences and 150,000 outliers; short ones come five times.

    Short sentences are few, as none is drawn twice.
    """
    train, *tests = make_wide_split(n_train=250_000, n_test=n_test)
    outliers = draw_outliers([english for english, _ in train], 150_000)
    short = [pair for pair in train if len(pair[0].split()) <= 4]
    train += 4 * short + [(text, UNSURE) for text in outliers]
    kinds = ("unseen sentences", "unseen combinations")
    named = dict(zip(kinds, tests, strict=True))
    return Corpus(train, tests[0][:500], named)
