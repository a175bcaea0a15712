# Made from docs/chapters/36-fast-decoding.md (e8bf5796fc56). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.corpus.special_tokens import BOS, EOS
from attention_book.fast_decoding.decoder import IncrementalDecoder
from attention_book.fast_decoding.generate import drop_finished
from attention_book.fast_decoding.state import Lengths, Table


def length_penalty(score: float, n: int, alpha: float) -> float:
    """Make scores of n words comparable; Wu et al. (2016), eq. 14."""
    return float(score / ((5 + n) / 6) ** alpha)


class Beam:
    """The best beginnings of one translation, and the best that has ended."""

    def __init__(self, size: int, alpha: float, max_length: int) -> None:
        self.size = size
        self.alpha = alpha
        self.max_length = max_length
        self.words: list[list[int]] = [[] for _ in range(size)]
        self.scores = [0.0] + [-math.inf] * (size - 1)  # all alike at first
        self.best: tuple[float, list[int]] = (-math.inf, [])
        self.n_ended = 0

    def is_done(self) -> bool:
        """Whether size have ended, or no beginning can become better."""
        hope = length_penalty(max(self.scores), self.max_length, self.alpha)
        return self.n_ended >= self.size or self.best[0] >= hope

    def extend(
        self, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[int, int]]:
        """Go on with the best candidates: score, row, next word; best first.

        Returns which row is to be copied into which: a beginning stays in
        its row, and where it forks, the others go to rows that died.
        """
        children: list[tuple[float, int, list[int]]] = []
        for place, (score, row, word) in enumerate(candidates):
            words = [*self.words[row], word]
            if word == EOS or len(words) == self.max_length:
                if place < self.size:  # so that one is greedy
                    ended = length_penalty(score, len(words), self.alpha)
                    self.best = max(self.best, (ended, words))
                    self.n_ended += 1
            elif len(children) < self.size and score > -math.inf:
                children.append((score, row, words))
        parents = {row for _, row, _ in children}
        free = [row for row in range(self.size) if row not in parents]
        self.scores = [-math.inf] * self.size
        copies = []
        for score, row, words in children:
            seat = row
            if self.scores[row] > -math.inf:  # an elder child sits here
                seat = free.pop()
                copies.append((row, seat))
            self.scores[seat] = score
            self.words[seat] = words
        return copies


@torch.inference_mode()
def beam_search(
    decoder: IncrementalDecoder,
    source: Table,
    lengths: Lengths,
    *,
    max_length: int,
    size: int = 4,
    alpha: float = 0.6,
) -> list[list[int]]:
    """Write the best translation of each source that is found.

    size beginnings are kept; a larger alpha favours longer ones.

    Source: Wu et al. (2016), §7, without their coverage penalty.
    """
    if size < 1 or alpha < 0:
        raise ValueError(
            f"wanted size > 0 and alpha >= 0, got {size} and {alpha}"
        )
    writing = decoder.start(source, lengths, max_length)
    writing.repeat(size)
    home = writing.words.device
    beams = [Beam(size, alpha, max_length) for _ in lengths]
    going = beams
    words = torch.full((len(writing),), BOS)
    while going:
        scores = decoder.step(writing, words.to(home)).float().log_softmax(-1)
        candidates = best_candidates(scores, going)
        copies = [
            (i * size + row, i * size + seat)
            for i, (beam, best) in enumerate(
                zip(going, candidates, strict=True)
            )
            for row, seat in beam.extend(best)
        ]
        writing.copy([row for row, _ in copies], [seat for _, seat in copies])
        rows = [beam for beam in going for _ in range(size)]
        stay = [not beam.is_done() for beam in rows]
        going = drop_finished(writing, stay, rows)[::size]
        last = [[BOS, *w][-1] for beam in going for w in beam.words]
        words = torch.tensor(last)
    return [beam.best[1] for beam in beams]


def best_candidates(
    scores: Float[Tensor, "rows n_words"], beams: list[Beam]
) -> list[list[tuple[float, int, int]]]:
    """Return each beam's best next words: score so far, row, word.

    Twice its size of them: as many may be <eos>, one from each row.
    """
    size = beams[0].size
    n_words = scores.shape[-1]
    before = torch.tensor([beam.scores for beam in beams]).to(scores.device)
    scores = before[..., None] + scores.view(len(beams), size, n_words)
    best, places = scores.flatten(1).topk(min(2 * size, size * n_words))
    rows = places // n_words
    words = places % n_words
    return [
        list(zip(*row, strict=True))
        for row in zip(
            best.tolist(), rows.tolist(), words.tolist(), strict=True
        )
    ]
