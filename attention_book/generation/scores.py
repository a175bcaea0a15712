# Made from docs/transformer/scores.md (8b821e97cf6d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Scores of translations. Explained in "Scoring translations"."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attention_book._checks import check_texts


__all__ = ["Scores", "references_of", "score"]


class Scores(NamedTuple):
    """How good translations are, each from 0 to 100."""

    exact: float  # percentage that equals a reference
    bleu: float
    chrf: float


def references_of(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each different source with all of its translations."""
    found: dict[str, list[str]] = {}
    for source, target in pairs:
        found.setdefault(source, []).append(target)
    return found


def score(
    outputs: Sequence[str], references: Sequence[str | Sequence[str]]
) -> Scores:
    """Compare translations with one or several references each.

    BLEU counts characters of Chinese, and words of other languages.

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
    each = [[x] if isinstance(x, str) else list(x) for x in references]
    n_exact = sum(x in known for x, known in zip(outputs, each, strict=True))
    streams = [  # the first reference of each, the second of each, …
        [known[i] if i < len(known) else "" for known in each]
        for i in range(max(map(len, each)))
    ]
    return Scores(
        100 * n_exact / len(outputs),
        sacrebleu.corpus_bleu(outputs, streams, tokenize="zh").score,
        sacrebleu.corpus_chrf(outputs, streams).score,
    )
