# Made from docs/source/translator.md (378e0e21e565). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""From text to text. Explained on the page "The translator"."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch

from attention_book._checks import check_texts
from attention_book.compute import (
    ON_CPU,
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.data.batches import pad
from attention_book.generation.beam import beam_search
from attention_book.generation.confidence import Calibration, Translation
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.decoder import CachedDecoder, StepDecoder
from attention_book.generation.generate import Hypothesis, generate
from attention_book.generation.incremental import (
    IncrementalDecoder,
    unsupported_part,
)
from attention_book.generation.lost import find_lost
from attention_book.io.checkpoints import load_model, save_model
from attention_book.io.files import printable
from attention_book.io.tensors import open_tensors
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.directions import DIRECTIONS, with_direction
from attention_book.tokenizers.words import Tokenizer


__all__ = ["EVERYDAY", "Translator"]


EVERYDAY = Path(__file__).parents[1] / "models" / "everyday.safetensors"
_BATCH_SIZE = 32  # sentences at most
_BATCH_TOKENS = 4096  # at most, with padding, of all hypotheses
_ONE_THREAD = 2**24  # parameters, up to which more threads slow one row down


class Translator:
    """A model, copied to where it computes, with its two tokenizers.

    Args:
        model: Is copied.
        source: The tokenizer of the source.
        target: The tokenizer of the target.
        compute: The device and precision.
        calibration: How likely a translation is right, by its probability;
            None leaves that as it is.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tokenizer,
        target: Tokenizer,
        compute: ComputeConfig = ON_CPU,
        *,
        calibration: Calibration | None = None,
    ) -> None:
        if not isinstance(model, Transformer):
            raise ValueError(
                f"model must be a Transformer, got {type(model).__name__}"
            )
        for name, x in ("source", source), ("target", target):
            if not isinstance(x, Tokenizer):
                got = type(x).__name__
                raise ValueError(f"{name} must be a tokenizer, got {got}")
        self.model = inference_copy(model, compute)
        self.source = source
        self.target = target
        self.compute = compute
        prefixes = getattr(source, "prefixes", [])
        self.is_bidirectional = prefixes == list(DIRECTIONS)
        self.calibration = calibration or Calibration()
        self.decoder = _make_decoder(self.model, compute)
        n_parameters = sum(x.numel() for x in self.model.parameters())
        self.is_small = n_parameters <= _ONE_THREAD
        learned = model.config.positions == "learned"
        self.max_source_length = model.config.max_length if learned else 10_000

    @classmethod
    def load(
        cls, path: str | Path = EVERYDAY, compute: ComputeConfig = ON_CPU
    ) -> "Translator":
        """Read what save or save_model wrote; by default the book's model.

        Raises:
            ValueError: The file holds no model of the package, or another.
        """
        model, tokenizers, _ = load_model(path)
        if type(model) is not Transformer or len(tokenizers) != 2:
            raise ValueError(
                f"{path}: wanted a Transformer with two tokenizers, got a "
                f"{type(model).__name__} with {len(tokenizers)}"
            )
        with open_tensors(path) as file:
            text = file.metadata.get("calibration", "{}")
        try:
            calibration = Calibration(**json.loads(text))
            calibration.is_sure(calibration.confidence(0.0))
        except (TypeError, ValueError):
            raise ValueError(
                f"{path}: wanted a calibration, got {printable(text, 60)}"
            ) from None
        return cls(model, *tokenizers, compute, calibration=calibration)

    def save(
        self,
        path: str | Path,
        dtype: torch.dtype = torch.float32,
        **metadata: str,
    ) -> None:
        """Write all into a safetensors file, numbers as dtype.

        metadata says more, such as the source of what was learnt from.
        """
        metadata |= {"calibration": json.dumps(self.calibration._asdict())}
        save_model(
            path,
            self.model,
            tokenizers=(self.source, self.target),
            dtype=dtype,
            extra=({}, metadata),
        )

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises:
            ValueError: A word is unknown, or there are too few or too many.
        """
        source = with_direction(text) if self.is_bidirectional else text
        token_ids = self.source.encode(source)
        if 0 < len(token_ids) <= self.max_source_length:
            return token_ids
        wanted = f"wanted a text of 1 to {self.max_source_length} tokens"
        raise ValueError(f"{wanted}, got {len(token_ids)}: {text[:40]!r}")

    def generate(
        self,
        sources: Sequence[list[int]],
        beam_size: int = 1,
        *,
        with_log_probs: bool = False,
    ) -> list[Hypothesis]:
        """Translate token ids, in batches of like length."""
        search = partial(beam_search, beam_size=beam_size)
        if beam_size == 1:
            search = partial(generate, with_log_probs=with_log_probs)
        outputs = [Hypothesis() for _ in sources]
        for rows in _bucket_by_length(sources, beam_size):
            batch = [sources[row] for row in rows]
            n = min(2 * max(map(len, batch)) + 16, self.max_source_length)
            is_one = len(rows) * beam_size == 1 and self.is_small
            with compute_context(self.compute), _one_thread(is_one):
                found = search(self.decoder, *pad(batch), max_length=n)
            for row, hypothesis in zip(rows, found, strict=True):
                outputs[row] = hypothesis
        return outputs

    def translate(
        self, texts: Sequence[str], *, beam_size: int = 1
    ) -> list[str]:
        """Translate texts, greedily or with a beam of that size."""
        check_texts("texts", texts)
        sources = [self.encode(text) for text in texts]
        generated = self.generate(sources, beam_size)
        return [self.target.decode(token_ids) for token_ids in generated]

    def translate_with_confidence(
        self, texts: Sequence[str], *, beam_size: int = 1
    ) -> list[Translation]:
        """Translate texts, and say how likely each translation is right.

        The confidence is calibrated for a model whose file says how, such as
        the book's. For others it is the probability that they give to the
        tokens of their translation, as a geometric mean, and whether they are
        sure is None.
        """
        check_texts("texts", texts)
        sources = [self.encode(text) for text in texts]
        generated = self.generate(sources, beam_size, with_log_probs=True)
        found: list[Translation] = []
        for source, hypothesis in zip(texts, generated, strict=True):
            text = self.target.decode(hypothesis)
            mean = hypothesis.log_prob / len(hypothesis)
            confidence = self.calibration.confidence(mean)
            is_sure = self.calibration.is_sure(confidence)
            lost: list[str] = []
            if self.is_bidirectional:
                lost = find_lost(source, text, self.source)
                is_sure = False if lost else is_sure
            found.append(Translation(text, confidence, is_sure, tuple(lost)))
        return found


@contextlib.contextmanager
def _one_thread(is_wanted: bool) -> Iterator[None]:
    """Compute on one thread of the CPU; on leaving, restore the number."""
    before = torch.get_num_threads()
    if is_wanted:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _make_decoder(model: Transformer, compute: ComputeConfig) -> StepDecoder:
    """Return the fastest decoder that knows the model."""
    if compute.uses_cuda_graphs and type(model) is Transformer:
        return CUDAGraphDecoder(model, compute)
    if unsupported_part(model):
        return CachedDecoder(model)
    return IncrementalDecoder(model)


def _bucket_by_length(
    sources: Sequence[list[int]], beam_size: int = 1
) -> Iterator[list[int]]:
    """Yield the numbers of sources that go into one batch, long ones first.

    A very long one pads no short ones: as in fairseq's --max-tokens, a
    batch has fewer rows the longer they are. The longest graph is captured
    first, and its memory serves the others.
    """
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    start = 0
    while start < len(order):
        n_tokens = len(sources[order[start]]) * beam_size
        n = min(_BATCH_SIZE, _BATCH_TOKENS // max(1, n_tokens))
        end = start + max(1, n)
        yield order[start:end]
        start = end
