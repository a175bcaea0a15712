"""Make the model that the wheel carries: python -m corpora.bundled.grammar_model

It is trained as the command of the book trains, on the wide grammar, written in half
precision to attention_book/models/grammar.safetensors, and scored as written:
on unseen sentences of both grammars, and on 300 sentences that an independent
author wrote without knowing the grammar (tests/data), whose accepted
translations stand beside them. Seed, time and scores go to
results/grammar-model.json. `--score` only scores the model that is there;
`--calibrate` prints the numbers for the translator's calibration, from 450
other sentences by such authors and from sentences of the grammar.
Without two quiet cores the time is no measure.
"""

import gzip
import itertools
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from attention_book.data.split import make_split
from attention_book.generation import (
    GRAMMAR,
    Calibration,
    Translation,
    Translator,
)
from attention_book.io import save_model
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.punctuation import detokenize
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
)
from attention_book.training.chunked_loss import chunked_translation_loss
from corpora.wide.corpus import make_wide_corpus
from corpora.wide.grammar import make_wide_split


RESULTS = Path(__file__).with_name("results") / "grammar-model.json"
DATA = Path(__file__).parents[2] / "tests" / "data"
PEOPLE = DATA / "newcomers.jsonl.gz"
CALIBRATION = DATA / "newcomers-calibration.jsonl.gz"
MAX_STEPS = 15_000
FALSE_ALARMS = 0.01  # at most, where the threshold is chosen


class Judged(NamedTuple):
    """A translation of a sentence, and whether it is right."""

    source: str
    found: Translation
    is_right: bool


def judge_grammar(
    translator: Translator, pairs: list[tuple[str, str]]
) -> list[Judged]:
    """Translate sentences of a grammar, each with its one translation."""
    sources, targets = zip(*pairs, strict=True)
    found = translator.translate_with_confidence(sources)
    return [
        Judged(source, translation, translation.text == detokenize(target))
        for source, translation, target in zip(
            sources, found, targets, strict=True
        )
    ]


