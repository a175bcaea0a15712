# Made from docs/fast/generating-fast.md (1303c4e1853f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book.generation.beam import check_beam, normalize_score
from attention_book.generation.decoder import IncrementalDecoder
from attention_book.generation.fast_generate import drop_finished
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["fast_beam_search"]


class _Beam:
    """The hypotheses of one translation, and the best that has finished."""

    def __init__(
        self, beam_size: int, length_penalty: float, max_length: int
    ) -> None:
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.max_length = max_length
        self.token_ids: list[list[int]] = [[] for _ in range(beam_size)]
        self.log_probs = [0.0] + [-math.inf] * (beam_size - 1)  # all alike
        self.best: tuple[float, list[int]] = (-math.inf, [])
        self.n_finished = 0

    def best_possible_score(self) -> float:
        """What the best hypothesis could reach, if it lost nothing more."""
        best = max(self.log_probs)
        return normalize_score(best, self.max_length, self.length_penalty)

    def is_done(self) -> bool:
        """Whether enough have finished, or none can become better."""
        return (
            self.n_finished >= self.beam_size
            or self.best[0] >= self.best_possible_score()
        )

    def extend(
        self, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[int, int]]:
        """Go on with the best candidates: log-probability, row, next token.

        Returns which row is to be copied into which: a hypothesis stays in
        its row, and where it forks, the others go to rows that are free.
        """
        children: list[tuple[float, int, list[int]]] = []
        for rank, (log_prob, row, token_id) in enumerate(candidates):
            if log_prob == -math.inf:
                break
            token_ids = [*self.token_ids[row], token_id]
            n = len(token_ids)
            if token_id == EOS or n == self.max_length:
                if rank < self.beam_size:  # so that a beam of one is greedy
                    score = normalize_score(log_prob, n, self.length_penalty)
                    self.best = max(self.best, (score, token_ids))
                    self.n_finished += 1
            elif len(children) < self.beam_size:
                children.append((log_prob, row, token_ids))
        parents = {row for _, row, _ in children}
        free = [row for row in range(self.beam_size) if row not in parents]
        self.log_probs = [-math.inf] * self.beam_size
        copies = []
        for log_prob, row, token_ids in children:
            slot = row
            if self.log_probs[row] > -math.inf:  # taken by an elder child
                slot = free.pop()
                copies.append((row, slot))
            self.log_probs[slot] = log_prob
            self.token_ids[slot] = token_ids
        return copies


@torch.inference_mode()
def fast_beam_search(
    decoder: IncrementalDecoder,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> list[list[int]]:
    """Return the best translation found of each source, as beam_search does.

    Source: Wu et al. (2016), §7, without their coverage penalty.
    """
    check_beam(beam_size, length_penalty)
    device = decoder.output.weight.device
    state = decoder.prefill(source, lengths, max_length)
    state.repeat(beam_size)
    beams = [_Beam(beam_size, length_penalty, max_length) for _ in lengths]
    active = beams
    last = torch.full((len(state),), BOS)
    while active:
        logits = decoder.decode_step(state, last.to(device))
        log_probs = logits.float().log_softmax(-1)
        candidates = _best_candidates(log_probs, active)
        copies = [
            (i * beam_size + row, i * beam_size + slot)
            for i, (beam, best) in enumerate(
                zip(active, candidates, strict=True)
            )
            for row, slot in beam.extend(best)
        ]
        state.copy_rows([row for row, _ in copies], [to for _, to in copies])
        owner = [beam for beam in active for _ in range(beam_size)]
        still_active = [not beam.is_done() for beam in owner]
        active = drop_finished(state, still_active, owner)[::beam_size]
        last = torch.tensor(
            [[BOS, *ids][-1] for beam in active for ids in beam.token_ids]
        )
    return [beam.best[1] for beam in beams]


def _best_candidates(
    log_probs: Float[Tensor, "rows vocab"], beams: list[_Beam]
) -> list[list[tuple[float, int, int]]]:
    """Return each beam's best next tokens: log-probability, row, token.

    Twice the beam size of them: as many may be `<eos>`, one from each row.
    """
    beam_size = beams[0].beam_size
    vocab_size = log_probs.shape[-1]
    so_far = torch.tensor([beam.log_probs for beam in beams])
    so_far = so_far.to(log_probs.device)[..., None]
    totals = so_far + log_probs.view(len(beams), beam_size, vocab_size)
    n_candidates = min(2 * beam_size, beam_size * vocab_size)
    best, indices = totals.flatten(1).topk(n_candidates)
    rows = indices // vocab_size
    token_ids = indices % vocab_size
    return [
        list(zip(*row, strict=True))
        for row in zip(
            best.tolist(), rows.tolist(), token_ids.tolist(), strict=True
        )
    ]
