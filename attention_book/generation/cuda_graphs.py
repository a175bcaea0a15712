# Made from docs/source/fast-decoding.md (3526af0fa6b7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Steps captured as CUDA graphs. Explained in "Fast decoders"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book._checks import check_source
from attention_book.attention.static_cache import StaticKeyValueCache
from attention_book.compute import (
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.generation.decoder import Lengths, Logits, Source, TokenIds
from attention_book.generation.incremental import position_table
from attention_book.generation.prepacked import replace_parts
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, PAD


__all__ = ["CUDAGraphDecoder", "StaticStep"]


_MAX_BUCKETS = 16  # captured steps that a decoder keeps


class StaticStep:
    """One step of generation, on tensors that stay where they are.

    Args:
        model: In eval mode.
        n_rows: How many translations.
        source_length: Length of the padded sources.
        max_length: The most tokens of a translation.

    Attributes:
        run: Does the step: compute, or what was captured of it.
    """

    def __init__(
        self,
        model: Transformer,
        n_rows: int,
        source_length: int,
        max_length: int,
    ) -> None:
        self.model = model
        self.shape = n_rows, source_length, max_length
        device = model.target_embedding.tokens.weight.device
        self.positions = torch.arange(max_length, device=device)
        self.length = self.positions.new_zeros(())
        self.encodings = position_table(model, max_length)
        self.token_ids = self.positions.new_zeros(n_rows)
        source = self.positions.new_zeros(n_rows, source_length)
        memory, self.source_mask = model.encode(source, self.token_ids + 1)
        self.cross_kv = model.decoder.project_memory(memory)
        self.caches = [
            StaticKeyValueCache(max_length, self.length) for _ in self.cross_kv
        ]
        vocab_size = model.config.target_vocab_size
        self.logits = memory.new_zeros(n_rows, vocab_size)
        self.run: Callable[[], None] = self.compute
        self.run()  # allocates the caches' buffers

    def encode(self, source: Source, lengths: Lengths) -> None:
        """Encode new sources; the rows that are left over hold padding."""
        n_rows, source_length, _ = self.shape
        padded = self.token_ids.new_full((n_rows, source_length), PAD)
        padded[: len(source), : source.shape[1]] = source
        padded_lengths = torch.ones_like(self.token_ids)
        padded_lengths[: len(source)] = lengths
        memory, mask = self.model.encode(padded, padded_lengths)
        self.source_mask.copy_(mask)
        new = self.model.decoder.project_memory(memory)
        for held, kv in zip(self.cross_kv, new, strict=True):
            held.key.copy_(kv.key)
            held.value.copy_(kv.value)
        self.length.zero_()

    def compute(self) -> None:
        """Read token_ids, and write the logits of the next."""
        n = self.length.view(1)
        embedding = self.model.target_embedding
        x = embedding.tokens(self.token_ids) * embedding.scale
        x = (x + self.encodings.index_select(0, n))[:, None]
        x = self.model.decoder(
            x,
            self.cross_kv,
            self.source_mask,
            self.caches,
            mask=self.positions <= self.length,  # the rest is empty
            is_causal=False,
        )
        self.logits.copy_(F.linear(x[:, 0], embedding.tokens.weight))
        self.length += 1  # and n with it

    def tensors(self) -> list[Tensor]:
        """Return all that has rows and outlasts a step."""
        buffers = [cache.buffer for cache in self.caches]
        pairs = [*self.cross_kv, *filter(None, buffers)]
        return [self.source_mask, *(x for pair in pairs for x in pair)]


def _captured_step(
    model: Transformer,
    compute: ComputeConfig,
    memory: tuple[Any, ...],
    *shape: int,
) -> StaticStep:
    """Make a step of that size, on a GPU captured as a CUDA graph.

    Graphs may share a pool of memory because one is replayed at a time, and
    a step leaves nothing there: all that it reads and changes lies outside.
    """
    with compute_context(compute):
        step = StaticStep(model, *shape)
        if memory:
            with torch.cuda.device(compute.device):
                _capture(step, *memory)
    return step


def _capture(step: StaticStep, pool: Any, stream: torch.cuda.Stream) -> None:
    """Let a step run all its kernels at one go from now on."""
    current = torch.cuda.current_stream()
    stream.wait_stream(current)
    with torch.cuda.stream(stream):
        for _ in range(3):  # libraries choose algorithms and memory
            step.length.zero_()  # so that none runs over
            step.run()
    current.wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool, stream):
        step.run()
    step.run = graph.replay


