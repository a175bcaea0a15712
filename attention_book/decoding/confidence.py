# Made from docs/chapters/54-confidence.md (ead5b5fbb2db). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.corpus.batches import pad
from attention_book.corpus.special_tokens import BOS
from attention_book.transformer import Transformer


__all__ = ["Calibration", "Translation", "sequence_log_probs"]


class Translation(NamedTuple):
    """A translation, and how far to trust it."""

    text: str
    confidence: float  # from 0 to 1: how likely it is right
    is_sure: bool


class Calibration(NamedTuple):
    """Turns a model's log-probability into how likely it is right.

    confidence = σ(scale · ln(p / (1 - p)) + offset). The default leaves p as
    it is, and is sure of everything.

    Source: Platt (1999), on the log-odds.
    """

    scale: float = 1.0
    offset: float = 0.0
    threshold: float = 0.0  # sure from here on

    def confidence(self, log_prob: float) -> float:
        """Return the calibrated probability."""
        p = min(math.exp(log_prob), 1 - 1e-6)
        log_odds = log_prob - math.log1p(-p)
        x = self.scale * log_odds + self.offset
        return 1 / (1 + math.exp(min(-x, 700)))


@torch.no_grad()
def sequence_log_probs(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> list[float]:
    """Return ln p(target | source) of each pair, in one pass.

    Args:
        model: In eval mode.
        sources: Token ids.
        targets: Token ids without <bos>, usually with <eos>.
    """
    device = model.target_embedding.tokens.weight.device
    source, source_lengths = pad(sources)
    target, target_lengths = pad([[BOS, *ids] for ids in targets])
    target = target.to(device)
    logits: Tensor = model(
        source.to(device), source_lengths.to(device), target[:, :-1]
    )
    log_probs = logits.float().log_softmax(-1)
    labels = target[:, 1:, None]
    chosen = log_probs.gather(-1, labels)[..., 0]
    positions = torch.arange(labels.shape[1], device=device)
    is_real = positions < (target_lengths - 1).to(device)[:, None]
    return chosen.masked_fill(~is_real, 0).sum(-1).tolist()
