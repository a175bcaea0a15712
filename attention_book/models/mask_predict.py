# Made from docs/source/mask-predict.md (cdbb2deccd4c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import (
    check_lengths,
    check_rate,
    check_size,
    check_source,
    check_tensor,
    check_whole,
)
from attention_book.attention.functional import padding_mask
from attention_book.attention.packed import PackedMask, PaddingLayout
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.training.loading import Batch


__all__ = [
    "Draft",
    "MaskedTransformer",
    "MaskedTransformerConfig",
    "lowest_k",
    "mask_predict",
    "masked_loss",
    "random_mask",
    "refine",
]


@dataclass(frozen=True, kw_only=True)
class MaskedTransformerConfig(TransformerConfig):
    """A TransformerConfig, and the longest translation.

    Attributes:
        target_vocab_size: One more than the vocabulary has: the last id is
            that of `<mask>`.
        max_target_length: The longest translation, in tokens.

    Raises:
        ValueError: As TransformerConfig; max_target_length is not positive.
    """

    max_target_length: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        longest = self.max_target_length
        if type(longest) is not int or longest < 1:
            raise ValueError(
                "max_target_length must be a positive whole number, "
                f"got {longest!r}"
            )


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
        mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch max_target_length"]:
        """Return the logits of the lengths 1, 2, … of the translations."""
        fertility = self.fertility(memory)[..., 0] * mask[:, 0, 0]
        lengths = torch.arange(
            1, self.max_target_length + 1, device=memory.device
        )
        return -2 * (lengths - fertility.sum(1, keepdim=True)).square()


def lowest_k(
    x: Float[Tensor, "batch length"], k: Int[Tensor, " batch"]
) -> Bool[Tensor, "batch length"]:
    """Pick the k[i] lowest numbers of row i; of equals, the first."""
    check_tensor("x", x)
    check_lengths("k", k, x.shape[-1], min_length=0)
    if x.ndim != 2 or len(x) != len(k):
        raise ValueError(
            "x must be (batch, length) with one k for each row, got "
            f"{tuple(x.shape)} and {len(k)} of k"
        )
    ranks = x.argsort(dim=1, stable=True).argsort(dim=1)
    return ranks < k[:, None]


def random_mask(
    lengths: Int[Tensor, " batch"],
    max_length: int,
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "batch {max_length}"]:
    """Mask from 1 to all tokens of each row, every number equally likely.

    Args:
        lengths: How many tokens of each row are real.
        max_length: Length of the rows, padding included.
        generator: The random generator, on any device; by default torch's
            own where lengths lies.

    Returns:
        True = masked.

    Source: Ghazvininejad et al. (2019), §2.2.
    """
    check_size("max_length", max_length)
    check_lengths("lengths", lengths, max_length, min_length=0)
    shape = len(lengths), max_length
    device = lengths.device if generator is None else generator.device
    k = torch.rand(shape[0], generator=generator, device=device)
    chances = torch.rand(shape, generator=generator, device=device)
    k = 1 + (k.to(lengths.device) * lengths).long()
    real = padding_mask(lengths, max_length)[:, 0, 0]
    chances = chances.to(lengths.device).masked_fill(~real, torch.inf)
    return lowest_k(chances, k)


