"""attention_book.generation.confidence and the Translator that uses it."""

import copy
import math
import random

import pytest
import torch

from attention_book.generation.confidence import (
    Calibration,
    sequence_log_probs,
)
from attention_book.generation.translator import Translator
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.special_tokens import BOS, EOS, UNSURE
from attention_book.tokenizers.words import WordTokenizer


SOURCE = WordTokenizer.train(["a b c d e f ."])
TARGET = WordTokenizer.train(["甲 乙 丙 丁 。", UNSURE])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(
        source_vocab_size=len(SOURCE),
        target_vocab_size=len(TARGET),
        d_model=12,
        n_heads=3,
        d_ff=20,
        n_layers=2,
    )
    return Transformer(config).eval()


def test_log_probabilities_are_those_of_one_token_after_another(
    model: Transformer,
) -> None:
    sources = [[4, 5, 6], [7, 3, 4, 5, 9]]
    targets = [[5, 4, 7, EOS], [6, EOS]]
    expected = []
    for source, target in zip(sources, targets, strict=True):
        total = 0.0
        for i, token_id in enumerate(target):
            prefix = torch.tensor([[BOS, *target[:i]]])
            lengths = torch.tensor([len(source)])
            logits = model(torch.tensor([source]), lengths, prefix)
            total += float(logits[0, -1].log_softmax(-1)[token_id].detach())
        expected.append(total)
    found = sequence_log_probs(model, sources, targets)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_default_calibration_is_none() -> None:
    for p in (1e-12, 0.01, 0.3, 0.9, 0.9999):
        assert Calibration().confidence(math.log(p)) == pytest.approx(p)
    assert Calibration().confidence(0.0) == pytest.approx(1, abs=2e-6)
    assert Calibration().confidence(-2000.0) == pytest.approx(0)


def test_a_fit_finds_the_probability_of_being_right() -> None:
    rng = random.Random(0)
    log_probs = [-rng.expovariate(0.7) for _ in range(4000)]
    true = Calibration(scale=0.6, offset=-0.8)
    right = [rng.random() < true.confidence(x) for x in log_probs]
    found = Calibration.train(log_probs, right, threshold=0.4)
    assert found.threshold == 0.4
    assert found.scale == pytest.approx(0.6, abs=0.1)
    assert found.offset == pytest.approx(-0.8, abs=0.15)
    everything = Calibration.train([-0.1, -3.0], [True, True])
    assert 0.5 < everything.confidence(-1.0) < 1


def test_a_fit_is_the_most_probable_line() -> None:
    """Its gradient is 0, with the smoothed labels of Platt (1999), §2.2."""
    log_probs = [-0.1, -0.4, -0.7, -1.1, -2.0, -3.0, 0.0]
    right = [True, True, False, True, False, False, True]
    found = Calibration.train(log_probs, right, threshold=0.5)
    gaps = []
    for x, is_right in zip(log_probs, right, strict=True):
        label = 5 / 6 if is_right else 1 / 5  # of 4 right and 3 wrong
        p = min(math.exp(x), 1 - 1e-6)
        gaps.append((found.confidence(x) - label, math.log(p / (1 - p))))
    assert sum(gap for gap, _ in gaps) == pytest.approx(0, abs=1e-4)
    assert sum(gap * x for gap, x in gaps) == pytest.approx(0, abs=1e-3)


def make_unsure(model: Transformer) -> Transformer:
    """Let the model say … above all."""
    changed = copy.deepcopy(model)
    with torch.no_grad():
        table = changed.target_embedding.tokens.weight
        logits = changed(
            torch.tensor([[4, 5]]), torch.tensor([2]), torch.tensor([[BOS]])
        )
        best = int(logits[0, 0].argmax())
        table[TARGET.token_ids[UNSURE]] = 3 * table[best]
    return changed


def test_the_translator_never_says_that_it_is_unsure(
    model: Transformer,
) -> None:
    unsure = make_unsure(model)
    text = "a b"
    before = copy.deepcopy(unsure.state_dict())
    translator = Translator(unsure, SOURCE, TARGET)
    for beam_size in (1, 3):
        (found,) = translator.translate_with_confidence(
            [text], beam_size=beam_size
        )
        assert UNSURE not in found.text
        assert (
            found.text == translator.translate([text], beam_size=beam_size)[0]
        )
    assert translator.model is unsure
    for name, tensor in unsure.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_confidence_counts_what_went_to_the_doubt(model: Transformer) -> None:
    unsure = make_unsure(model)
    found = {}
    for name, kind in {"plain": model, "unsure": unsure}.items():
        translator = Translator(kind, SOURCE, TARGET)
        translator.calibration = Calibration(threshold=0.5)
        texts = ["a b c .", "f", "a b c ."]
        found[name] = translator.translate_with_confidence(texts)
        one, _, again = found[name]
        assert one.text == again.text
        assert one.confidence == pytest.approx(again.confidence)
        (source,) = [translator.encode(texts[0])]
        (target,) = translator.generate([source])
        (log_prob,) = sequence_log_probs(kind, [source], [target])
        assert one.confidence == pytest.approx(math.exp(log_prob), rel=1e-4)
        assert one.is_sure == (one.confidence >= 0.5)
    assert translator.translate_with_confidence([]) == []


def test_a_model_that_learnt_no_doubt_is_sure(model: Transformer) -> None:
    target = WordTokenizer([*TARGET.words[:3], "x", *TARGET.words[4:]])
    translator = Translator(model, SOURCE, target)
    assert translator.calibration == Calibration()
    (found,) = translator.translate_with_confidence(["a b c"])
    assert found.is_sure
    assert 0 < found.confidence < 1
