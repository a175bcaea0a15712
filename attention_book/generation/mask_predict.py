# Made from docs/source/mask-predict.md (62059b3dbfa3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Mask-predict with several lengths, for "Non-autoregressive decoding"."""

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book._checks import check_size, check_source
from attention_book.models.mask_predict import MaskedTransformer, refine


__all__ = ["mask_predict"]


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

    Source: Ghazvininejad et al. (2019), §3; §3.3 leaves out how likely the
        length is when translations are compared.
    """
    check_size("iterations", iterations)
    check_size("n_lengths", n_lengths)
    n_lengths = min(n_lengths, model.max_target_length)  # all there are
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
