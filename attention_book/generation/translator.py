# Made from docs/fast/generating-fast.md (abbb673aa8f0). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from attention_book._checks import check_text, check_texts
from attention_book.compute import (
    ON_CPU,
    ComputeConfig,
    bucket_length,
    compute_context,
    inference_copy,
)
from attention_book.data.batches import pad
from attention_book.generation.beam import beam_search
from attention_book.generation.confidence import (
    Calibration,
    Translation,
    sequence_log_probs,
)
from attention_book.generation.cuda_graphs import StaticDecoder
from attention_book.generation.decoder import (
    IncrementalDecoder,
    unsupported_part,
)
from attention_book.generation.fast_beam import fast_beam_search
from attention_book.generation.fast_generate import fast_generate
from attention_book.generation.generate import generate
from attention_book.io.checkpoints import load_model
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import UNSURE
from attention_book.tokenizers.words import Tokenizer


__all__ = ["GRAMMAR", "Translator"]


GRAMMAR = Path(__file__).parents[1] / "models" / "grammar.safetensors"
_BATCH_SIZE = 32  # sentences at most
_BATCH_TOKENS = 4096  # at most, with padding, of all hypotheses
# Of models that learnt UNSURE: fitted on 442 sentences that people wrote.
_CALIBRATION = Calibration(scale=0.27, offset=2.279, threshold=0.933)


class Translator:
    """A model, copied to where it computes, with its two tokenizers.

    Args:
        model: Is copied.
        source: The tokenizer of the source.
        target: The tokenizer of the target.
        compute: The device and precision.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tokenizer,
        target: Tokenizer,
        compute: ComputeConfig = ON_CPU,
    ) -> None:
        if not isinstance(model, Transformer):
            raise ValueError(
                f"model must be a Transformer, got {type(model).__name__}"
            )
        for name, tokenizer in ("source", source), ("target", target):
            if not isinstance(tokenizer, Tokenizer):
                raise ValueError(
                    f"{name} must be a tokenizer, "
                    f"got {type(tokenizer).__name__}"
                )
        self.model = model
        self.source = source
        self.target = target
        self.compute = compute
        token_ids = getattr(target, "token_ids", {})
        self.calibration = Calibration()
        if UNSURE in token_ids:
            self.calibration = _CALIBRATION
            model = _silence(model, token_ids[UNSURE])
        self.decoder = (
            inference_copy(model, compute)
            if unsupported_part(model)
            else IncrementalDecoder(model, compute)
        )
        self.graph_decoder = (
            StaticDecoder(model, compute) if compute.uses_cuda_graphs else None
        )
        learned = model.config.positions == "learned"
        self.max_source_length = model.config.max_length if learned else 10_000

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

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises:
            ValueError: A word is unknown, or there are too few or too many.
        """
        check_text("text", text)
        token_ids = self.source.encode(text)
        if 0 < len(token_ids) <= self.max_source_length:
            return token_ids
        wanted = f"wanted a text of 1 to {self.max_source_length} tokens"
        raise ValueError(f"{wanted}, got {len(token_ids)}: {text[:40]!r}")

    def generate(
        self, sources: Sequence[list[int]], beam_size: int = 1
    ) -> list[list[int]]:
        """Translate token ids, in batches of like length."""
        outputs: list[list[int]] = [[] for _ in sources]
        for rows in _bucket_by_length(sources, beam_size):
            batch = [sources[row] for row in rows]
            found = self._generate_batch(batch, beam_size)
            for row, token_ids in zip(rows, found, strict=True):
                outputs[row] = token_ids
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

        The confidence is calibrated for a model that learnt to be unsure,
        such as the book's. For other models it is the probability that they
        give to their own translation, and they count as sure.
        """
        sources = [self.encode(text) for text in texts]
        generated = self.generate(sources, beam_size)
        found: list[Translation] = []
        log_probs = [0.0] * len(sources)
        for rows in _bucket_by_length(sources):
            batch = [sources[row] for row in rows]
            targets = [generated[row] for row in rows]
            scores = sequence_log_probs(self.model, batch, targets)
            for row, log_prob in zip(rows, scores, strict=True):
                log_probs[row] = log_prob
        for token_ids, log_prob in zip(generated, log_probs, strict=True):
            text = self.target.decode(token_ids)
            confidence = self.calibration.confidence(log_prob)
            is_sure = confidence >= self.calibration.threshold
            found.append(Translation(text, confidence, is_sure))
        return found

    def _generate_batch(
        self, sources: list[list[int]], beam_size: int
    ) -> list[list[int]]:
        """Translate the sources of one batch."""
        longest = max(map(len, sources))
        n = min(2 * longest + 16, self.max_source_length)
        source, lengths = pad(
            sources,
            bucket_length(
                longest, self.max_source_length, self.compute.device
            ),
        )
        with compute_context(self.compute):
            if beam_size == 1 and self.graph_decoder is not None:
                return self.graph_decoder.generate(
                    source, lengths, max_length=n
                )
            if isinstance(self.decoder, IncrementalDecoder):
                if beam_size == 1:
                    return fast_generate(
                        self.decoder, source, lengths, max_length=n
                    )
                return fast_beam_search(
                    self.decoder,
                    source,
                    lengths,
                    max_length=n,
                    beam_size=beam_size,
                )
            source = source.to(self.compute.device)
            lengths = lengths.to(self.compute.device)
            if beam_size == 1:
                return generate(self.decoder, source, lengths, max_length=n)
            return beam_search(
                self.decoder,
                source,
                lengths,
                max_length=n,
                beam_size=beam_size,
            )


def _silence(model: Transformer, token_id: int) -> Transformer:
    """Return a copy that never says this token.

    Its logit is 0, far below that of the best token.
    """
    silent = copy.deepcopy(model)
    with torch.no_grad():
        silent.target_embedding.tokens.weight[token_id].zero_()
    return silent


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
