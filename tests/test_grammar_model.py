"""The weights that the package carries, scored again."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from attention_book.data.split import make_split
from attention_book.generation import GRAMMAR, Translator
from attention_book.models.config import PRESETS
from corpora.bundled.grammar_model import (
    PEOPLE,
    calibration_error,
    exact,
    judge_grammar,
    judge_people,
    unsure,
)
from corpora.wide.grammar import make_wide_split


RESULTS = Path("corpora/bundled/results/grammar-model.json")
pytestmark = pytest.mark.usefixtures("unchecked")  # as readers run it


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    return results


def test_the_committed_weights_score_what_is_written_down(
    translator: Translator, written: dict[str, Any]
) -> None:
    bars = {"unseen sentences": 99, "unseen combinations": 98}
    config = asdict(translator.model.config)
    size, *_ = PRESETS.values()
    assert {name: config[name] for name in size} == size
    assert GRAMMAR.stat().st_size < 2_500_000
    wide = make_wide_split(n_train=1, n_test=1000)
    for name, pairs in zip(bars, wide[1:], strict=True):
        judged = judge_grammar(translator, pairs)
        assert exact(judged) >= bars[name]
        other_kernels = 0.3
        assert abs(exact(judged) - written["exact"][name]) <= other_kernels
        alarms = unsure([row for row in judged if row.is_right])
        assert alarms <= 2
        assert abs(alarms - written["false alarms"][name]) <= other_kernels


def test_another_split_of_either_grammar_is_known_as_well(
    translator: Translator,
) -> None:
    narrow = make_split(n_train=1, n_test=300, seed=77)
    wide = make_wide_split(n_train=1, n_test=150, seed=77)
    for pairs, bar in zip(
        [*narrow[1:], *wide[1:]], [98.5, 98.5, 99, 98], strict=True
    ):
        assert exact(judge_grammar(translator, pairs)) >= bar


def test_what_is_wrong_in_sentences_that_people_wrote_is_doubted(
    translator: Translator, written: dict[str, Any]
) -> None:
    """An author who never saw the grammar wrote them, and their translations."""
    people = judge_people(translator, PEOPLE)
    wrong = [row for row in people if not row.is_right]
    right = [row for row in people if row.is_right]
    assert len(people) == len({row.source for row in people}) == 300
    assert unsure(wrong) >= 90
    found = {
        "right": len(right),
        "wrong, flagged": unsure(wrong) * len(wrong) / 100,
        "right, flagged": unsure(right) * len(right) / 100,
    }
    figures = written["people"]
    for name, number in found.items():
        assert number == pytest.approx(figures[name], abs=1)
    assert calibration_error(people) == pytest.approx(
        figures["calibration error"], abs=0.01
    )


def test_its_page_quotes_these_figures(written: dict[str, Any]) -> None:
    people = written["people"]
    wrong, flagged = people["wrong"], people["wrong, flagged"]
    right, alarms = people["right"], people["right, flagged"]
    text = Path("docs/source/confidence.md").read_text("utf-8")
    assert f"| {wrong} wrong | {wrong - flagged} | {flagged} |" in text
    assert f"| {right} right | {right - alarms} | {alarms} |" in text
    for exact_percent in [*written["exact"].values()][:2]:
        assert f"{exact_percent:.1f}%" in text


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("In the garden Tom bought a book.", "汤姆在花园里买了一本书。"),
        ("I'm washing the car!", "我正在洗那辆汽车！"),
        ("TOM isn't in the garden.", "汤姆不在花园里。"),
        ("Did anna find it?", "安娜找到了它吗？"),
        ("There is a bird in the tree.", "树上有一只鸟。"),
        ("It's your computer, Bob.", "它是你的电脑，鲍勃。"),
        ("Tom's cat's hat", "汤姆的猫的帽子。"),
    ],
)
def test_what_newcomers_type_first(
    text: str, translation: str, translator: Translator
) -> None:
    (found,) = translator.translate_with_confidence([text])
    assert found.text == translation
    assert found.is_sure
    assert translator.translate([text]) == [translation]


@pytest.mark.parametrize(
    "text",
    [
        "Green the sold tomorrow.",
        "Him I saw, not her.",
        "Tom Tom Tom.",
        ".",
    ],
)
def test_what_is_no_sentence_is_doubted(
    text: str, translator: Translator
) -> None:
    (found,) = translator.translate_with_confidence([text])
    assert not found.is_sure
    assert "…" not in found.text
