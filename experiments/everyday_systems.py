"""Translators of everyday sentences, and what any of them must surpass.

All are scored on the test sentences, none of which is nearly the same as one
to learn from. Three need no training: copying, the nearest neighbour, and
word by word. A GRU with attention learns from all pairs, with the best of
five learning rates, and counts as it was when the loss of validation
sentences was least. The small Transformer is that of everyday-data, with one
rate only. The last one is the book's own, of which there is one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from attention_book import TrainingConfig, Translator
from attention_book.data.readers import Pair
from attention_book.io.tensors import read_tensors, write_tensors
from attention_book.models.seq2seq import AttentiveSeq2Seq
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.directions import DIRECTIONS, with_direction
from experiments.everyday import CACHE, corpus, directed, exam, train
from experiments.everyday_baselines import (
    WordByWord,
    nearest,
    train_gru,
    translate_gru,
)
from experiments.everyday_data import ALL
from experiments.record import spread


SEEDS = range(3)
GRU_WIDTH = 128  # as the Transformer
GRU = TrainingConfig(
    max_steps=2500,
    batch_tokens=2000,
    warmup_steps=200,
    label_smoothing=0.1,
)
GRU_RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)  # tried with the first seed
TITLES = {
    "copy": "照抄 | copy the source",
    "nearest": "最像的一句的译文 | nearest neighbour",
    "words": "逐词 | word by word",
    "gru": "GRU 加注意力 | GRU with attention",
    "small": "小 Transformer | a small Transformer",
    "book": "随书的模型 | the book's model",
}


@dataclass
class Scored:
    """Scores with the half width of their 95% interval."""

    bleu: float
    bleu_interval: float
    chrf: float
    chrf_interval: float
    exact: float


def score(outputs: Sequence[str], known: Sequence[Sequence[str]]) -> Scored:
    """Score translations, with intervals of 1,000 resamples."""
    streams = [
        [refs[i] if i < len(refs) else "" for refs in known]
        for i in range(max(map(len, known)))
    ]
    bleu: Any = BLEU(tokenize="zh").corpus_score(outputs, streams, 1000)
    chrf: Any = CHRF().corpus_score(outputs, streams, 1000)
    exact = sum(x in refs for x, refs in zip(outputs, known, strict=True))
    return Scored(
        bleu.score, bleu._ci, chrf.score, chrf._ci, 100 * exact / len(outputs)
    )


def run(seed: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    parts = corpus()
    (test,) = parts.tests.values()
    found: dict[str, Any] = {}
    for direction in ("en-zh", "zh-en"):
        known = exam(test, direction)
        for name, outputs in systems(direction, [*known], seed).items():
            scored = score(outputs, [*known.values()])
            for metric, value in vars(scored).items():
                found[f"{direction}, {name}: {metric}"] = value
    return found


def systems(
    direction: str, sources: list[str], seed: int
) -> dict[str, list[str]]:
    """The translations of each, kept once they are made."""
    pairs: list[Pair] = corpus().train
    if direction == "zh-en":
        pairs = [(y, x) for x, y in pairs]

    def from_gru() -> list[str]:
        rate = min(GRU_RATES, key=lambda rate: gru(rate, SEEDS[0])[2])
        model, tokens, _ = gru(rate, seed)
        directed = [with_direction(text) for text in sources]
        return translate_gru(model, tokens, directed)

    def from_small() -> list[str]:
        small = train(ALL, seed, f"small, seed {seed}:").translator
        return small.translate(sources)

    makers: dict[str, Callable[[], list[str]]] = {
        "copy": lambda: sources,
        "nearest": lambda: nearest(pairs, sources),
        "words": lambda: WordByWord(pairs).translate(sources),
        f"gru-{seed}": from_gru,
        f"small-{seed}": from_small,
        "book": lambda: Translator.load().translate(sources),
    }
    return {
        name.partition("-")[0]: _kept(f"{direction}-{name}", make)
        for name, make in makers.items()
    }


def _kept(name: str, make: Callable[[], list[str]]) -> list[str]:
    """What was made before, or is made now."""
    path = CACHE / f"outputs-{name}.json"
    if not path.exists():
        path.write_text(json.dumps(make(), ensure_ascii=False), "utf-8")
    kept: list[str] = json.loads(path.read_text("utf-8"))
    return kept


@cache
def gru(
    rate: float, seed: int
) -> tuple[AttentiveSeq2Seq, BPETokenizer, float]:
    """A GRU for both directions, its subwords, and its loss unseen."""
    train, validation = corpus()[:2]
    pairs, held_out = directed(train, "both"), directed(validation, "both")
    tokens = BPETokenizer.train(
        [text for pair in pairs for text in pair], ALL.vocab_size, DIRECTIONS
    )
    path = CACHE / f"gru-{rate}-{seed}.safetensors"
    if not path.exists():
        config = replace(GRU, learning_rate=rate, seed=seed)
        model, loss = train_gru(pairs, held_out, tokens, config, GRU_WIDTH)
        write_tensors(path, model.state_dict(), {"loss": str(loss)})
    weights, metadata = read_tensors(path)
    model = AttentiveSeq2Seq(len(tokens), len(tokens), GRU_WIDTH)
    model.load_state_dict(weights)
    return model.eval(), tokens, float(metadata["loss"])


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "怎样译 | system",
            "英译汉，chrF | en–zh, chrF",
            "BLEU",
            "汉译英，chrF | zh–en, chrF",
            "BLEU",
        ]
    ]

    def cell(direction: str, name: str, metric: str) -> str:
        values: list[float] = results[f"{direction}, {name}: {metric}"]
        ci = results[f"{direction}, {name}: {metric}_interval"][0]
        if min(values) == max(values):
            return f"{values[0]:.1f} ± {ci:.1f}"
        return spread(values, 1)

    for name, title in TITLES.items():
        rows.append(
            [
                title,
                *(
                    cell(direction, name, metric)
                    for direction in ("en-zh", "zh-en")
                    for metric in ("chrf", "bleu")
                ),
            ]
        )
    return {"systems": rows}