def judge_people(translator: Translator, path: Path = PEOPLE) -> list[Judged]:
    """Translate what people wrote, each with all accepted translations.

    The final punctuation mark is not compared.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    sources = [row["source"] for row in rows]
    found = translator.translate_with_confidence(sources)
    judged = []
    for row, translation in zip(rows, found, strict=True):
        accepted = {text.rstrip("。！？") for text in row["references"]}
        is_right = translation.text.rstrip("。！？") in accepted
        judged.append(Judged(row["source"], translation, is_right))
    return judged


def exact(judged: list[Judged]) -> float:
    """Right translations in percent."""
    return 100 * sum(row.is_right for row in judged) / len(judged)


def unsure(judged: list[Judged]) -> float:
    """Translations of which the model is not sure, in percent."""
    return 100 * sum(not row.found.is_sure for row in judged) / len(judged)


def reliability(
    judged: list[Judged],
    edges: tuple[float, ...] = (0, 0.2, 0.5, 0.8, 0.95, 1),
) -> list[list[float]]:
    """Rows of lowest confidence, sentences, mean confidence, share right."""
    rows = []
    for low, high in itertools.pairwise(edges):
        part = [
            row
            for row in judged
            if low <= row.found.confidence < high
            or (high == 1 and row.found.confidence == 1)
        ]
        if part:
            mean = math.fsum(row.found.confidence for row in part) / len(part)
            right = sum(row.is_right for row in part) / len(part)
            rows.append([low, len(part), round(mean, 3), round(right, 3)])
    return rows


def calibration_error(judged: list[Judged], n_bins: int = 10) -> float:
    """Mean gap between confidence and share right, by bins of confidence.

    Source: Guo et al. (2017), eq. 3.
    """
    edges = tuple(i / n_bins for i in range(n_bins + 1))
    gaps = [
        n * abs(mean - right)
        for _, n, mean, right in reliability(judged, edges)
    ]
    return sum(gaps) / len(judged)


def evaluate(translator: Translator) -> dict[str, Any]:
    """Score the model that the package carries."""
    wide = make_wide_split(n_train=1, n_test=1000)
    narrow = make_split(n_train=1, n_test=1000)
    judged = {
        "unseen sentences": judge_grammar(translator, wide.sentences),
        "unseen combinations": judge_grammar(translator, wide.combinations),
        "narrow, unseen sentences": judge_grammar(
            translator, narrow.sentences
        ),
        "narrow, unseen combinations": judge_grammar(
            translator, narrow.combinations
        ),
    }
    return {
        "exact": {name: exact(rows) for name, rows in judged.items()},
        "false alarms": {
            name: round(unsure([row for row in rows if row.is_right]), 2)
            for name, rows in judged.items()
        },
        "people": summarize(judge_people(translator)),
    }


def summarize(people: list[Judged]) -> dict[str, Any]:
    """Count what is right, wrong and flagged."""
    wrong = [row for row in people if not row.is_right]
    right = [row for row in people if row.is_right]
    return {
        "sentences": len(people),
        "right": len(right),
        "wrong": len(wrong),
        "wrong, flagged": sum(not row.found.is_sure for row in wrong),
        "right, flagged": sum(not row.found.is_sure for row in right),
        "calibration error": round(calibration_error(people), 3),
        "reliability": reliability(people),
    }


def fit_calibration(
    log_probs: Sequence[float], right: Sequence[bool]
) -> Calibration:
    """Fit scale and offset by logistic regression.

    Args:
        log_probs: What the model gave to its translations.
        right: Which of them were right.

    Source: Platt (1999), §2.2, with his smoothed labels.
    """
    odds = [x - math.log1p(-min(math.exp(x), 1 - 1e-6)) for x in log_probs]
    x = torch.tensor(odds)
    n_right, n_wrong = sum(right), len(right) - sum(right)
    smoothed = (1 / (n_wrong + 2), (n_right + 1) / (n_right + 2))
    labels = torch.tensor([smoothed[is_right] for is_right in right])
    line = torch.tensor([1.0, 0.0], requires_grad=True)
    optimizer: Any = torch.optim.LBFGS([line], max_iter=100)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        found = F.binary_cross_entropy_with_logits(
            line[0] * x + line[1], labels
        )
        torch.autograd.backward(found)
        return found

    optimizer.step(loss)
    scale, offset = line.tolist()
    return Calibration(scale, offset)


def calibrate(translator: Translator) -> Calibration:
    """Fit confidence to people's sentences, and choose its threshold.

    Those sentences are not among the ones that the model is scored on. The
    threshold is the highest with few false alarms on the grammar.
    """
    translator.calibration = Calibration()
    people = judge_people(translator, CALIBRATION)
    found = fit_calibration(
        [math.log(max(row.found.confidence, 1e-300)) for row in people],
        [row.is_right for row in people],
    )
    translator.calibration = found
    lowest = []
    for pairs in make_wide_split(n_train=1, n_test=2000, seed=1)[1:]:
        judged = judge_grammar(translator, pairs)
        right = sorted(row.found.confidence for row in judged if row.is_right)
        lowest.append(right[int(FALSE_ALARMS * len(right))])
    return found._replace(threshold=min(lowest))


def train() -> float:
    """Train the model, save it, and return the seconds."""
    start = time.perf_counter()
    pairs = make_wide_corpus().train
    source, target = map(WordTokenizer.train, zip(*pairs, strict=True))
    config = TrainingConfig(max_steps=MAX_STEPS)
    torch.manual_seed(config.seed)
    shape = PRESETS["small"] | {"dropout": 0.0}
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            **shape,
        )
    )
    batches = TranslationBatches(encode_pairs(pairs, source, target), config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    while len(trainer.losses) < MAX_STEPS:
        trainer.step()
    save_model(
        GRAMMAR, model, tokenizers=(source, target), dtype=torch.float16
    )
    return time.perf_counter() - start


def main() -> None:
    results = {}
    if "--calibrate" in sys.argv:
        print(calibrate(Translator.load()))
        return
    if "--score" in sys.argv:
        results = json.loads(RESULTS.read_text())
    else:
        seconds = train()
        results = {
            "command": "python -m corpora.bundled.grammar_model",
            "max_steps": MAX_STEPS,
            "seed": 0,
            "seconds": round(seconds),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }
    results |= evaluate(Translator.load())
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
