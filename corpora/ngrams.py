"""N-gram models with Kneser–Ney smoothing, to compare language models with."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


__all__ = ["NGramModel"]


class NGramModel:
    """Next tokens by counting, with interpolated Kneser–Ney smoothing.

    The discount is n_1 / (n_1 + 2 n_2), with n_1 and n_2 the numbers of
    n-grams seen once and twice. Contexts that begin with bos_id have raw
    counts, as in front of it there is nothing, or always `<eos>`. The last
    resort is that all tokens are equally likely.

    Args:
        token_ids: The text to count.
        n: The length of an n-gram, one more than the longest context.
        vocab_size: Size of the vocabulary.
        bos_id: The token that begins a sentence, or None for none.

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
        ids = tuple(token_ids)
        if not 1 <= n <= len(ids):
            raise ValueError(f"n must be from 1 to {len(ids)} tokens, got {n}")
        if not 0 <= min(ids) <= max(ids) < vocab_size:
            raise ValueError(
                f"token_ids must be from 0 to {vocab_size - 1}, got "
                f"{min(ids)} to {max(ids)}"
            )
        self.n = n
        self.vocab_size = vocab_size
        self.tables: list[dict[tuple[int, ...], Counter[int]]] = []
        self.discounts: list[float] = []
        counts = Counter(ids[i : i + n] for i in range(len(ids) - n + 1))
        for length in range(n, 0, -1):
            table: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
            for gram, count in counts.items():
                table[gram[:-1]][gram[-1]] = count
            once, twice = (list(counts.values()).count(k) for k in (1, 2))
            discount = once / (once + 2 * twice) if once else 0.5
            self.tables.insert(0, dict(table))  # by length of the context
            self.discounts.insert(0, discount)
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