class CUDAGraphDecoder:
    """Generates with shapes that never change, by captured steps.

    It works on one batch at a time.

    Args:
        model: Is copied, in the precision of compute, to its device.
        compute: The device and precision.
    """

    sync_every = 16

    def __init__(self, model: Transformer, compute: ComputeConfig) -> None:
        if type(model) is not Transformer:
            name = type(model).__name__
            raise ValueError(f"model must be a Transformer, got {name}")
        self.model = inference_copy(model, compute)
        replace_parts(self.model, nn.Dropout, lambda _: nn.Identity())
        self.compute = compute
        memory: tuple[Any, ...] = ()
        if compute.uses_cuda_graphs:
            with torch.cuda.device(compute.device):
                new_stream: Callable[[], torch.cuda.Stream] = torch.cuda.Stream
                memory = torch.cuda.graph_pool_handle(), new_stream()
        self.captured_step = lru_cache(_MAX_BUCKETS)(
            partial(_captured_step, self.model, compute, memory)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without the captured steps, which can be neither."""
        return CUDAGraphDecoder, (self.model, self.compute)

    @torch.inference_mode()
    def bucket(
        self, n_rows: int, source_length: int, max_length: int
    ) -> StaticStep:
        """Return a step of that size or a little more."""
        return self.captured_step(
            1 << (n_rows - 1).bit_length(),  # powers of two: few captures
            self._round_up(source_length),
            self._round_up(max_length),
        )

    def _round_up(self, length: int) -> int:
        """Return the next multiple of 16 for which there are positions."""
        rounded = -(-length // 16) * 16
        config = self.model.config
        if config.positions == "learned":
            rounded = max(length, min(rounded, config.max_length))
        return rounded

    @torch.inference_mode()
    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple["_GraphState", Logits]:
        """Encode the sources in a bucket that they fit in."""
        check_source(source, lengths, self.model.config.source_vocab_size)
        step = self.bucket(len(source), source.shape[1], max_length)
        with compute_context(self.compute):
            step.encode(source, lengths)
        state = _GraphState(self, step, len(source))
        return state, state.step(torch.full_like(lengths, BOS))


@dataclass
class _GraphState:
    """The rows of a batch in a bucket, from the first on."""

    decoder: CUDAGraphDecoder
    bucket: StaticStep
    n_rows: int

    @torch.inference_mode()
    def step(self, token_ids: TokenIds) -> Logits:
        """Append a token to each row; return the logits of the next.

        They are overwritten by the next step.
        """
        self.bucket.token_ids[: self.n_rows] = token_ids
        self.bucket.run()
        return self.bucket.logits[: self.n_rows]

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in a larger bucket if they need one."""
        old = self.bucket
        self.n_rows = len(rows)
        if self.n_rows > old.shape[0]:
            self.bucket = self.decoder.bucket(self.n_rows, *old.shape[1:])
            self.bucket.length.copy_(old.length)
        is_new = self.bucket is not old
        into = [slot for slot, row in enumerate(rows) if is_new or slot != row]
        moved = [rows[slot] for slot in into]
        index = torch.tensor([into, moved], dtype=torch.long)
        to, of = index.to(old.length.device)
        for x, new in zip(old.tensors(), self.bucket.tensors(), strict=True):
            new[to] = x[of]
