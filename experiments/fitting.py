"""Translators trained and judged, for "Robustness and fairness"."""

from typing import Any

import torch

from attention_book.generation import Translator
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.punctuation import detokenize
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
)
from attention_book.training.chunked_loss import chunked_translation_loss


Pair = tuple[str, str]
Tokenizers = tuple[WordTokenizer | BPETokenizer, WordTokenizer]


def fit(
    pairs: list[Pair],
    tokenizers: Tokenizers,
    sizes: dict[str, Any],
    config: TrainingConfig,
    n_steps: int,
) -> Translator:
    """Train a translator for a number of steps."""
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
    for _ in range(n_steps):
        trainer.step()
    return Translator(model.eval(), source, target)


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
