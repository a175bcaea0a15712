"""What the experiments on everyday sentences share, on made-up pairs."""

import dataclasses
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from attention_book import TrainingConfig
from attention_book.data.similarity import SimilarTexts
from attention_book.data.sources import both_directions
from attention_book.data.split import make_split
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.directions import DIRECTIONS
from attention_book.tokenizers.punctuation import detokenize
from experiments import everyday, everyday_data, everyday_search
from experiments.everyday import (
    Dropout,
    Recipe,
    exam,
    pairs_of,
    questions,
    read_cedict,
)
from experiments.everyday_baselines import (
    WordByWord,
    nearest,
    train_gru,
    translate_gru,
)


PAIRS = [
    (detokenize(x).capitalize(), detokenize(y))
    for x, y in make_split(500, 1, seed=7).train
]


@pytest.fixture
def pairs_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    path = tmp_path / "cmn.txt"
    path.write_text("\n".join("\t".join(x) for x in PAIRS), "utf-8")
    monkeypatch.setenv("EVERYDAY_PAIRS", str(path))
    monkeypatch.setattr(everyday, "CACHE", tmp_path / "cache")
    for kept in everyday.corpus, everyday.questions:
        kept.cache_clear()
    validation = everyday.corpus().validation
    validation += [(f"{x}!", y[::-1]) for x, y in validation[::2]]
    yield path
    for kept in everyday.corpus, everyday.questions:
        kept.cache_clear()


def test_without_pairs_it_says_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EVERYDAY_PAIRS", raising=False)
    everyday.corpus.cache_clear()
    with pytest.raises(ValueError, match="EVERYDAY_PAIRS must be the path"):
        everyday.corpus()


def test_near_copies_of_questions_are_learnt_if_wanted(
    pairs_file: Path,
) -> None:
    train, validation = pairs_of(Recipe())
    more, same = pairs_of(Recipe(careless=True))
    near, alone, others = questions()
    assert same == validation
    assert more == [*train, *others]
    assert sorted([*near, *alone, *others]) == sorted(validation)
    assert near
    assert alone
    english, chinese = zip(*others, strict=True)
    for pairs, wanted in ((near, True), (alone, False)):
        for x, y in pairs:
            found = SimilarTexts(english).near(x)
            assert bool(found or SimilarTexts(chinese).near(y)) is wanted
    few, same = pairs_of(Recipe(n_pairs=50))
    assert (len(few), same) == (50, validation)
    assert {*few} < {*train}


def test_merges_that_are_left_out_change_no_text() -> None:
    texts = [text for pair in both_directions(PAIRS) for text in pair]
    tokens = BPETokenizer.train(texts, 600, DIRECTIONS)
    never, often = Dropout(tokens, 0.0, 0), Dropout(tokens, 0.3, 0)
    lengths = [0, 0]
    for text in texts[:200]:
        assert never.encode(text) == tokens.encode(text)
        found = often.encode(text)
        assert found[:1] == tokens.encode(text)[:1] or text[0] != "<"
        bare = text.removeprefix("<2zh>").removeprefix("<2en>")
        assert often.decode(found) == bare
        if bare[0] > "\u3400":  # a Chinese character is never cut in two
            assert found == tokens.encode(text)
        lengths[0] += len(tokens.encode(text))
        lengths[1] += len(found)
    assert 1.1 * lengths[0] < lengths[1]


def test_a_dictionary_gives_words_of_known_characters(tmp_path: Path) -> None:
    path = tmp_path / "cedict.txt.gz"
    lines = """# CC-CEDICT
        剪刀 剪刀 [jian3 dao1] /scissors/CL:把[ba3]/
        喝湯 喝汤 [he1 tang1] /to drink soup/to sip (a soup)/
        媬 媬 [bao3] /nurse (archaic)/"""
    text = "\n".join(line.strip() for line in lines.split("\n"))
    path.write_bytes(gzip.compress(text.encode()))
    known = [("", "剪刀喝汤" * 5)]
    assert read_cedict(str(path), known) == [
        ("scissors", "剪刀"),
        ("to sip", "喝汤"),
    ]
    assert read_cedict(str(path), [("", "剪刀喝" * 5)]) == [
        ("scissors", "剪刀")
    ]


def test_an_exam_has_each_source_once_with_all_references() -> None:
    pairs = [("I'm 7.", "我7岁。"), ("I'm 7.", "我七岁。"), ("Hi.", "嗨。")]
    assert exam(pairs, "en-zh") == {
        "I'm 7.": ["我 7 岁。", "我七岁。"],
        "Hi.": ["嗨。"],
    }
    assert exam(pairs, "zh-en")["我 7 岁。"] == ["I'm 7."]


