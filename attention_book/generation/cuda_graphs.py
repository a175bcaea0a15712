# Made from docs/fast/generating-fast.md (de9d80d72e41). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Steps captured as CUDA graphs. Explained in the chapter "Fast decoding"."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book._checks import check_size, check_source
from attention_book.attention.caches import StaticKeyValueCache
from attention_book.compute import (
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.generation.decoder import (
    Lengths,
    Logits,
    Source,
    TokenIds,
)
from attention_book.generation.incremental import position_table
from attention_book.generation.prepacked import remove_dropout
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, PAD


__all__ = ["MAX_BUCKETS", "CUDAGraphDecoder", "GraphPool", "StaticStep"]


MAX_BUCKETS = 16  # captured steps that a decoder keeps
_Step = Callable[[], None]


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
        self.run: _Step = self.compute
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


class GraphPool:
    """Captures steps as CUDA graphs, which share one pool of memory.

    They may share because one is replayed at a time, and a step leaves
    nothing in the pool: all that it reads and changes lies outside.

    Args:
        device: The GPU.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        with torch.cuda.device(device):
            new_stream: Callable[[], torch.cuda.Stream] = torch.cuda.Stream
            self.stream = new_stream()
            self.handle = torch.cuda.graph_pool_handle()

    def capture(self, step: _Step, before: Callable[[], object]) -> _Step:
        """Return what does the step again, all its kernels at one go.

        Args:
            step: Works on tensors that stay where they are.
            before: Called before each trial run, so that none runs over.
        """
        with torch.cuda.device(self.device):
            current = torch.cuda.current_stream()
            self.stream.wait_stream(current)
            with torch.cuda.stream(self.stream):
                for _ in range(3):  # libraries choose algorithms and memory
                    before()
                    step()
            current.wait_stream(self.stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, self.handle, self.stream):
                step()
        return graph.replay


class CUDAGraphDecoder:
    """Generates with shapes that never change, by captured steps.

    It works on one batch at a time.

    Args:
        model: Is copied, in the precision of compute, to its device.
        compute: The device and precision.
        backend: Of torch.compile, such as "inductor", which fuses the
            operations of a step before it is captured, and takes a while,
            two or three times for all sizes together; None for as they are.

    Attributes:
        buckets: Steps by size, the one used last at the end.
    """

    sync_every = 16

    def __init__(
        self,
        model: Transformer,
        compute: ComputeConfig,
        *,
        backend: str | None = None,
    ) -> None:
        if type(model) is not Transformer:
            name = type(model).__name__
            raise ValueError(f"model must be a Transformer, got {name}")
        self.model = inference_copy(model, compute)
        remove_dropout(self.model)
        self.compute = compute
        self.backend = backend
        self.one_step = StaticStep.compute
        if backend is not None:
            self.one_step = torch.compile(
                self.one_step, fullgraph=True, dynamic=True, backend=backend
            )
        self.pool: GraphPool | None = None
        if compute.uses_cuda_graphs:
            self.pool = GraphPool(compute.device)
        self.buckets: OrderedDict[tuple[int, int, int], StaticStep] = (
            OrderedDict()
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without the captured steps, which can be neither."""
        make = partial(CUDAGraphDecoder, backend=self.backend)
        return make, (self.model, self.compute)

    @torch.inference_mode()
    def bucket(
        self, n_rows: int, source_length: int, max_length: int
    ) -> StaticStep:
        """Return a step of that size or a little more."""
        shape = (
            1 << (n_rows - 1).bit_length(),  # powers of two: few captures
            self._round_up(source_length),
            self._round_up(max_length),
        )
        if shape not in self.buckets:
            if len(self.buckets) == MAX_BUCKETS:
                self.buckets.popitem(last=False)  # unused for longest
            with compute_context(self.compute):
                step = StaticStep(self.model, *shape)
                step.run = partial(self.one_step, step)
                if self.pool is not None:
                    step.run = self.pool.capture(step.run, step.length.zero_)
            self.buckets[shape] = step
        self.buckets.move_to_end(shape)
        return self.buckets[shape]

    def _round_up(self, length: int) -> int:
        """Return the next multiple of 16 for which there are positions."""
        rounded = -(-length // 16) * 16
        config = self.model.config
        if config.positions != "learned":
            return rounded
        if length > config.max_length:
            raise ValueError(
                f"positions must be from 0 to {config.max_length - 1}, "
                f"got 0 to {length - 1}"
            )
        return min(rounded, config.max_length)

    @torch.inference_mode()
    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple["_GraphState", Logits]:
        """Encode the sources in a bucket that they fit in."""
        check_size("max_length", max_length)
        check_source(source, lengths, self.model.config.source_vocab_size)
        step = self.bucket(len(source), source.shape[1], max_length)
        with compute_context(self.compute):
            step.encode(source, lengths)
        state = _GraphState(self, step, len(source))
        return state, state.step(torch.full_like(lengths, BOS))


class _GraphState:
    """The rows of a batch in a bucket, from the first on."""

    def __init__(
        self, decoder: CUDAGraphDecoder, bucket: StaticStep, n_rows: int
    ) -> None:
        self.decoder = decoder
        self.bucket = bucket
        self.n_rows = n_rows

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
