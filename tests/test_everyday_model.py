"""The translator that the package carries: its file, its exam, its doubts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from attention_book import Translator
from attention_book.data.split import make_split
from attention_book.generation.translator import EVERYDAY
from attention_book.io.tensors import open_tensors
from attention_book.tokenizers.punctuation import detokenize
from corpora.bundled import everyday_model
from corpora.bundled.everyday_model import (
    FALSE_ALARMS,
    JUDGED,
    RESULTS,
    Question,
    answer,
    calibrate,
    exam_questions,
    is_acceptable,
    judged,
    results_of,
    write_sheets,
)
from corpora.exam import VERDICTS, read_rows


pytestmark = pytest.mark.usefixtures("unchecked")  # as readers run it


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def test_the_verdicts_are_those_of_the_exam() -> None:
    rows = read_rows(VERDICTS)
    questions = exam_questions()
    assert len(rows) == len(questions) == 800
    for row, question in zip(rows, questions, strict=True):
        found = row["set"], row["direction"], int(row["number"])
        assert (*found, row["source"]) == question[:4]
        verdicts = [row[name] for name in ("first", "second", "third")]
        assert {*verdicts[:2]} <= {"+", "-"}
        assert (verdicts[2] in {"+", "-"}) == (verdicts[0] != verdicts[1])
        assert bool(row["kind"]) != is_acceptable(row)


def test_the_sheets_hide_confidence_and_the_tables_count(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How rare the rarest word is, and how many sources are nearly alike."""
    made = make_split(500, 1, seed=7).train
    pairs = [(detokenize(x).capitalize(), detokenize(y)) for x, y in made]
    pairs += [("Zebras yodel.", "斑马唱歌。"), ("Zebras yodel!", "斑马吼叫。")]
    corpus = tmp_path / "cmn.txt"
    corpus.write_text("\n".join(map("\t".join, pairs)), "utf-8")
    asked = [
        Question("everyday", "en-zh", 1, "Zebras yodel.", ("斑马唱歌。",)),
        Question("everyday", "en-zh", 2, "Penguins?", ("企鹅？",)),
    ]
    monkeypatch.setattr(everyday_model, "exam_questions", lambda: asked)
    monkeypatch.setattr(everyday_model, "N_JUDGED", 3)
    write_sheets(translator, str(corpus), tmp_path)
    sheet = read_rows(tmp_path / "exam-sheet.tsv")
    assert [*sheet[0]] == [
        "row", "source", "reference", "reference_2", "translation"
    ]  # fmt: skip
    known, unknown = read_rows(tmp_path / "exam-answers.tsv")
    assert (known["alike"], unknown["alike"]) == ("2", "0")
    assert int(known["rarest"]) > int(unknown["rarest"]) == 0
    rows = read_rows(tmp_path / "validation-answers.tsv")
    assert [row["direction"] for row in rows] == 3 * ["en-zh"] + 3 * ["zh-en"]
    assert all(int(row["alike"]) >= 1 for row in rows)


def test_the_committed_weights_translate_as_was_judged(
    translator: Translator,
) -> None:
    """A few may differ, as other processors add up in another order."""
    rows = read_rows(VERDICTS)[::10]
    answers = answer(translator, exam_questions()[::10])
    same = [
        row["translation"] == found.text
        and float(row["mean_log_prob"])
        == pytest.approx(found.mean_log_prob, abs=0.01)
        and row["whole"] == "-+"[found.is_whole]
        for row, found in zip(rows, answers, strict=True)
    ]
    assert sum(same) >= len(rows) - 3


def test_its_file_says_where_it_is_from_and_how_to_doubt(
    translator: Translator,
) -> None:
    assert EVERYDAY.stat().st_size < 12_000_000
    assert translator.is_bidirectional
    assert translator.calibration == calibrate(read_rows(JUDGED))
    with open_tensors(EVERYDAY) as file:
        assert "Tatoeba" in file.metadata["source"]
        assert "CC BY 2.0 FR" in file.metadata["licence"]


def test_what_is_written_down_follows_from_the_verdicts(
    translator: Translator,
) -> None:
    written: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    assert results_of(translator.calibration) == written


def test_the_threshold_doubts_a_given_share_of_the_right_ones() -> None:
    """Whatever the wrong ones are like, and whatever was lost."""
    base = {"third": "", "whole": "+"}
    rows = [
        base | {"first": v, "second": v, "mean_log_prob": str(-x / 100)}
        for v, places in (("+", range(1, 101)), ("-", range(50, 200, 3)))
        for x in places
    ]
    lost = {"first": "+", "second": "+", "mean_log_prob": "-9", "whole": "-"}
    calibration = calibrate([*rows, base | lost])
    right = [x for x in judged(rows, calibration) if x.is_right]
    doubted = sum(not x.is_sure for x in right)
    assert doubted == pytest.approx(100 * FALSE_ALARMS, abs=1)
    split = base | {"first": "+", "second": "-", "third": "-"}
    assert not is_acceptable(split)
    assert is_acceptable(split | {"third": "+"})


@pytest.mark.parametrize(
    ("text", "translations"),
    [
        ("I love you.", "我爱你。"),
        ("我爱你。", "I love you."),
        ("How are you?", "你(好吗|怎么样|还好吗|过得怎么样)？"),
        ("Where is the station?", "(车站|火车站)在(哪里|哪儿|哪)？"),
    ],
)
def test_what_newcomers_type_first(
    text: str, translations: str, translator: Translator
) -> None:
    for beam_size in 1, 4:
        (found,) = translator.translate_with_confidence(
            [text], beam_size=beam_size
        )
        assert re.fullmatch(translations, found.text)
        assert found.is_sure
