# Made from docs/source/batch-decoding.md (fff80c3a696e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Int
from torch import Tensor

from attention_book._checks import check_size, check_source
from attention_book.attention.caches import KeyValueCache
from attention_book.generation.strategies import NextToken, greedy
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["generate"]


@torch.no_grad()
def generate(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    max_length: int,
    next_token: NextToken = greedy,
) -> list[list[int]]:
    """Generate a translation of each source, up to `<eos>` or max_length.

    The model, in eval mode, lies on the device of source and lengths.
    """
    check_size("max_length", max_length)
    check_source(source, lengths, model.config.source_vocab_size)
    memory, mask = model.encode(source, lengths)
    cross_kv = model.decoder.project_memory(memory)
    caches = [KeyValueCache(max_length) for _ in cross_kv]
    generated: list[list[int]] = [[] for _ in source]
    token_ids = torch.full_like(lengths, BOS)
    for _ in range(max_length):
        logits = model.decode(token_ids[:, None], cross_kv, mask, caches)
        token_ids = next_token(logits[:, -1])
        for row, token_id in zip(generated, token_ids.tolist(), strict=True):
            if row[-1:] != [EOS]:
                row.append(token_id)
        if all(row[-1] == EOS for row in generated):
            break
    return generated
