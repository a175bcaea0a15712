# Made from docs/transformer/beam-search.md (d832c7933dc8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Beam search. Explained in "Beam search and exact search"."""

import math

import torch

from attention_book._checks import check_number, check_size
from attention_book.generation.decoder import (
    CachedDecoder,
    Lengths,
    Logits,
    Source,
    StepDecoder,
)
from attention_book.generation.generate import Hypothesis, rows_to_keep
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import EOS, PAD


__all__ = ["beam_search"]


_Candidate = tuple[float, int, int]  # log-probability, row, next token


class _Beam:
    """The hypotheses of one translation, and the best that has finished."""

    def __init__(
        self, size: int, length_penalty: float, max_length: int
    ) -> None:
        self.length_penalty = length_penalty
        self.max_length = max_length
        self.rows = [Hypothesis() for _ in range(size)]
        self.totals = [0.0] + [-math.inf] * (size - 1)  # all alike
        self.best = (-math.inf, Hypothesis())  # its score first

    def score(self, log_prob: float, length: int) -> float:
        """Make log-probabilities of any length comparable.

        Source: Wu et al. (2016), eq. 14; length_penalty is its α.
        """
        return float(log_prob / ((5 + length) / 6) ** self.length_penalty)

    def is_done(self) -> bool:
        """Whether none can become better; a beam of one is greedy search."""
        score, best = self.best
        if len(self.rows) == 1:
            return len(best) > 0
        return score >= self.score(max(self.totals), self.max_length)

    def extend(self, candidates: list[_Candidate]) -> list[int]:
        """Go on with the best candidates; return each row's parent."""
        children: list[tuple[float, int, Hypothesis]] = []
        for rank, (total, row, token_id) in enumerate(candidates):
            if total == -math.inf:
                break
            child = Hypothesis([*self.rows[row], token_id], total)
            if token_id == EOS or len(child) == self.max_length:
                if rank < len(self.rows):  # so that a beam of one is greedy
                    score = self.score(total, len(child))
                    self.best = max(self.best, (score, child))
            elif len(children) < len(self.rows):
                children.append((total, row, child))
        return self._place(children)

    def _place(
        self, children: list[tuple[float, int, Hypothesis]]
    ) -> list[int]:
        """Leave each child in its parent's row, or if taken in a free one."""
        parents = list(range(len(self.rows)))
        taken = {parent for _, parent, _ in children}
        free = [row for row in parents if row not in taken]
        self.totals = [-math.inf] * len(parents)
        for total, parent, child in children:
            is_taken = self.totals[parent] > -math.inf
            row = free.pop() if is_taken else parent
            parents[row] = parent
            self.totals[row] = total
            self.rows[row] = child
        return parents


@torch.inference_mode()
def beam_search(
    model: StepDecoder | Transformer,
    source: Source,
    lengths: Lengths,
    *,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> list[Hypothesis]:
    """Return the best translation found of each source.

    Args:
        model: As in generate, and so are the other arguments.
        beam_size: How many hypotheses are kept of each translation.
        length_penalty: A larger one favours longer translations.

    Source: Wu et al. (2016), §7, without their coverage penalty.
    """
    check_size("max_length", max_length)
    check_size("beam_size", beam_size)
    check_number("length_penalty", length_penalty)
    if not length_penalty >= 0:
        raise ValueError(
            f"length_penalty must be at least 0, got {length_penalty}"
        )
    decoder = CachedDecoder(model) if isinstance(model, Transformer) else model
    state, logits = decoder.prefill(source, lengths, max_length)
    beams = [_Beam(beam_size, length_penalty, max_length) for _ in source]
    active = beams
    rows = [i for i in range(len(beams)) for _ in range(beam_size)]
    state.keep(rows)
    logits = logits[rows]
    while active:
        candidates = _best_candidates(logits, active)
        parents = [
            beam.extend(best)
            for beam, best in zip(active, candidates, strict=True)
        ]
        kept = rows_to_keep([not beam.is_done() for beam in active])
        active = [active[i] for i in kept]
        if active:
            rows = [i * beam_size + row for i in kept for row in parents[i]]
            state.keep(rows)
            last = [[PAD, *row][-1] for beam in active for row in beam.rows]
            logits = state.step(torch.tensor(last, device=logits.device))
    return [beam.best[1] for beam in beams]


def _best_candidates(
    logits: Logits, beams: list[_Beam]
) -> list[list[_Candidate]]:
    """Return each beam's best candidates.

    Twice the beam size of them: as many may be `<eos>`, one from each row.
    """
    n, size, vocab_size = len(beams), len(beams[0].rows), logits.shape[-1]
    log_probs = logits.float().view(n, size, vocab_size).log_softmax(-1)
    so_far = torch.tensor([beam.totals for beam in beams]).to(logits.device)
    totals = (so_far[..., None] + log_probs).flatten(1)
    best, indices = totals.topk(min(2 * size, size * vocab_size))
    columns = best, indices // vocab_size, indices % vocab_size
    return [
        list(zip(*row, strict=True))
        for row in zip(*(x.tolist() for x in columns), strict=True)
    ]
