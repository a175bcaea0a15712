"""Translators trained and judged, for "Robustness and fairness"."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
)
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.punctuation import detokenize
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.chunked_loss import chunked_translation_loss


Pair = tuple[str, str]
Tokenizers = tuple[WordTokenizer | BPETokenizer, WordTokenizer]


def small_model(
    source: WordTokenizer, target: WordTokenizer, **changes: Any
) -> Transformer:
    """The Transformer of the chapter "Training", with changes."""
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 1}
    return Transformer(
        TransformerConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            **sizes | {"norm": "pre"} | changes,
        )
    )


def fit_in_stages(
    pairs: list[Pair],
    tokenizers: Tokenizers,
    sizes: dict[str, Any],
    config: TrainingConfig,
    steps: Sequence[int],
) -> Iterator[tuple[int, Translator]]:
    """Train a translator, and yield it after each of these steps."""
    source, target = tokenizers
    torch.manual_seed(config.seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            **sizes,
        )
    )
    batches = TranslationBatches(encode_pairs(pairs, source, target), config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    for step in range(1, steps[-1] + 1):
        trainer.step()
        if step in steps:
            yield step, Translator(model.eval(), source, target)
            model.train()


def fit(
    pairs: list[Pair],
    tokenizers: Tokenizers,
    sizes: dict[str, Any],
    config: TrainingConfig,
    n_steps: int,
) -> Translator:
    """Train a translator for a number of steps."""
    stages = fit_in_stages(pairs, tokenizers, sizes, config, [n_steps])
    _, translator = next(stages)
    return translator


def judge(
    model: Translator, pairs: list[Pair]
) -> tuple[torch.Tensor, torch.Tensor]:
    """How sure the model is of each translation, and whether it is right."""
    found = model.translate_with_confidence([text for text, _ in pairs])
    confidence = torch.tensor([each.confidence for each in found])
    right = [
        each.text == detokenize(chinese)
        for each, (_, chinese) in zip(found, pairs, strict=True)
    ]
    return confidence, torch.tensor(right)
