# Made from docs/source/mask-predict.md (9428d27bc57f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The loss of mask-predict, from "Non-autoregressive decoding"."""

from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_book._checks import check_lengths
from attention_book.attention.functional import padding_mask
from attention_book.models.mask_predict import MaskedTransformer
from attention_book.training.loading import Batch


__all__ = ["mask_predict_loss", "random_mask"]


def random_mask(
    lengths: Int[Tensor, " batch"],
    max_length: int,
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "batch {max_length}"]:
    """Mask from 1 to all tokens of each row, every number equally likely.

    Args:
        lengths: How many tokens of each row are real.
        max_length: Length of the rows, padding included.
        generator: The random generator, on any device.

    Returns:
        True = masked.

    Source: Ghazvininejad et al. (2019), §2.2.
    """
    real = padding_mask(lengths, max_length)[:, 0, 0]
    device = lengths.device if generator is None else generator.device
    rand = partial(torch.rand, generator=generator, device=device)
    k = 1 + (rand(len(lengths)).to(lengths.device) * lengths).long()
    scores = rand(real.shape).to(lengths.device)
    ranks = scores.masked_fill(~real, torch.inf).argsort(1).argsort(1)
    return ranks < k[:, None]


def mask_predict_loss(
    model: MaskedTransformer,
    batch: Batch,
    label_smoothing: float = 0.0,
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the masked tokens, plus a tenth of the length's.

    Args:
        model: Predicts the masked tokens.
        batch: Sentence pairs.
        label_smoothing: Of the tokens; the length has none.
        generator: The random generator of the mask.

    Raises:
        ValueError: A translation is empty or longer than max_target_length.

    Source: Ghazvininejad et al. (2019), §2.2 and §2.3.
    """
    target = batch.target[:, 1:]
    lengths = batch.target_lengths - 2  # without <bos> and <eos>
    check_lengths("target lengths", lengths, model.max_target_length)
    masked = random_mask(lengths, target.shape[1], generator)
    memory, mask = model.encode(batch.source, batch.source_lengths)
    logits = model.fill_in(target, masked, lengths, memory, mask)
    token_loss = F.cross_entropy(
        logits.float(), target[masked], label_smoothing=label_smoothing
    )
    length_logits = model.score_lengths(memory, mask)
    length_loss = F.cross_entropy(length_logits, lengths - 1)
    return token_loss + 0.1 * length_loss
