"""Make the translator that the wheel carries, out of one that was trained.

    attention-book train everyday.safetensors --recipe everyday --corpus cmn.txt
    python -m corpora.bundled.everyday_model everyday.safetensors

The numbers go into attention_book/models/everyday.safetensors as int8, with
the sources of the data and a calibration. That is fitted to translations of
validation sentences which two readers judged (results/everyday-judged.tsv;
it has no sentence of the corpus, only where it stands). Scores on the exam,
judged alike (corpora/exam/verdicts.tsv), go to results/everyday-model.json.

`--sheet FOLDER --corpus cmn.txt` writes what the readers are to judge, as
corpora/exam/README.md tells them, without the confidence; and tables for
their verdicts, where "rarest" is in how many training sentences the rarest
word of the source, or character of Chinese, occurs, and "alike" how many
pairs of the whole corpus have nearly the same source.
"""

import argparse
import csv
import itertools
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from attention_book import Translator
from attention_book.data.similarity import SimilarTexts
from attention_book.data.sources import load_corpus
from attention_book.generation.confidence import Calibration
from attention_book.generation.lost import find_lost
from attention_book.generation.scores import references_of
from attention_book.generation.translator import EVERYDAY
from attention_book.tokenizers.directions import space_scripts
from corpora.exam import VERDICTS, read_exam, read_rows


ABOUT = {  # goes into the file
    "source": "Trained on English-Chinese sentence pairs of Tatoeba "
    "(tatoeba.org) and its contributors, as manythings.org/anki has them.",
    "licence": "Tatoeba: CC BY 2.0 FR",
}
JUDGED = Path(__file__).with_name("results") / "everyday-judged.tsv"
RESULTS = JUDGED.with_name("everyday-model.json")
DIRECTIONS = ("en-zh", "zh-en")
N_JUDGED = 200  # validation sentences a direction
BEAM_SIZE = 4  # as the command translates
FALSE_ALARMS = 0.13  # of right translations, where the threshold is chosen


class Question(NamedTuple):
    """A sentence to translate, with translations that are right."""

    name: str  # of the set it is from
    direction: str
    number: int
    source: str
    references: tuple[str, ...]


class Answer(NamedTuple):
    """A translation, and what the model knows of it."""

    text: str
    mean_log_prob: float  # of its tokens
    n_tokens: int
    is_whole: bool  # nothing got lost


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write a table of tab-separated columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        columns = [*rows[0]]
        writer = csv.DictWriter(
            file, columns, dialect="excel-tab", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)


def exam_questions() -> list[Question]:
    """The exam in both directions: everyday sentences, and from outside."""
    questions = []
    for name in ("everyday", "outside"):
        for i, row in enumerate(read_exam(name), 1):
            english = row["english"], row["english_2"]
            chinese = row["chinese"], row["chinese_2"]
            questions += [
                Question(name, "en-zh", i, english[0], chinese),
                Question(name, "zh-en", i, chinese[0], english),
            ]
    return questions


def validation_questions(corpus: str) -> list[Question]:
    """Sentences of the validation set, drawn by the seed 0."""
    pairs = load_corpus(corpus).validation
    rng = random.Random(0)
    questions = []
    for direction in DIRECTIONS:
        rows = [tuple(map(space_scripts, pair)) for pair in pairs]
        rows = [row if direction == "en-zh" else row[::-1] for row in rows]
        known = references_of(rows)
        for i in sorted(rng.sample(range(len(known)), N_JUDGED)):
            source = [*known][i]
            found = tuple(known[source])
            questions.append(
                Question("validation", direction, i, source, found)
            )
    return questions


def answer(
    translator: Translator, questions: Sequence[Question]
) -> list[Answer]:
    """Translate all by beam search."""
    sources = [translator.encode(x.source) for x in questions]
    generated = translator.generate(sources, BEAM_SIZE)
    answers = []
    for question, found in zip(questions, generated, strict=True):
        text = translator.target.decode(found)
        lost = find_lost(question.source, text, translator.source)
        mean = found.log_prob / len(found)
        answers.append(Answer(text, mean, len(found), not lost))
    return answers


def is_acceptable(row: dict[str, str]) -> bool:
    """Whether the two readers say so, or a third one where they differ."""
    first, second, third = (row[x] for x in ("first", "second", "third"))
    return (first if first == second else third) == "+"


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


def calibrate(rows: Sequence[dict[str, str]]) -> Calibration:
    """Fit confidence to judged translations, and choose its threshold.

    Of the right ones in which nothing got lost, FALSE_ALARMS are below it.
    """
    log_probs = [float(row["mean_log_prob"]) for row in rows]
    right = [is_acceptable(row) for row in rows]
    found = fit_calibration(log_probs, right)
    sure = sorted(
        found.confidence(x)
        for x, row, is_right in zip(log_probs, rows, right, strict=True)
        if is_right and row["whole"] == "+"
    )
    threshold = sure[int(FALSE_ALARMS * len(sure))]
    return Calibration(*(round(x, 3) for x in (*found[:2], threshold)))


class Judged(NamedTuple):
    """A translation with its verdict, and what the model says of it."""

    is_right: bool
    confidence: float
    is_sure: bool


