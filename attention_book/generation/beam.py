# Made from docs/source/batch-decoding.md (0d5b88479d4b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import (
    check_number,
    check_size,
    check_source,
    check_whole,
)
from attention_book.attention.caches import KeyValue, KeyValueCache
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["beam_search", "check_beam", "normalize_score"]


def check_beam(beam_size: int, length_penalty: float) -> None:
    """Raise ValueError unless a beam can have that size and penalty."""
    check_whole("beam_size", beam_size)
    check_number("length_penalty", length_penalty)
    if beam_size < 1 or not length_penalty >= 0:
        raise ValueError(
            "wanted beam_size >= 1 and length_penalty >= 0, "
            f"got {beam_size} and {length_penalty}"
        )


def normalize_score(
    log_prob: float, length: int, length_penalty: float
) -> float:
    """Make log-probabilities of any length comparable: log p / lp(length).

    Source: Wu et al. (2016), eq. 14; length_penalty is its α.
    """
    return float(log_prob / ((5 + length) / 6) ** length_penalty)


@torch.no_grad()
def beam_search(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> list[list[int]]:
    """Return the best translation found of each source; model as in generate.

    beam_size hypotheses are kept; a larger length_penalty favours longer ones.

    Source: Wu et al. (2016), §7, without their coverage penalty.
    """
    check_beam(beam_size, length_penalty)
    check_size("max_length", max_length)
    check_source(source, lengths, model.config.source_vocab_size)
    return [
        _search(model, row[None, :n], max_length, beam_size, length_penalty)
        for row, n in zip(source, lengths.tolist(), strict=True)
    ]


def _search(
    model: Transformer,
    source: Int[Tensor, "1 source"],
    max_length: int,
    beam_size: int,
    length_penalty: float,
) -> list[int]:
    """Return the best translation found of one source."""
    lengths = source.new_tensor([source.shape[1]])
    memory, mask = model.encode(source, lengths)
    cross_kv = model.decoder.project_memory(memory.expand(beam_size, -1, -1))
    caches = [KeyValueCache(max_length) for _ in cross_kv]
    beam: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    while beam and len(finished) < beam_size:
        last = source.new_tensor([[BOS, *ids][-1:] for _, ids in beam])
        kv = [KeyValue(*(x[: len(beam)] for x in layer)) for layer in cross_kv]
        masks = mask.expand(len(beam), -1, -1, -1)
        logits = model.decode(last, kv, masks, caches)[:, -1].float()
        so_far = logits.new_tensor([[log_prob] for log_prob, _ in beam])
        candidates = _best(so_far + logits.log_softmax(-1), 2 * beam_size)
        hypotheses: list[tuple[float, list[int]]] = []
        parents: list[int] = []
        for rank, (log_prob, parent, token_id) in enumerate(candidates):
            token_ids = [*beam[parent][1], token_id]
            n = len(token_ids)
            if token_id == EOS or n == max_length:
                if rank < beam_size:  # so that a beam of one is greedy
                    score = normalize_score(log_prob, n, length_penalty)
                    finished.append((score, token_ids))
            elif len(hypotheses) < beam_size:
                hypotheses.append((log_prob, token_ids))
                parents.append(parent)
        beam = hypotheses
        for cache in caches:
            if cache.buffer is not None:
                cache.buffer = KeyValue(*(x[parents] for x in cache.buffer))
    return max(finished)[1]


def _best(
    log_probs: Float[Tensor, "rows vocab"], n: int
) -> list[tuple[float, int, int]]:
    """Return the n best candidates: log-probability, row, next token."""
    best, indices = log_probs.flatten().topk(min(n, log_probs.numel()))
    return [
        (log_prob, *divmod(index, log_probs.shape[1]))
        for log_prob, index in zip(
            best.tolist(), indices.tolist(), strict=True
        )
    ]
