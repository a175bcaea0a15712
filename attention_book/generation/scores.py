# Made from docs/source/confidence.md (3b8d1de1c7ec). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Scores of translations. Explained in "Translating real sentences"."""

from collections.abc import Sequence
from typing import NamedTuple

from attention_book._checks import check_texts


__all__ = ["Scores", "score"]


class Scores(NamedTuple):
    """How good translations are, each from 0 to 100."""

    exact: float  # percentage that equals the reference
    bleu: float
    chrf: float


def score(outputs: Sequence[str], references: Sequence[str]) -> Scores:
    """Compare Chinese translations with one reference each.

    Source: Papineni et al. (2002) for BLEU, Popović (2015) for chrF, both as
        sacrebleu counts them (Post, 2018).
    """
    try:
        import sacrebleu
    except ImportError:
        raise ImportError("run first: pip install sacrebleu") from None
    check_texts("outputs", outputs)
    check_texts("references", references)
    if not outputs or len(outputs) != len(references):
        raise ValueError(
            "wanted one reference for each of one or more outputs, "
            f"got {len(references)} for {len(outputs)}"
        )
    pairs = zip(outputs, references, strict=True)
    n_exact = sum(output == reference for output, reference in pairs)
    streams = [list(references)]  # sacrebleu takes several references
    return Scores(
        100 * n_exact / len(outputs),
        sacrebleu.corpus_bleu(outputs, streams, tokenize="zh").score,
        sacrebleu.corpus_chrf(outputs, streams).score,
    )
