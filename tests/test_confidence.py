"""attention_book.generation.confidence and the Translator that uses it."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_book import Translator, save_model
from attention_book.generation import translator
from attention_book.generation.confidence import Calibration
from attention_book.generation.lost import find_lost
from attention_book.io.tensors import open_tensors
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import BOS
from attention_book.tokenizers.words import WordTokenizer
from corpora.bundled.everyday_model import fit_calibration
from tests.factories import make_transformer


SOURCE = WordTokenizer.train(["a b c d e f ."])
TARGET = WordTokenizer.train(["甲 乙 丙 丁 。 …"])


SIZES = {"source_vocab_size": len(SOURCE), "target_vocab_size": len(TARGET)}


@pytest.fixture
def model() -> Transformer:
    return make_transformer(3, **SIZES)


@torch.no_grad()
def log_probability(
    model: Transformer, source: list[int], target: list[int]
) -> float:
    """ln p(target | source), by a pass of its own."""
    prefix = torch.tensor([[BOS, *target[:-1]]])
    logits = model(torch.tensor([source]), torch.tensor([len(source)]), prefix)
    chosen = logits[0].log_softmax(-1)[range(len(target)), target]
    return float(chosen.sum())


@pytest.mark.parametrize(
    ("source", "text", "lost"),
    [
        ("He paid 4500 yen.", "他付了 4500 日元。", []),
        ("He paid 4500 yen.", "他付了 450 日元。", ["4500"]),
        ("I am 7, she is 25.", "我七岁，她二十五岁。", []),
        ("I have 2 cats and 100 dogs.", "我有两只猫和一百条狗。", []),
        ("我 12 岁，他 40 岁。", "I'm twelve and he is forty.", []),
        ("我 12 岁。", "I'm two.", ["12"]),
        ("他付了 10 日元。", "He often paid.", ["10"]),
        ("他付了 10 日元。", "He paid ten yen.", []),
        ("9" * 5000, "很多。", ["9" * 5000]),
        ("我用Twitter。", "I use twitter.", []),
        ("我用Twitter。", "I use it.", ["Twitter"]),
        ("I know Zyrwbx well.", "我很了解他。", ["Zyrwbx"]),
        ("I know Zyrwbx well.", "我很了解 Zyrwbx。", []),
        ("Zyrwbx, a boy, knows the boy.", "男孩认识男孩。", []),
        ("I know the boy.", "我认识他。", []),
        ("龘龘来了。", "It came.", ["龘"]),
        ("男孩来了 🙂", "The boy came.", ["🙂"]),
        ("男孩来了 🙂", "The boy came 🙂", []),
    ],
)
def test_what_got_lost_is_named(
    source: str, text: str, lost: list[str]
) -> None:
    texts = ["I know the boy well.", "我很了解男孩。", "他付了日元来岁用。"]
    subwords = BPETokenizer.train(2 * texts, 500)
    assert find_lost(source, text, subwords) == lost


def test_the_default_calibration_is_none() -> None:
    for p in (1e-12, 0.3, 0.9999):
        assert Calibration().confidence(math.log(p)) == pytest.approx(p)
    assert Calibration().confidence(0.0) == pytest.approx(1, abs=2e-6)
    assert Calibration().confidence(-2000.0) == pytest.approx(0)


def test_a_fit_finds_the_probability_of_being_right() -> None:
    rng = random.Random(0)
    log_probs = [-rng.expovariate(0.7) for _ in range(4000)]
    true = Calibration(scale=0.6, offset=-0.8)
    right = [rng.random() < true.confidence(x) for x in log_probs]
    found = fit_calibration(log_probs, right)
    assert found.scale == pytest.approx(0.6, abs=0.1)
    assert found.offset == pytest.approx(-0.8, abs=0.15)
    everything = fit_calibration([-0.1, -3.0], [True, True])
    assert 0.5 < everything.confidence(-1.0) < 1


def test_a_fit_is_the_most_probable_line() -> None:
    """Its gradient is 0, with the smoothed labels of Platt (1999), §2.2."""
    log_probs = [-0.1, -0.4, -0.7, -1.1, -2.0, -3.0, 0.0]
    right = [True, True, False, True, False, False, True]
    found = fit_calibration(log_probs, right)
    slope = offset = 0.0
    for x, is_right in zip(log_probs, right, strict=True):
        label = 5 / 6 if is_right else 1 / 5  # of 4 right and 3 wrong
        p = min(math.exp(x), 1 - 1e-6)
        gap = found.confidence(x) - label
        offset += gap
        slope += gap * math.log(p / (1 - p))
    assert offset == pytest.approx(0, abs=1e-4)
    assert slope == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_confidence_is_the_mean_probability_of_a_token(
    beam_size: int, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration = Calibration(threshold=0.5)
    translator = Translator(model, SOURCE, TARGET, calibration=calibration)
    texts = ["a b c .", "f", "a b c ."]
    said = translator.translate(texts, beam_size=beam_size)
    with monkeypatch.context() as patch:
        patch.setattr(Transformer, "forward", None)  # no second pass
        found = translator.translate_with_confidence(
            texts, beam_size=beam_size
        )
    assert [each.text for each in found] == said
    one, _, again = found
    assert one.confidence == pytest.approx(again.confidence)
    source = translator.encode(texts[0])
    (target,) = translator.generate([source], beam_size)
    mean = log_probability(model, source, target) / len(target)
    assert one.confidence == pytest.approx(math.exp(mean), rel=1e-4)
    assert one.is_sure == (one.confidence >= 0.5)
    assert translator.translate_with_confidence([]) == []


def test_a_file_says_how_to_calibrate(
    model: Transformer, tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    plain = Translator(model, SOURCE, TARGET)
    plain.save(path)
    assert Translator.load(path).calibration == Calibration()
    (found,) = Translator.load(path).translate_with_confidence(["a b c"])
    assert found.is_sure is None
    assert 0 < found.confidence < 1
    calibration = Calibration(0.5, 1.25, 0.75)
    known = Translator(model, SOURCE, TARGET, calibration=calibration)
    known.save(path, torch.int8, source="nobody")
    loaded = Translator.load(path)
    assert loaded.calibration == calibration
    assert loaded.translate(["a b c"]) == known.translate(["a b c"])
    with open_tensors(path) as file:
        assert file.metadata["source"] == "nobody"


@pytest.mark.parametrize("text", ["[1,", "[1, 2, 3, 4]", '["a"]', "7"])
def test_a_calibration_that_is_none_is_an_error(
    text: str, model: Transformer, tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    save_model(
        path,
        model,
        tokenizers=(SOURCE, TARGET),
        extra=({}, {"calibration": text}),
    )
    with pytest.raises(ValueError, match=r"model.safetensors: wanted"):
        Translator.load(path)


def test_a_translator_keeps_what_it_was_given(model: Transformer) -> None:
    """A model in training, with dropout, and trained on afterwards."""
    trained = make_transformer(3, **SIZES, dropout=0.5).train()
    translator = Translator(trained, SOURCE, TARGET)
    expected = Translator(model, SOURCE, TARGET).translate_with_confidence(
        ["a b c ."]
    )
    for _ in range(3):
        found = translator.translate_with_confidence(["a b c ."])
        assert found == expected
        with torch.no_grad():
            for parameter in trained.parameters():
                parameter.mul_(-1).add_(0.1)
    assert trained.training
    assert all(p.requires_grad for p in trained.parameters())
    assert not any(m.training for m in translator.model.modules())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_one_thread_is_enough_for_one_row_of_a_small_model(
    n_threads: int, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    real = translator.generate

    def spy(*args: Any, **kwargs: Any) -> Any:
        used.append(torch.get_num_threads())
        return real(*args, **kwargs)

    monkeypatch.setattr(translator, "generate", spy)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n_threads)
        small = Translator(model, SOURCE, TARGET)
        small.translate(["a b"])
        small.translate(["a b", "c d"])
        monkeypatch.setattr(translator, "_ONE_THREAD", 0)
        Translator(model, SOURCE, TARGET).translate(["a b"])
        assert used == [1, n_threads, n_threads]
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
