"""Make the model that the wheel carries: python -m benchmarks.grammar_model

It is trained by the command of the book on the wide grammar, written in half
precision to attention_book/models/grammar.safetensors, and scored as written:
on unseen sentences of both grammars, and on 300 sentences that an independent
author wrote without knowing the grammar (tests/data/newcomers.jsonl), whose
accepted translations stand beside them. Seed, time and scores go to
results/grammar-model.json. `--score` only scores the model that is there.

The numbers of the translator's calibration were fitted on another 150
sentences of that author (tests/data/newcomers-calibration.jsonl).
Without two quiet cores the time is no measure.
"""

import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attention_book.checkpoints import load_model, save_model
from attention_book.corpus import detokenize, make_split
from attention_book.corpus.wide_grammar import make_wide_split
from attention_book.decoding import Translation
from attention_book.fast_decoding import GRAMMAR, Translator


RESULTS = Path(__file__).with_name("results") / "grammar-model.json"
PEOPLE = Path(__file__).parents[1] / "tests" / "data" / "newcomers.jsonl"
OPTIONS = "--corpus wide --max-steps 5000 --dropout 0"


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
    lines = path.read_text("utf-8").splitlines()
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
    people = judge_people(translator)
    wrong = [row for row in people if not row.is_right]
    right = [row for row in people if row.is_right]
    return {
        "exact": {name: exact(rows) for name, rows in judged.items()},
        "false alarms": {
            name: round(unsure([row for row in rows if row.is_right]), 2)
            for name, rows in judged.items()
        },
        "people": {
            "sentences": len(people),
            "right": len(right),
            "wrong": len(wrong),
            "wrong, flagged": sum(not row.found.is_sure for row in wrong),
            "right, flagged": sum(not row.found.is_sure for row in right),
            "calibration error": round(calibration_error(people), 3),
            "reliability": reliability(people),
        },
    }


def train() -> float:
    """Train the model, put it into the package, and return the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = ["attention_book.cli", "train", "grammar.safetensors"]
        subprocess.run(
            [sys.executable, "-m", *command, *OPTIONS.split()],
            cwd=folder,
            check=True,
        )
        seconds = time.perf_counter() - start
        saved = load_model(Path(folder, command[-1]))
    save_model(
        GRAMMAR,
        saved.model,
        tokenizers=saved.tokenizers,
        dtype=torch.float16,
    )
    return seconds


def main() -> None:
    results = {}
    if "--score" in sys.argv:
        results = json.loads(RESULTS.read_text())
    else:
        seconds = train()
        results = {
            "command": f"attention-book train grammar.safetensors {OPTIONS}",
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
