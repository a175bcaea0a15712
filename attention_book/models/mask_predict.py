# Made from docs/beyond/denoising.md (3cf5b4f20517). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Mask-predict. Explained in the chapter "Non-autoregressive decoding"."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import check_lengths, check_size
from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import padding_mask
from attention_book.models.config import TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = ["Draft", "MaskedTransformer", "MaskedTransformerConfig", "refine"]


@dataclass(frozen=True, kw_only=True)
class MaskedTransformerConfig(TransformerConfig):
    """A TransformerConfig, and the longest translation.

    Attributes:
        target_vocab_size: One more than the vocabulary has: the last id is
            that of `<mask>`.
        max_target_length: The longest translation, in tokens.
    """

    max_target_length: int = 64


class MaskedTransformer(Transformer):
    """A Transformer that fills in masked tokens of a translation.

    Source: Ghazvininejad et al. (2019), §2. They predict the length from a
        token `<length>` in the source; here it is the sum of the fertilities
        of the source's tokens (Brown et al., 1993), a real number each,
        where Gu et al. (2018), §3.3, predict a class.
    """

    def __init__(self, config: MaskedTransformerConfig) -> None:
        super().__init__(config)
        self.mask_id = config.target_vocab_size - 1
        self.max_target_length = config.max_target_length
        self.fertility = nn.Linear(config.d_model, 1)
        nn.init.ones_(self.fertility.bias)  # at first, a token for a token

    def score_lengths(
        self,
        memory: Float[Tensor, "batch source d_model"],
        memory_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch max_target_length"]:
        """Return the logits of the lengths 1, 2, … of the translations."""
        fertility = self.fertility(memory)[..., 0] * memory_mask[:, 0, 0]
        longest = self.max_target_length
        lengths = torch.arange(1, longest + 1, device=memory.device)
        return -2 * (lengths - fertility.sum(1, keepdim=True)).square()

    def fill_in(
        self,
        target: Int[Tensor, "batch target"],
        masked: Bool[Tensor, "batch target"],
        lengths: Int[Tensor, " batch"],
        memory: Tensor | list[KeyValue],
        memory_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "masked vocab"]:
        """Return the logits of the masked tokens, one row after another."""
        mask = padding_mask(lengths, target.shape[1])
        x = self.target_embedding(target.masked_fill(masked, self.mask_id))
        x = self.decoder(x, memory, memory_mask, mask=mask, is_causal=False)
        return F.linear(x[masked], self.target_embedding.tokens.weight)


class Draft(NamedTuple):
    """The translations after an iteration."""

    token_ids: Int[Tensor, "batch length"]
    log_probs: Float[Tensor, "batch length"]  # 0 for padding
    masked: Bool[Tensor, "batch length"]  # what this iteration predicted


@torch.no_grad()
def refine(
    model: MaskedTransformer,
    memory: Float[Tensor, "batch source d_model"],
    memory_mask: Bool[Tensor, "batch 1 1 source"],
    lengths: Int[Tensor, " batch"],
    iterations: int,
) -> Iterator[Draft]:
    """Predict translations of given lengths; yield each iteration's draft.

    Args:
        model: Predicts the masked tokens; in eval mode.
        memory: What the encoder made of the sources.
        memory_mask: Their padding mask.
        lengths: The lengths of the translations.
        iterations: How often tokens are masked and predicted.

    Source: Ghazvininejad et al. (2019), §3.1.
    """
    check_lengths("target lengths", lengths, model.max_target_length)
    check_size("number of sentences", len(lengths))
    real = padding_mask(lengths, int(lengths.max()))[:, 0, 0]
    token_ids = torch.full_like(real, PAD, dtype=torch.long)
    log_probs = torch.zeros_like(real, dtype=torch.float32)
    memory_kv = model.decoder.project_memory(memory)  # once for all
    for t in range(iterations):
        k = lengths * (iterations - t) // iterations
        scores = log_probs.masked_fill(~real, torch.inf)
        ranks = scores.argsort(dim=1, stable=True).argsort(dim=1)
        masked = ranks < k[:, None]  # the least probable tokens
        logits = model.fill_in(
            token_ids, masked, lengths, memory_kv, memory_mask
        ).float()
        logits[:, [PAD, BOS, EOS, model.mask_id]] = -torch.inf
        best = logits.log_softmax(-1).max(-1)
        token_ids = token_ids.masked_scatter(masked, best.indices)
        log_probs = log_probs.masked_scatter(masked, best.values)
        yield Draft(token_ids, log_probs, masked)
