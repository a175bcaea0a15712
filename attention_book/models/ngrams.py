# Made from docs/source/text-generation.md (069dc2f09851). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_size


__all__ = ["NGramModel"]


_Table = dict[tuple[int, ...], Counter[int]]  # what follows each context


class NGramModel:
    """Next tokens by counting, with interpolated Kneser–Ney smoothing.

    A context's counts are lowered by a discount D, and what that leaves
    over goes to the context without its first token:

        p(w | h) = (c(hw) - D) / c(h) + D · N(h) / c(h) · p(w | h')

    with N(h) different tokens after h. Below the longest context, c(hw)
    counts the different tokens in front of hw, not hw itself, unless h
    begins with bos_id. The last resort is that all tokens are equally
    likely.

    Args:
        token_ids: The text to count.
        n: The length of an n-gram, one more than the longest context.
        vocab_size: Size of the vocabulary.
        bos_id: The token that begins a sentence, or None for none.

    Raises:
        ValueError: The text is shorter than n, or an id is out of range.

    Source: Chen and Goodman (1999), §2.6 and §2.7. Raw counts at the
        beginning of a sentence are what SRILM's ngram-count has.
    """

    def __init__(
        self,
        token_ids: Sequence[int],
        n: int,
        vocab_size: int,
        *,
        bos_id: int | None = None,
    ) -> None:
        check_size("n", n)
        check_size("vocab_size", vocab_size)
        ids = tuple(token_ids)
        if len(ids) < n:
            raise ValueError(f"wanted {n} tokens or more, got {len(ids)}")
        if not 0 <= min(ids) <= max(ids) < vocab_size:
            raise ValueError(
                f"token_ids must be from 0 to {vocab_size - 1}, got "
                f"{min(ids)} to {max(ids)}"
            )
        self.n = n
        self.vocab_size = vocab_size
        self.tables: list[_Table] = []  # by length of the context
        self.discounts: list[float] = []
        counts = Counter(ids[i : i + n] for i in range(len(ids) - n + 1))
        for length in range(n, 0, -1):
            table: _Table = defaultdict(Counter)
            for gram, count in counts.items():
                table[gram[:-1]][gram[-1]] = count
            self.tables.insert(0, dict(table))
            once, twice = (list(counts.values()).count(k) for k in (1, 2))
            self.discounts.insert(
                0, once / (once + 2 * twice) if once else 0.5
            )
            counts = Counter(gram[1:] for gram in counts)
            counts |= Counter(  # whose raw counts are the larger ones
                ids[i : i + length - 1]
                for i in range(len(ids) - length + 2)
                if length > 2 and ids[i] == bos_id
            )

    def probabilities(self, context: Sequence[int]) -> Float[Tensor, " vocab"]:
        """Return how probable each token is after a context of any length."""
        end = len(context)
        p = torch.ones(self.vocab_size).double() / self.vocab_size
        for k in range(min(self.n - 1, end) + 1):
            counts = self.tables[k].get(tuple(context[end - k :]))
            if not counts:
                break
            discount, total = self.discounts[k], counts.total()
            p *= discount * len(counts) / total
            token_ids = torch.tensor(list(counts))
            found = torch.tensor(list(counts.values())).double()
            p[token_ids] += (found - discount) / total
        return p