def masked_loss(
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
        generator: The random generator of the mask; by default torch's own.

    Raises:
        ValueError: A translation is empty or longer than max_target_length.

    Source: Ghazvininejad et al. (2019), §2.2 and §2.3.
    """
    labels = batch.target[:, 1:]
    check_rate("label_smoothing", label_smoothing)
    lengths = batch.target_lengths - 2  # without <bos> and <eos>
    check_lengths("target lengths", lengths, model.max_target_length)
    source = batch.source_layout
    target = PaddingLayout(lengths, labels.shape[1])
    masked = random_mask(lengths, labels.shape[1], generator)
    memory = source.unpad(model.source_embedding(batch.source))
    memory = model.encoder(memory, PackedMask(source, source))
    x = model.target_embedding(labels.masked_fill(masked, model.mask_id))
    x = model.decoder(
        target.unpad(x),
        memory,
        PackedMask(target, source),
        mask=PackedMask(target, target),
        is_causal=False,
    )
    masked = target.unpad(masked)
    logits = F.linear(x[masked], model.target_embedding.tokens.weight)
    token_loss = F.cross_entropy(
        logits.float(),
        target.unpad(labels)[masked],
        label_smoothing=label_smoothing,
    )
    length_logits = model.score_lengths(source.pad(memory), source.mask)
    length_loss = F.cross_entropy(length_logits, lengths - 1)
    return token_loss + 0.1 * length_loss


class Draft(NamedTuple):
    """The translations after an iteration."""

    token_ids: Int[Tensor, "batch length"]
    log_probs: Float[Tensor, "batch length"]  # 0 for padding
    masked: Bool[Tensor, "batch length"]  # what this iteration predicted


@torch.no_grad()
def refine(
    model: MaskedTransformer,
    memory: Float[Tensor, "batch source d_model"],
    mask: Bool[Tensor, "batch 1 1 source"],
    lengths: Int[Tensor, " batch"],
    iterations: int,
) -> Iterator[Draft]:
    """Predict translations of given lengths; yield each iteration's draft.

    Args:
        model: Predicts the masked tokens; in eval mode.
        memory: What the encoder made of the sources.
        mask: Their padding mask.
        lengths: The lengths of the translations.
        iterations: How often tokens are masked and predicted.

    Raises:
        ValueError: No sentence, a length out of range, no iteration.

    Source: Ghazvininejad et al. (2019), §3.1.
    """
    check_size("iterations", iterations)
    check_lengths("target lengths", lengths, model.max_target_length)
    if not len(lengths):
        raise ValueError("lengths must hold one or more, got none")
    target_mask = padding_mask(lengths, int(lengths.max()))
    real = target_mask[:, 0, 0]
    special = [PAD, BOS, EOS, model.mask_id]
    token_ids = torch.where(real, model.mask_id, PAD)
    log_probs = memory.new_zeros(token_ids.shape, dtype=torch.float32)
    memory_kv = model.decoder.project_memory(memory)
    for t in range(iterations):
        k = lengths * (iterations - t) // iterations
        masked = lowest_k(log_probs.masked_fill(~real, torch.inf), k)
        x = model.target_embedding(
            token_ids.masked_fill(masked, model.mask_id)
        )
        x = model.decoder(
            x, memory_kv, mask, mask=target_mask, is_causal=False
        )
        weight = model.target_embedding.tokens.weight
        logits = F.linear(x[masked], weight).float()
        logits[:, special] = -torch.inf
        best = logits.log_softmax(-1).max(-1)
        token_ids = token_ids.masked_scatter(masked, best.indices)
        log_probs = log_probs.masked_scatter(masked, best.values)
        yield Draft(token_ids, log_probs, masked)


@torch.no_grad()
def mask_predict(
    model: MaskedTransformer,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    iterations: int = 4,
    n_lengths: int = 1,
) -> list[list[int]]:
    """Translate in a fixed number of iterations.

    Args:
        model: Predicts the masked tokens; in eval mode.
        source: Token ids of the sources, padded at the end.
        lengths: How many tokens of each source are real; one or more.
        iterations: How often tokens are masked and predicted.
        n_lengths: How many lengths are tried, of which the best one counts.

    Returns:
        The token ids of each translation, without `<eos>`.

    Raises:
        ValueError: No sentence, or a number out of range.

    Of several lengths the best has the largest (ln p(n) + Σ ln p_i) / n,
    which is a heuristic where there is more than one iteration.

    Source: Ghazvininejad et al. (2019), §3; §3.3 leaves out how likely the
        length is when translations are compared.
    """
    check_whole("n_lengths", n_lengths)
    check_size("iterations", iterations)
    if not 1 <= n_lengths <= model.max_target_length:
        raise ValueError(
            f"n_lengths must be from 1 to {model.max_target_length}, "
            f"got {n_lengths}"
        )
    check_source(source, lengths, model.config.source_vocab_size)
    memory, mask = model.encode(source, lengths)
    length_log_probs = model.score_lengths(memory, mask).log_softmax(-1)
    candidates = length_log_probs.topk(n_lengths)
    n_tokens = 1 + candidates.indices.flatten()  # row by row
    memory = memory.repeat_interleave(n_lengths, 0)
    mask = mask.repeat_interleave(n_lengths, 0)
    *_, draft = refine(model, memory, mask, n_tokens, iterations)
    log_probs = candidates.values.flatten() + draft.log_probs.sum(1)
    best = (log_probs / n_tokens).view(-1, n_lengths).argmax(1).tolist()
    rows = [i * n_lengths + choice for i, choice in enumerate(best)]
    return [draft.token_ids[row, : n_tokens[row]].tolist() for row in rows]