def judged(
    rows: Iterable[dict[str, str]], calibration: Calibration
) -> list[Judged]:
    """Hold the verdicts against the model's confidence."""
    found = []
    for row in rows:
        confidence = calibration.confidence(float(row["mean_log_prob"]))
        is_sure = bool(calibration.is_sure(confidence))
        is_whole = row["whole"] == "+"
        found.append(
            Judged(is_acceptable(row), confidence, is_sure and is_whole)
        )
    return found


def summarize(rows: Sequence[Judged]) -> dict[str, Any]:
    """Count what is right, wrong and doubted."""
    wrong = [row for row in rows if not row.is_right]
    right = [row for row in rows if row.is_right]
    return {
        "sentences": len(rows),
        "right": len(right),
        "wrong": len(wrong),
        "wrong, doubted": sum(not row.is_sure for row in wrong),
        "right, doubted": sum(not row.is_sure for row in right),
        "calibration error": round(calibration_error(rows), 3),
    }


def reliability(
    rows: Sequence[Judged],
    edges: Sequence[float] = (0, 0.2, 0.4, 0.6, 0.8, 1),
) -> list[list[float]]:
    """Rows of lowest confidence, sentences, mean confidence, share right."""
    found = []
    for low, high in itertools.pairwise(edges):
        part = [
            row
            for row in rows
            if low <= row.confidence < high or row.confidence == high == 1
        ]
        if part:
            mean = math.fsum(row.confidence for row in part) / len(part)
            right = sum(row.is_right for row in part) / len(part)
            found.append([low, len(part), round(mean, 3), round(right, 3)])
    return found


def calibration_error(rows: Sequence[Judged], n_bins: int = 10) -> float:
    """Mean gap between confidence and share right, by bins of confidence.

    Source: Guo et al. (2017), eq. 3.
    """
    edges = [i / n_bins for i in range(n_bins + 1)]
    gaps = [
        n * abs(mean - right) for _, n, mean, right in reliability(rows, edges)
    ]
    return sum(gaps) / len(rows)


_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[\u4e00-\u9fff]")


def words_of(text: str) -> set[str]:
    """The English words and the Chinese characters of a text."""
    return {*_WORD.findall(text.lower())}


def write_sheets(translator: Translator, corpus: str, folder: Path) -> None:
    """Write what readers are to judge, and tables for their verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    train, validation, tests = load_corpus(corpus)
    known = Counter(
        word for pair in train for x in pair for word in words_of(x)
    )
    everything = [*train, *validation, *(x for y in tests.values() for x in y)]
    english, chinese = map(SimilarTexts, zip(*everything, strict=True))
    similar = {"en-zh": english, "zh-en": chinese}
    for name, questions in (
        ("exam", exam_questions()),
        ("validation", validation_questions(corpus)),
    ):
        answers = answer(translator, questions)
        write_rows(
            folder / f"{name}-sheet.tsv",
            [
                {
                    "row": i,
                    "source": x.source,
                    "reference": x.references[0],
                    "reference_2": [*x.references, ""][1],
                    "translation": y.text,
                }
                for i, (x, y) in enumerate(
                    zip(questions, answers, strict=True), 1
                )
            ],
        )
        rows = []
        for x, y in zip(questions, answers, strict=True):
            row = {"set": x.name, "direction": x.direction, "number": x.number}
            if name == "exam":
                row |= {"source": x.source, "translation": y.text}
            row |= {
                "mean_log_prob": f"{y.mean_log_prob:.4f}",
                "tokens": y.n_tokens,
                "rarest": min(known[word] for word in words_of(x.source)),
                "alike": len(similar[x.direction].near(x.source)),
                "whole": "-+"[y.is_whole],
            }
            rows.append(row)
        write_rows(folder / f"{name}-answers.tsv", rows)


def results_of(calibration: Calibration) -> dict[str, Any]:
    """What the verdicts say of the model, to be written down."""
    rows = read_rows(VERDICTS)
    everything = judged(rows, calibration)
    parts: dict[str, list[Judged]] = {}
    for row, found in zip(rows, everything, strict=True):
        parts.setdefault(f"{row['set']}, {row['direction']}", []).append(found)
    return {
        "bytes": EVERYDAY.stat().st_size,
        "calibration": calibration._asdict(),
        "exam": {
            name: summarize(part)
            for name, part in (parts | {"all": everything}).items()
        },
        "kinds": dict(Counter(row["kind"] for row in rows if row["kind"])),
        "reliability": reliability(everything),
        "validation": summarize(judged(read_rows(JUDGED), calibration)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--corpus", default="cmn.txt")
    options = parser.parse_args()
    translator = Translator.load(options.trained)
    if JUDGED.exists():
        translator.calibration = calibrate(read_rows(JUDGED))
    translator.save(EVERYDAY, torch.int8, **ABOUT)
    if options.sheet:
        write_sheets(Translator.load(), options.corpus, options.sheet)
        return
    results = results_of(translator.calibration)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    print(RESULTS.read_text("utf-8"))


if __name__ == "__main__":
    main()
