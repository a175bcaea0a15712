"""Every one-word change of a hundred sentences, early in training: chapter 26.

The translators of the grammar after 400 of their 2,200 steps, and at the end.
Where cross-attention moves further, are translations wrong more often?
"""

import torch

from attention_book.cli.corpora import load_corpus, train_tokenizers
from attention_book.corpus import make_split
from attention_book.fast_decoding import Translator
from attention_book.losses import chunked_translation_loss
from attention_book.robust import TracedGrammar
from attention_book.training import (
    BatchLoader,
    Trainer,
    TrainingConfig,
    encode_pairs,
)
from attention_book.transformer import PRESETS, Transformer, TransformerConfig
from experiments.one_word import search
from experiments.record import percent, spread
from experiments.translators import translator


SEEDS = range(3)
STEPS = 400
N_SEARCHED = 100


def early(seed: int) -> Translator:
    """The translator of a seed as it is after the first steps."""
    torch.set_num_threads(1)
    corpus = load_corpus("grammar")
    tokenizers = train_tokenizers(corpus, "grammar", 0)
    source_vocab_size, target_vocab_size = map(len, tokenizers)
    config = TrainingConfig(seed=seed)
    torch.manual_seed(seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            **PRESETS["small"],
        )
    )
    batches = BatchLoader(encode_pairs(corpus.train, *tokenizers), config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    for _ in range(STEPS):
        trainer.step()
    return Translator(model.eval(), *tokenizers)


def run(seed: int) -> dict[str, float]:
    grammar = TracedGrammar()
    pairs = make_split(n_train=1, n_test=1000, grammar=grammar).sentences
    results = {}
    for name, model in {
        "early": early(seed),
        "whole": translator(seed),
    }.items():
        found = search(model, pairs[:N_SEARCHED], grammar, seed)
        results |= {f"{name}, {key}": value for key, value in found.items()}
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    names = {
        "right": "改之前译对 | right before",
        "random": "随机换一个词，译错 | wrong after a random change",
        "attacked": "有一种换法译错 | wrong after some change",
    }
    models = ("early", "whole")
    search_table = [
        [
            "100 句 | 100 sentences",
            f"{STEPS} 步 | {STEPS} steps",
            "2,200 步 | 2,200 steps",
        ]
    ] + [
        [
            title,
            *(percent(results[f"{m}, search: {name}"]) for m in models),
        ]
        for name, title in names.items()
    ]
    rows = {
        "right": "移动，译对 | movement, right",
        "wrong": "移动，译错 | movement, wrong",
        "area": "AUC，移动 | AUC, movement",
        "area of doubt": "AUC，置信度 | AUC, confidence",
    }
    attention = [
        ["换词以后 | after the change", f"{STEPS} 步 | {STEPS} steps"]
    ]
    attention += [
        [title, spread(results[f"early, attention: {name}"])]
        for name, title in rows.items()
    ]
    return {"search": search_table, "attention": attention}
