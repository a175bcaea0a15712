# Made from docs/fast/generating-fast.md (a89295c252fa). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_size, check_source
from attention_book.attention.caches import StaticKeyValueCache
from attention_book.compute import (
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.generation.prepacked import remove_dropout
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = [
    "MAX_BUCKETS",
    "SYNC_EVERY",
    "GraphPool",
    "StaticDecoder",
    "StaticDecodingState",
    "truncate_at_eos",
]


SYNC_EVERY = 16  # steps between two checks whether all rows have finished
MAX_BUCKETS = 16  # captured steps that a decoder keeps


class StaticDecodingState:
    """Translations that are being generated, in tensors that stay in place.

    Args:
        model: In eval mode.
        batch_size: How many translations.
        source_length: Length of the padded sources.
        max_length: The most tokens of a translation.
    """

    def __init__(
        self,
        model: Transformer,
        batch_size: int,
        source_length: int,
        max_length: int,
    ) -> None:
        self.model = model
        device = model.target_embedding.tokens.weight.device
        self.positions = torch.arange(max_length, device=device)
        self.length = self.positions.new_zeros(())
        self.encodings = _position_encodings(model, max_length)
        self.token_ids = self.positions.new_zeros(batch_size, max_length + 1)
        self.active = self.token_ids[:, 0] == 0
        source = self.positions.new_zeros(batch_size, source_length)
        lengths = self.token_ids[:, 0] + 1
        memory, self.source_mask = model.encode(source, lengths)
        self.cross_kv = model.decoder.project_memory(memory)
        self.caches = [
            StaticKeyValueCache(max_length, self.length) for _ in self.cross_kv
        ]
        self.decode_step()  # allocates the caches' buffers

    def prefill(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
    ) -> None:
        """Encode new sources; rows that are not needed have finished."""
        rows, source_length = source.shape
        padded_length = self.source_mask.shape[-1]
        padded = self.token_ids.new_full(
            (len(self.token_ids), padded_length), PAD
        )
        padded[:rows, :source_length] = source
        padded_lengths = self.token_ids.new_ones(len(self.token_ids))
        padded_lengths[:rows] = lengths
        memory, mask = self.model.encode(padded, padded_lengths)
        self.source_mask.copy_(mask)
        new = self.model.decoder.project_memory(memory)
        for held, kv in zip(self.cross_kv, new, strict=True):
            held.key.copy_(kv.key)
            held.value.copy_(kv.value)
        self.token_ids.zero_()[:, 0] = BOS  # the rest is padding
        self.active.fill_(True)[rows:] = False
        self.length.zero_()

    def decode_step(self) -> None:
        """Generate one more token in each row that has not finished."""
        n = self.length.view(1)
        embedding = self.model.target_embedding
        x = embedding.tokens(self.token_ids.index_select(1, n))
        x = x * embedding.scale
        if self.encodings is not None:
            x = x + self.encodings.index_select(1, n)
        x = self.model.decoder(
            x,
            self.cross_kv,
            self.source_mask,
            self.caches,
            mask=self.positions <= self.length,  # the rest is empty
            is_causal=False,
        )
        logits = F.linear(x[:, 0], embedding.tokens.weight)
        token_ids = logits.argmax(-1).masked_fill(~self.active, PAD)
        self.active &= token_ids != EOS
        self.length += 1  # and n with it
        self.token_ids.index_copy_(1, n, token_ids[:, None])


def _position_encodings(
    model: Transformer, max_length: int
) -> Float[Tensor, "1 length d_model"] | None:
    """Return what is added to the embedding at each position, if anything."""
    embedding = model.target_embedding
    if embedding.positions is None:
        return None
    shape = 1, max_length, model.config.d_model
    return embedding.positions(embedding.tokens.weight.new_zeros(shape))


_Step = Callable[[], None]


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


def truncate_at_eos(token_ids: list[int]) -> list[int]:
    """Return the tokens up to the first `<eos>`."""
    return (
        token_ids[: token_ids.index(EOS) + 1]
        if EOS in token_ids
        else token_ids
    )


class StaticDecoder:
    """Generates greedily with shapes that never change, by captured steps.

    Args:
        model: Is copied, in the precision of compute, to its device.
        compute: The device and precision.
        backend: Of torch.compile, such as "inductor", which fuses the
            operations of a step before it is captured, and takes a while,
            two or three times for all sizes together; None for as they are.

    Attributes:
        buckets: States and steps by size, the one used last at the end.
    """

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
        self.decode_step = StaticDecodingState.decode_step
        if backend is not None:
            self.decode_step = torch.compile(
                self.decode_step, fullgraph=True, dynamic=True, backend=backend
            )
        self.pool: GraphPool | None = None
        if compute.uses_cuda_graphs:
            self.pool = GraphPool(compute.device)
        self.buckets: OrderedDict[
            tuple[int, int, int], tuple[StaticDecodingState, _Step]
        ] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without the captured steps, which can be neither."""
        make = partial(StaticDecoder, backend=self.backend)
        return make, (self.model, self.compute)

    @torch.inference_mode()
    def bucket(
        self, batch_size: int, source_length: int, max_length: int
    ) -> tuple[StaticDecodingState, _Step]:
        """Return a state of that size or a little more, and its step."""
        shape = (
            1 << (batch_size - 1).bit_length(),  # powers of two: few captures
            self._round_up(source_length),
            self._round_up(max_length),
        )
        if shape not in self.buckets:
            if len(self.buckets) == MAX_BUCKETS:
                self.buckets.popitem(last=False)  # unused for longest
            state = StaticDecodingState(self.model, *shape)
            step: _Step = partial(self.decode_step, state)
            if self.pool is not None:
                step = self.pool.capture(step, state.length.zero_)
            self.buckets[shape] = state, step
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
    def generate(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        *,
        max_length: int,
    ) -> list[list[int]]:
        """Generate a translation of each source, to `<eos>` or max_length."""
        check_size("max_length", max_length)
        check_source(source, lengths, self.model.config.source_vocab_size)
        rows, source_length = source.shape
        with compute_context(self.compute):
            state, step = self.bucket(rows, source_length, max_length)
            state.prefill(source, lengths)
            for n in range(1, max_length + 1):
                step()
                if n % SYNC_EVERY == 0 and not state.active.any():
                    break
        table = state.token_ids[:rows, 1 : max_length + 1].tolist()
        return [truncate_at_eos(row) for row in table]