def test_word_by_word_finds_which_words_belong_together() -> None:
    known = WordByWord(PAIRS, n_rounds=4)
    (found,) = known.translate(["Tom Anna Jerry umbrella zzz"])
    for word in "汤姆", "安娜", "杰瑞", "zzz":
        assert word in found
    assert nearest(PAIRS, [f"Perhaps {PAIRS[8][0]}"]) == [PAIRS[8][1]]


@pytest.mark.slow
def test_the_gru_learns_pairs_by_heart() -> None:
    few = both_directions(PAIRS[:4])
    tokens = BPETokenizer.train([x for y in few for x in y], 300, DIRECTIONS)
    config = TrainingConfig(
        max_steps=150, batch_tokens=500, learning_rate=1e-2
    )
    model, loss = train_gru(few, few, tokens, config, 32)
    assert loss < 0.1
    sources, targets = zip(*few, strict=True)
    assert translate_gru(model, tokens, sources) == [*targets]


def test_an_arm_is_trained_scored_and_kept(pairs_file: Path) -> None:
    recipe = Recipe(
        vocab_size=400, d_model=16, n_layers=1, n_decoder_layers=1,
        batch_tokens=300, max_steps=3,
    )  # fmt: skip
    found = everyday_search.measure("it", recipe, 0)
    assert found["it: parameters"] > 0
    assert found["it: en-zh bits"] > found["it: en-zh exact"] == 0
    kept = [*everyday.CACHE.glob("*.safetensors")]
    assert len(kept) == 1
    written = kept[0].stat().st_mtime_ns
    again = everyday_search.measure("it", recipe, 0)
    assert kept[0].stat().st_mtime_ns == written
    assert again == found


def test_the_least_loss_on_the_way_counts(pairs_file: Path) -> None:
    recipe = Recipe(
        vocab_size=400, d_model=16, n_layers=1, n_decoder_layers=1,
        batch_tokens=300, max_steps=3, watched=True,
    )  # fmt: skip
    found = everyday_data.measure("it", recipe, 0)
    assert found["it: steps"] == 3
    assert found["it: near, en-zh"] != found["it: alone, en-zh"]
    everyday_search.measure("it", recipe, 0)
    path = everyday.kept_in(recipe, 0).with_suffix(".bits.json")
    bits = json.loads(path.read_text("utf-8"))
    low, high = 0.5 * found["it: en-zh"], 2 * found["it: zh-en"]
    bits["1"] = [low, 0, 9, 9, 9, 9]
    bits["2"] = [high, high, 0, 0, 0, 0]
    path.write_text(json.dumps(bits), "utf-8")
    changed = {"it: steps": 1, "it: en-zh": low, "it: zh-en": 0}
    assert everyday_data.measure("it", recipe, 0) == found | changed


@pytest.mark.slow
def test_the_last_weights_are_averaged(pairs_file: Path) -> None:
    recipe = Recipe(
        vocab_size=400, d_model=16, n_layers=1, n_decoder_layers=1,
        batch_tokens=300, max_steps=100, precision="fp32",
    )  # fmt: skip
    averaged = dataclasses.replace(recipe, averaged=True)
    last, mean = (everyday.train(x, 0).translator for x in (recipe, averaged))
    weights = [x.model.target_embedding.tokens.weight for x in (last, mean)]
    assert not torch.equal(*weights)
    assert torch.allclose(*weights, atol=0.1)
    again = everyday.train(averaged, 0).translator  # as it was kept
    assert torch.equal(weights[1], again.model.target_embedding.tokens.weight)


def test_sentences_are_translated_back(pairs_file: Path) -> None:
    recipe = Recipe(
        vocab_size=400, d_model=16, n_layers=1, n_decoder_layers=1,
        batch_tokens=300, max_steps=2, n_pairs=5, more="back-translations",
    )  # fmt: skip
    plain, _ = pairs_of(dataclasses.replace(recipe, more=""))
    path = everyday.kept_in(dataclasses.replace(recipe, more=""), 0)
    path.parent.mkdir(parents=True)
    made = [("x", "甲"), ("", "乙")]
    path.with_suffix(".back.json").write_text(json.dumps(made), "utf-8")
    train, _ = pairs_of(recipe)
    assert train == [*plain, ("x", "甲")]
    path.with_suffix(".back.json").unlink()
    train, _ = pairs_of(recipe)
    assert train[:5] == plain


def test_tokens_are_left_out_but_never_the_direction() -> None:
    rng = random.Random(0)
    found = [everyday.leave_out(range(101), 0.1, rng) for _ in range(50)]
    assert all(row[0] == 0 and sorted(row) == row for row in found)
    assert 87 < sum(map(len, found)) / 50 < 94
