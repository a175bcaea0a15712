"""The small model of the chapter "Training", trained as it trains it."""

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    TranslationBatches,
    WordTokenizer,
    encode_pairs,
    validation_loss,
)
from attention_book.data.batches import pad
from attention_book.data.split import Split, make_split
from attention_book.generation.generate import generate
from attention_book.tokenizers.punctuation import detokenize
from attention_book.training.loading import Example
from experiments.record import percent, spread


SEEDS = range(3)
N_SHOWN = 4

CONFIG = TrainingConfig(  # of the chapter
    max_steps=350,
    batch_tokens=1000,
    learning_rate=5e-3,
    warmup_steps=100,
    schedule="inverse_sqrt",
)


class Texts(NamedTuple):
    """The sentences, and the vocabularies of their training part."""

    split: Split
    english: WordTokenizer
    chinese: WordTokenizer

    def encode(self, pairs: Any) -> list[Example]:
        return encode_pairs(pairs, self.english, self.chinese)


@cache
def make_texts() -> Texts:
    split = make_split(n_train=20_000, n_test=200)
    return Texts(
        split,
        WordTokenizer.train(source for source, _ in split.train),
        WordTokenizer.train(target for _, target in split.train),
    )


def make_trainer(config: TrainingConfig, **shape: Any) -> Trainer:
    """A new model from the config's seed, and its trainer."""
    texts = make_texts()
    torch.manual_seed(config.seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(texts.english),
            target_vocab_size=len(texts.chinese),
            d_model=64,
            n_heads=4,
            d_ff=256,
            **shape,
        )
    )
    batches = TranslationBatches(texts.encode(texts.split.train), config)
    return Trainer(model, batches, config)


def translate(model: Transformer) -> list[str]:
    """Translate the unseen sentences."""
    texts = make_texts()
    source, lengths = pad(
        [texts.english.encode(text) for text, _ in texts.split.sentences]
    )
    rows = generate(model.eval(), source, lengths, max_length=40)
    return [texts.chinese.decode(row) for row in rows]


def held_out() -> list[Example]:
    """The unseen sentences as token ids."""
    texts = make_texts()
    return texts.encode(texts.split.sentences)


def loss_of(trainer: Trainer) -> float:
    """The loss of the trainer's model on the unseen sentences."""
    batches = TranslationBatches(held_out(), trainer.config)
    return validation_loss(trainer, batches)


def right(outputs: list[str]) -> list[bool]:
    """Whether each translation of an unseen sentence is exact."""
    pairs = make_texts().split.sentences
    wanted = [detokenize(target) for _, target in pairs]
    return [a == b for a, b in zip(outputs, wanted, strict=True)]


def chapter(seed: int) -> dict[str, Any]:
    """Train as the chapter does; its loss, and some translations."""
    config = replace(CONFIG, seed=seed)
    trainer = make_trainer(config, n_layers=1, norm="pre")
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    outputs = translate(trainer.model)
    exact = right(outputs)
    found: dict[str, Any] = {
        "exact": sum(exact) / len(exact),
        "loss": loss_of(trainer),
    }
    for name, good in {"right": True, "wrong": False}.items():
        rows = [i for i, ok in enumerate(exact) if ok is good]
        for n, i in enumerate(rows[:N_SHOWN]):
            source, target = make_texts().split.sentences[i]
            found[f"{name} {n} source"] = detokenize(source)
            found[f"{name} {n} target"] = detokenize(target)
            found[f"{name} {n} output"] = outputs[i]
    return found


def run(seed: int) -> dict[str, Any]:
    return chapter(seed)


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    model = [
        ["没见过的句子 | unseen sentences", "损失 | loss", "全对 | exact"],
        [
            "本章的模型 | this model",
            spread(results["loss"]),
            percent(results["exact"]),
        ],
    ]

    glosses = {  # of seed 0's mistakes, for readers of English
        0: "…, Jerry will hide six dirty hats at school",
        1: "that of “the tree” is missing",
        2: "…, prettier than Anna's flower",
        3: "because Tom chooses your dirty car in the kitchen every year, …",
    }
    shown = [["原文 | source", "译文 | translation", "正确的译文 | right"]]
    for name in ("right", "wrong"):
        for n in range(4):
            source, output, target = (
                results[f"{name} {n} {part}"][0]
                for part in ("source", "output", "target")
            )
            if name == "right":
                shown.append([source, output, "✓"])
                continue
            gloss = f"{output} | {output} ({glosses[n]})"
            shown.append([source, gloss, target])
    return {"model": model, "translations": shown}
