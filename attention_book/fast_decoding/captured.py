# Made from docs/chapters/36-fast-decoding.md (dbfad1912781). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attention_book.caches import StaticKeyValueCache
from attention_book.corpus.special_tokens import BOS, EOS, PAD
from attention_book.fast_decoding.state import Lengths, Table, check_lengths
from attention_book.runtime import (
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.transformer import Transformer


SYNC_EVERY = 16  # steps from one look whether all have ended to the next


def decode_step(w: "StaticDecodingState") -> None:
    """Write one more word in each row that has not ended."""
    last = w.words.index_select(1, w.place.view(1))
    x = w.model.decoder(
        w.model.target_embedding(last, w.place),
        w.sources,
        w.mask,
        w.caches,
        mask=w.places <= w.place,  # what comes after is not there yet
        is_causal=False,
    )
    scores = F.linear(x[:, 0], w.model.target_embedding.tokens.weight)
    words = scores.argmax(-1).masked_fill(~w.going, PAD)
    w.going &= words != EOS
    w.place += 1
    w.words.index_copy_(1, w.place.view(1), words[:, None])


class StaticDecodingState:
    """Translations by the model under way, in tensors that stay in place.

    Args:
        rows: How many translations.
        source_length: Length of the padded sources.
        n_words: The longest translation.
    """

    def __init__(
        self, model: Transformer, rows: int, source_length: int, n_words: int
    ) -> None:
        self.model = model
        device = model.target_embedding.tokens.weight.device
        self.places = torch.arange(n_words, device=device)
        self.place = self.places.new_zeros(())
        self.words = self.places.new_zeros(rows, n_words + 1)
        self.going = self.words[:, 0] == 0
        source = self.places.new_zeros(rows, source_length)
        memory, self.mask = model.encode(source, self.words[:, 0] + 1)
        self.sources = model.decoder.project_memory(memory)
        self.caches = [
            StaticKeyValueCache(n_words, self.place) for _ in self.sources
        ]
        self.step()  # makes the caches' room

    def step(self) -> None:
        """Write one more word."""
        decode_step(self)

    def begin(self, source: Table, lengths: Lengths) -> None:
        """Begin translations; rows that are not needed have ended."""
        rows, source_length = source.shape
        table = self.words.new_full(
            (len(self.words), self.mask.shape[-1]), PAD
        )
        table[:rows, :source_length] = source
        n = self.words.new_ones(len(self.words))
        n[:rows] = lengths
        memory, mask = self.model.encode(table, n)
        self.mask.copy_(mask)
        new = self.model.decoder.project_memory(memory)
        for kept, kv in zip(self.sources, new, strict=True):
            kept.key.copy_(kv.key)
            kept.value.copy_(kv.value)
        self.words.zero_()[:, 0] = BOS  # the rest is padding
        self.going.fill_(True)[rows:] = False
        self.place.zero_()


Step = Callable[[], None]


def record(
    step: Step, before: Callable[[], object], compute: ComputeConfig
) -> Step:
    """Return what does the step again: on CUDA, all its kernels at one go.

    Args:
        step: Works on tensors that stay where they are.
        before: Called before each trial run, so that none runs over.
        compute: What it runs on; elsewhere than on CUDA nothing is graph_decoder.
    """
    if not compute.uses_cuda_graphs:
        return step
    new_stream: Callable[[], torch.cuda.Stream] = torch.cuda.Stream
    with torch.cuda.device(compute.device):
        here = torch.cuda.current_stream()
        aside = new_stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(3):  # lets libraries take their room and decide
                before()
                step()
        here.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=aside):
            step()
    return graph.replay


def cut(words: list[int]) -> list[int]:
    """Return the words up to the first <eos>."""
    return words[: words.index(EOS) + 1] if EOS in words else words


class StaticDecoder:
    """Writes greedily with shapes that never change, so with graph_decoder steps.

    Args:
        model: Is copied, in the compute's precision, to its device.
        compute: What it shall run on.
    """

    def __init__(self, model: Transformer, compute: ComputeConfig) -> None:
        self.model = inference_copy(model, compute)
        self.compute = compute
        self.rooms: dict[
            tuple[int, ...], tuple[StaticDecodingState, Step]
        ] = {}

    def room(
        self, rows: int, source_length: int, n_words: int
    ) -> tuple[StaticDecodingState, Step]:
        """Return room for that many, or for a few more, and its step."""
        shape = (
            1 << (rows - 1).bit_length(),  # powers of two: few recordings
            -(-source_length // 16) * 16,
            -(-n_words // 16) * 16,
        )
        if shape not in self.rooms:
            writing = StaticDecodingState(self.model, *shape)
            step = record(writing.step, writing.place.zero_, self.compute)
            self.rooms[shape] = writing, step
        return self.rooms[shape]

    @torch.inference_mode()
    def write(
        self, source: Table, lengths: Lengths, *, max_length: int
    ) -> list[list[int]]:
        """Write the translation of each source, up to <eos> or max_length."""
        rows, source_length = source.shape
        check_lengths(lengths, source_length)
        with compute_context(self.compute):
            writing, step = self.buffer(rows, source_length, max_length)
            writing.begin(source, lengths)
            for n in range(1, max_length + 1):
                step()
                if n % SYNC_EVERY == 0 and not writing.going.any():
                    break
        table = writing.words[:rows, 1 : max_length + 1].tolist()
        return [cut(row) for row in table]
