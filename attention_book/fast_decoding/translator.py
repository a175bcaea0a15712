# Made from docs/chapters/36-fast-decoding.md (84316629bb6d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterator, Sequence
from pathlib import Path

from attention_book.checkpoints.models import load_model
from attention_book.corpus.batches import pad
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.fast_decoding.beam import beam_search
from attention_book.fast_decoding.captured import StaticDecoder
from attention_book.fast_decoding.decoder import IncrementalDecoder
from attention_book.fast_decoding.generate import write
from attention_book.runtime import ON_CPU, ComputeConfig, compute_context
from attention_book.transformer import Transformer


Rows = list[list[int]]


GRAMMAR = Path(__file__).parents[1] / "models" / "grammar.safetensors"


def bucket_by_length(sources: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield the numbers of sources to read together, at most 32."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for start in range(0, len(order), 32):
        yield order[start : start + 32]


def generate_batch(
    translator: "Translator", sources: list[list[int]], beam: int
) -> Rows:
    """Write the translations of sources that are read together."""
    table, lengths = pad(sources)
    most = min(2 * table.shape[1] + 16, translator.most)
    with compute_context(translator.compute):
        if beam == 1 and translator.graph_decoder:
            return translator.graph_decoder.write(
                table, lengths, max_length=most
            )
        decoder = translator.decoder
        if beam == 1:
            return write(decoder, table, lengths, max_length=most)
        return beam_search(decoder, table, lengths, max_length=most, size=beam)


class Translator:
    """A model, copied to where it computes, with its two vocabularies."""

    def __init__(
        self,
        model: Transformer,
        source: Tokenizer,
        target: Tokenizer,
        compute: ComputeConfig = ON_CPU,
    ) -> None:
        self.model = model
        self.source = source
        self.target = target
        self.compute = compute
        self.decoder = IncrementalDecoder(model, compute)
        self.graph_decoder = compute.uses_cuda_graphs and StaticDecoder(
            model, compute
        )
        learnt = model.config.positions == "learned"
        self.most = model.config.max_length if learnt else 10_000

    @classmethod
    def load(
        cls, path: str | Path = GRAMMAR, compute: ComputeConfig = ON_CPU
    ) -> "Translator":
        """Read a file of save_model; by default the model of the grammar."""
        model, tokenizers, _ = load_model(path)
        if type(model) is not Transformer or len(tokenizers) != 2:
            raise ValueError(
                f"{path}: wanted a Transformer with two tokenizers, got a "
                f"{type(model).__name__} with {len(tokenizers)}"
            )
        return cls(model, *tokenizers, compute)

    def read(self, text: str) -> list[int]:
        """Return the words of a text; ValueError if they will not do."""
        words = self.source.encode(text)
        if 0 < len(words) <= self.most:
            return words
        wanted = f"wanted a text of 1 to {self.most} words"
        raise ValueError(f"{wanted}, got {len(words)}: {text[:40]!r}")

    def write(self, sources: Sequence[list[int]], beam: int = 1) -> Rows:
        """Write translations as word numbers, at most 32 at a time."""
        outputs = [list[int]() for _ in sources]
        for rows in bucket_by_length(sources):
            found = generate_batch(self, [sources[row] for row in rows], beam)
            for row, words in zip(rows, found, strict=True):
                outputs[row] = words
        return outputs

    def translate(self, texts: Sequence[str], *, beam: int = 1) -> list[str]:
        """Translate texts, greedily or with a beam of that size."""
        written = self.write([self.read(text) for text in texts], beam=beam)
        return [self.target.decode(words) for words in written]
