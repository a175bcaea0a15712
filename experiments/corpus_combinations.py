"""Does a translator know pairs of words that it never saw together?

A model is trained as `attention-book train` trains it, and is scored on both
tests of the chapter "A corpus" while it learns.
"""

import copy

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
)
from attention_book.data.sources import load_corpus, train_tokenizers
from attention_book.generation.scores import score
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.punctuation import detokenize
from attention_book.training.chunked_loss import chunked_translation_loss
from experiments.record import percent


SEEDS = range(3)
STEPS = (200, 400, 800, 2200)


def run(seed: int) -> dict[str, float]:
    """Train one model; return the exact matches as fractions."""
    corpus = load_corpus("grammar")
    tokenizers = train_tokenizers(corpus.train, "grammar", 0)
    source_vocab_size, target_vocab_size = map(len, tokenizers)
    config = TrainingConfig(max_steps=STEPS[-1], seed=seed)
    torch.manual_seed(seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            **PRESETS["small"],
        )
    )
    batches = TranslationBatches(
        encode_pairs(corpus.train, *tokenizers), config
    )
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    found = {}
    for step in range(1, STEPS[-1] + 1):
        trainer.step()
        if step not in STEPS:
            continue
        translator = Translator(copy.deepcopy(model).eval(), *tokenizers)
        for name, pairs in corpus.tests.items():
            sources, targets = zip(*pairs, strict=True)
            outputs = translator.translate(sources)
            exact = score(
                outputs, [detokenize(text) for text in targets]
            ).exact
            found[f"{name}, step {step}"] = exact / 100
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """Exact matches after so many steps of training."""
    head = [
        "训练步数 | steps of training",
        "没见过的句子 | unseen sentences",
        "没见过的搭配 | unseen combinations",
    ]
    tests = ("unseen sentences", "unseen combinations")
    rows = [
        [
            f"{step:,}",
            *(percent(results[f"{name}, step {step}"]) for name in tests),
        ]
        for step in STEPS
    ]
    return {"steps": [head, *rows]}
