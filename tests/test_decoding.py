"""attention_book.generation against recomputing, counting and trying all."""

import itertools
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_book import (
    beam_search,
    exact_search,
    generate,
    load_model,
    sampler,
    trace,
)
from attention_book.compute import ON_CPU
from attention_book.data.batches import pad
from attention_book.generation.alignment import cross_weights
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.decoder import CachedDecoder
from attention_book.generation.generate import Hypothesis, greedy, rows_to_keep
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.scores import score
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS
from corpora.learner import LEARNER
from corpora.learner.train import train
from tests.factories import (
    GENERATORS,
    NORMS,
    SOURCES,
    make_transformer,
    make_varied,
)


MAX = 9


@pytest.fixture(scope="module")
def model() -> Transformer:
    return make_varied(SOURCES)


@torch.no_grad()
def next_log_probs(
    model: Transformer, source: Sequence[int], token_ids: Sequence[int]
) -> Tensor:
    """Log-probabilities of the next token, all computed anew."""
    target = torch.tensor([[BOS, *token_ids]])
    return model(*pad([source]), target)[0, -1].log_softmax(-1)


def recompute(model: Transformer, source: Sequence[int]) -> list[int]:
    """Greedy search without a cache."""
    token_ids: list[int] = []
    while len(token_ids) < MAX and token_ids[-1:] != [EOS]:
        log_probs = next_log_probs(model, source, token_ids)
        token_ids.append(int(log_probs.argmax()))
    return token_ids


