# Made from docs/source/confidence.md (f98d50355d03). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.data.batches import pad
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS


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

    Source: Platt (1999), §2, on the model's log-odds.
    """

    scale: float = 1.0
    offset: float = 0.0
    threshold: float = 0.0  # sure from here on

    def confidence(self, log_prob: float) -> float:
        """Return the calibrated probability."""
        x = self.scale * _log_odds(log_prob) + self.offset
        return 1 / (1 + math.exp(min(-x, 700)))

    @classmethod
    def train(
        cls,
        log_probs: Sequence[float],
        right: Sequence[bool],
        threshold: float = 0.0,
    ) -> "Calibration":
        """Fit scale and offset by logistic regression.

        Args:
            log_probs: What the model gave to its translations.
            right: Which of them were right.
            threshold: Of the new calibration.
        """
        x = torch.tensor([_log_odds(log_prob) for log_prob in log_probs])
        n_right, n_wrong = sum(right), len(right) - sum(right)
        smoothed = (1 / (n_wrong + 2), (n_right + 1) / (n_right + 2))
        labels = torch.tensor([smoothed[is_right] for is_right in right])
        line = torch.tensor([1.0, 0.0], requires_grad=True)
        optimizer: Any = torch.optim.LBFGS([line], max_iter=100)

        def loss() -> Tensor:
            optimizer.zero_grad()
            found = F.binary_cross_entropy_with_logits(
                line[0] * x + line[1], labels
            )
            torch.autograd.backward(found)
            return found

        optimizer.step(loss)
        scale, offset = line.tolist()
        return cls(scale, offset, threshold)


def _log_odds(log_prob: float) -> float:
    """Return ln(p / (1 - p)), where p is kept below 1 - 1e-6."""
    p = min(math.exp(log_prob), 1 - 1e-6)
    return log_prob - math.log1p(-p)


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
        targets: Token ids without `<bos>`, usually with `<eos>`.
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