@pytest.mark.parametrize("kind", GENERATORS)
def test_generating_equals_recomputing(
    kind: dict[str, Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **kind)
    expected = [recompute(model, source) for source in SOURCES]
    for n in (1, 3, MAX):
        found = generate(model, *pad(SOURCES), max_length=n)
        assert found == [token_ids[:n] for token_ids in expected]
    for source, token_ids in zip(SOURCES, expected, strict=True):
        found = generate(model, *pad([source]), max_length=MAX)
        assert found == [token_ids]


DECODERS: dict[str, Any] = {
    "cached": CachedDecoder,
    "incremental": IncrementalDecoder,
    "captured": lambda model: CUDAGraphDecoder(model, ON_CPU),
}


@pytest.mark.parametrize("name", DECODERS)
def test_padding_of_the_source_is_hidden(
    name: str, model: Transformer
) -> None:
    decoder = DECODERS[name](model)
    first, again = (
        decoder.prefill(torch.tensor(table), torch.tensor([2, 1]), 1)[
            1
        ].clone()
        for table in (
            [[3, 4, 0, 0], [5, 0, 0, 0]],
            [[3, 4, 9, 8], [5, 7, 6, 12]],
        )
    )
    torch.testing.assert_close(first, again)


@pytest.mark.parametrize("name", DECODERS)
def test_what_a_decoder_refuses(name: str, model: Transformer) -> None:
    decoder = DECODERS[name](model)
    table, lengths = pad([[3, 4], [5]])
    for search in generate, beam_search:
        for wrong in [0, 2], [1, 3]:
            with pytest.raises(ValueError, match="must be from 1 to 2"):
                search(decoder, table, torch.tensor(wrong), max_length=5)
        with pytest.raises(ValueError, match="max_length must be at least 1"):
            search(decoder, table, lengths, max_length=0)
    for option, wanted in {"beam_size": 1, "length_penalty": 0}.items():
        says = f"{option} must be at least {wanted}, got -1"
        with pytest.raises(ValueError, match=says):
            beam_search(decoder, table, lengths, max_length=3, **{option: -1})


def test_the_fewest_rows_move() -> None:
    for active in itertools.product((False, True), repeat=6):
        kept = rows_to_keep(active)
        assert sorted(kept) == [row for row in range(6) if active[row]]
        moved = [row for place, row in enumerate(kept) if place != row]
        assert len(moved) == sum(active[sum(active) :])


def check_log_probs(model: Transformer, found: Sequence[Hypothesis]) -> None:
    """Every token counts, by the probability that the model itself gives."""
    for source, hypothesis in zip(SOURCES, found, strict=True):
        expected = sum(
            float(next_log_probs(model, source, hypothesis[:i])[token_id])
            for i, token_id in enumerate(hypothesis)
        )
        assert hypothesis.log_prob == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_log_probabilities_are_those_of_the_model(
    name: str, model: Transformer, unchecked: None
) -> None:
    decoder = DECODERS[name](model)
    plain = generate(model, *pad(SOURCES), max_length=MAX)
    assert all(math.isnan(hypothesis.log_prob) for hypothesis in plain)
    found = generate(
        decoder, *pad(SOURCES), max_length=MAX, with_log_probs=True
    )
    one = beam_search(decoder, *pad(SOURCES), beam_size=1, max_length=MAX)
    assert plain == found == one
    beams = [
        beam_search(
            decoder, *pad(SOURCES), length_penalty=alpha, max_length=MAX
        )
        for alpha in (0.6, 3.0)
    ]
    for each in found, one, *beams:
        check_log_probs(model, each)


@pytest.mark.parametrize("name", DECODERS)
def test_learnt_positions_come_to_an_end(name: str) -> None:
    decoder = DECODERS[name](
        make_transformer(positions="learned", max_length=4)
    )

    def never_end(logits: Tensor) -> Tensor:
        return logits[:, EOS + 1 :].argmax(-1) + EOS + 1

    options = {"next_token": never_end}
    (found,) = generate(decoder, *pad([[3]]), max_length=4, **options)
    assert len(found) == 4
    with pytest.raises(ValueError, match="positions must be from 0 to 3"):
        generate(decoder, *pad([[3]]), max_length=5, **options)


def frequencies(n: int = 4000, **options: Any) -> list[float]:
    """How often each of four tokens is drawn."""
    logits = torch.tensor([2.0, 0.0, 3.0, 1.0]).expand(n, 4)
    sample = sampler(torch.Generator().manual_seed(0), **options)
    return (sample(logits).bincount(minlength=4) / n).tolist()


NOT = -math.inf


@pytest.mark.parametrize(
    ("options", "logits"),
    [
        ({}, [2, 0, 3, 1]),
        ({"temperature": 0.5}, [4, 0, 6, 2]),
        ({"top_k": 2}, [2, NOT, 3, NOT]),
        ({"top_k": 9}, [2, 0, 3, 1]),
        ({"top_p": 0.7}, [2, NOT, 3, NOT]),
        ({"top_p": 0.9}, [2, NOT, 3, 1]),
        ({"top_k": 2, "top_p": 0.73}, [NOT, NOT, 3, NOT]),
        ({"temperature": 0.5, "top_p": 0.8}, [NOT, NOT, 3, NOT]),
    ],
)
def test_tokens_are_sampled_by_their_probabilities(
    options: dict[str, Any], logits: list[float]
) -> None:
    found = torch.tensor(frequencies(**options))
    expected = torch.tensor(logits).float().softmax(-1)
    torch.testing.assert_close(found, expected, atol=0.025, rtol=0)
    assert torch.equal(found == 0, expected == 0)


def test_top_p_takes_no_more_than_enough_and_drops_no_token() -> None:
    sample = sampler(torch.Generator().manual_seed(0), top_p=0.5)
    assert len(sample(torch.zeros(40, 2)).unique()) == 1
    logits = torch.zeros(30_000, 50, dtype=torch.bfloat16)
    logits[:, 0] = 7  # some 26 draws of each of the others
    for top_p in (1.0, 0.99999):
        sample = sampler(torch.Generator().manual_seed(0), top_p=top_p)
        assert len(sample(logits).unique()) == 50


@pytest.mark.parametrize(
    "options", [{"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-4}]
)
def test_caution_is_greedy(
    options: dict[str, Any], model: Transformer
) -> None:
    logits = torch.randn(30, 11, generator=torch.Generator().manual_seed(3))
    sample = sampler(torch.Generator().manual_seed(0), **options)
    assert torch.equal(sample(logits), logits.argmax(-1))
    expected = generate(model, *pad(SOURCES), max_length=MAX)
    for strategy in sample, greedy:
        assert expected == generate(
            model, *pad(SOURCES), max_length=MAX, next_token=strategy
        )


def test_all_randomness_comes_from_the_generator(model: Transformer) -> None:
    def sampled(seed: int) -> list[list[int]]:
        sample = sampler(torch.Generator().manual_seed(seed), temperature=3.0)
        return generate(
            model, *pad(SOURCES), max_length=MAX, next_token=sample
        )

    state = torch.get_rng_state()
    assert sampled(0) == sampled(0) != sampled(1)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("temperature", 0.0, "positive"),
        ("temperature", math.nan, "positive"),
        ("top_k", 1.5, "a whole number"),
        ("top_p", 1.1, r"in \(0, 1\]"),
        ("top_p", "1", "a number"),
    ],
)
def test_a_sampler_that_makes_no_sense(
    name: str, value: Any, wanted: str, unchecked: None
) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be {wanted}, got"):
        sampler(torch.Generator(), **{name: value})


@torch.no_grad()
def all_translations(
    model: Transformer, source: Sequence[int], max_length: int
) -> dict[tuple[int, ...], float]:
    """Log-probabilities of all that can be generated."""
    finished: dict[tuple[int, ...], float] = {}
    active: dict[tuple[int, ...], float] = {(): 0.0}
    while active:
        target = torch.tensor([[BOS, *prefix] for prefix in active])
        logits = model(*pad([source] * len(active)), target)[:, -1]
        rows = logits.log_softmax(-1).tolist()
        longer = {}
        for (prefix, so_far), row in zip(active.items(), rows, strict=True):
            for token_id, log_prob in enumerate(row):
                done = token_id == EOS or len(prefix) + 1 == max_length
                found = finished if done else longer
                found[*prefix, token_id] = so_far + log_prob
        active = longer
    return finished


SMALL_SOURCES = [[3, 4, 5], [4], [5, 3]]


@pytest.fixture(scope="module", params=NORMS)
def small(
    request: pytest.FixtureRequest,
) -> tuple[Transformer, list[dict[tuple[int, ...], float]]]:
    """A model of few words, and all that it can say of each source."""
    sizes = {"source_vocab_size": 6, "target_vocab_size": 5}
    model = make_varied(SMALL_SOURCES, norm=request.param, **sizes)
    every = [all_translations(model, source, 4) for source in SMALL_SOURCES]
    return model, every


@pytest.mark.parametrize("alpha", [0.0, 0.6, 4.0])
def test_a_wide_beam_finds_the_best_of_all(
    alpha: float, small: Any, unchecked: None
) -> None:
    model, translations = small
    best = []
    for every in translations:
        assert sum(map(math.exp, every.values())) == pytest.approx(1)
        scores = {t: p / ((5 + len(t)) / 6) ** alpha for t, p in every.items()}
        best.append(list(max(scores, key=scores.__getitem__)))
    wide = {"beam_size": 5**4, "length_penalty": alpha}
    found = beam_search(model, *pad(SMALL_SOURCES), max_length=4, **wide)
    assert found == best
    assert found != generate(model, *pad(SMALL_SOURCES), max_length=4)


def test_exact_search_finds_the_best_of_all(
    small: Any, unchecked: None
) -> None:
    model, translations = small
    for source, every in zip(SMALL_SOURCES, translations, strict=True):
        ended = {t: p for t, p in every.items() if t[-1] == EOS}
        for least, most in (1, 4), (3, 4), (2, 2):
            fitting = {
                t: p for t, p in ended.items() if least <= len(t) <= most
            }
            best = max(fitting, key=fitting.__getitem__)
            found, n_calls = exact_search(
                model, source, max_length=most, min_length=least
            )
            assert found is not None
            assert tuple(found) == best
            assert found.log_prob == pytest.approx(fitting[best], rel=1e-5)
            starts = {t[:i] for t in fitting for i in range(len(t))}
            assert 0 < n_calls <= len(starts)
        assert exact_search(
            model, source, max_length=4
        ).n_calls <= 4 / math.exp(max(ended.values()))


def test_exact_search_says_that_it_gave_up(small: Any) -> None:
    model, _ = small
    for source in SMALL_SOURCES:
        _, n = exact_search(model, source, max_length=4)
        assert exact_search(model, source, max_length=4, max_calls=n)[0]
        if n > 1:
            found = exact_search(model, source, max_length=4, max_calls=n - 1)
            assert found == (None, n - 1)
    says = "min_length must be at most max_length, 4, got 5"
    with pytest.raises(ValueError, match=says):
        exact_search(model, [3], max_length=4, min_length=5)
    for option in "max_length", "min_length", "max_calls":
        with pytest.raises(ValueError, match=f"{option} must be at least 1"):
            exact_search(model, [3], **{"max_length": 4, option: 0})


def recompute_beam(
    model: Transformer,
    source: Sequence[int],
    max_length: int,
    beam_size: int,
    alpha: float,
) -> list[int]:
    """The same search without caches, and never stopped before its end."""
    active: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    while active:
        longer = [
            (so_far + log_prob, [*token_ids, token_id])
            for so_far, token_ids in active
            for token_id, log_prob in enumerate(
                next_log_probs(model, source, token_ids).tolist()
            )
        ]
        longer.sort(key=lambda item: -item[0])
        active = []
        for rank, (log_prob, token_ids) in enumerate(longer[: 2 * beam_size]):
            n = len(token_ids)
            if token_ids[-1] == EOS or n == max_length:
                if rank < beam_size:
                    score = log_prob / ((5 + n) / 6) ** alpha
                    finished.append((score, token_ids))
            elif len(active) < beam_size:
                active.append((log_prob, token_ids))
    return max(finished)[1]


def check_beams(
    model: Transformer,
    sources: list[list[int]],
    n: int,
    width: int,
    alpha: float,
) -> None:
    options = {"beam_size": width, "length_penalty": alpha}
    found = beam_search(model, *pad(sources), max_length=n, **options)
    for source, token_ids in zip(sources, found, strict=True):
        assert token_ids == recompute_beam(model, source, n, width, alpha)


@pytest.mark.parametrize(
    ("beam_size", "alpha"),
    [
        (2, 0.6),
        (5, 3.0),
        pytest.param(2, 3.0, marks=pytest.mark.slow),
        pytest.param(5, 0.6, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("kind", GENERATORS[1::3])
def test_beams_equal_recomputing(
    alpha: float, beam_size: int, kind: dict[str, Any], unchecked: None
) -> None:
    check_beams(make_varied(SOURCES, **kind), SOURCES, MAX, beam_size, alpha)


@pytest.mark.parametrize(
    ("seed", "beam_size"),
    [(1, 20), (24, 3), (25, 2)],  # too wide; <eos> fills up the beam
)
def test_beams_of_few_words(
    seed: int, beam_size: int, unchecked: None
) -> None:
    model = make_transformer(seed, source_vocab_size=6, target_vocab_size=5)
    check_beams(model, SMALL_SOURCES, 6, beam_size, 3.0)


def test_translations_are_scored() -> None:
    same = score(["你好。", "我有一本书。"], ["你好。", "我有一本书。"])
    assert tuple(same) == pytest.approx((100, 100, 100))
    half = score(["你好。", "猫"], ["你好。", "我有一本书。"])
    assert half.exact == 50
    assert half.bleu < 100
    none = score(["甲乙丙丁戊"], ["一二三四五"])
    assert none.exact == none.chrf == 0
    assert none.bleu < 20
    # 6 of 7 characters are right, 4 of 6 pairs, 3 of 5 triples, 2 of 4 fours
    one = score(["我有一本红书。"], ["我有一本旧书。"])
    parts = (6 / 7, 4 / 6, 3 / 5 * 2 / 3, 1 / 4)
    assert one.bleu == pytest.approx(100 * math.prod(parts) ** 0.25, rel=1e-4)


def test_the_best_of_several_references_counts() -> None:
    ways = [["我有书。", "我有一本书。"], ["你好。"]]
    both = score(["我有一本书。", "你好。"], ways)
    assert tuple(both) == pytest.approx((100, 100, 100))
    assert (
        score(["我有一本书。", "你好。"], ["我有书。", "你好。"]).exact == 50
    )
    # by words: 5 of 6, 3 of 5 pairs, 1 of 4 triples; no four, so half of one
    english = score(["I have one red book."], ["I have a red book."])
    parts = (5 / 6, 3 / 5, 1 / 4, 1 / 2 / 3)
    assert english.bleu == pytest.approx(
        100 * math.prod(parts) ** 0.25, rel=1e-4
    )


def test_scores_need_one_reference_each_and_a_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for references in [], ["a", "b"]:
        n = len(references)
        with pytest.raises(ValueError, match=f"for each of .*got {n} for 1"):
            score(["a"], references)
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r"^run first: pip install sacre"):
        score(["a"], ["a"])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_weights_of_cross_attention(norm: str) -> None:
    model = make_transformer(norm=norm)
    source = [3, 4, 5, 6, 7]
    target = [5, 6, EOS]
    weights = cross_weights(model, source, target)
    assert weights.shape == (2, 6, 3, 5)
    inputs = [source], [len(source)], [[BOS, *target[:-1]]]
    traced = trace(
        model,
        [torch.tensor(row) for row in inputs],
        ["decoder.layers.*.cross_attention.weights"],
    )
    expected = torch.cat([*traced.activations.values()])
    torch.testing.assert_close(weights, expected.detach())
    assert not weights.requires_grad
    with torch.device("meta"):  # the model's device counts, not the default
        again = cross_weights(model, source, target)
    torch.testing.assert_close(again, weights)


def test_hooks_are_removed_even_on_error() -> None:
    model = make_transformer(positions="learned", max_length=4)
    with pytest.raises(ValueError, match="positions must be"):
        cross_weights(model, [3], [4] * 5)
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_the_kept_learner_is_what_its_program_makes(tmp_path: Path) -> None:
    path = tmp_path / "learner"
    train({1: path}, n_train=2000)
    made = load_model(path)
    for kept in map(load_model, LEARNER.values()):
        assert kept.model.config == made.model.config
        for ours, theirs in zip(kept.tokenizers, made.tokenizers, strict=True):
            assert ours.words == theirs.words
