"""attention_book.decoding against recomputing, counting and trying all."""

import copy
import itertools
import math
import random
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_book import decoding
from attention_book.checkpoints import save_model
from attention_book.corpus import BOS, EOS, SPECIAL_TOKENS, WordTokenizer, pad
from attention_book.decoding import cross_weights, greedy, sampler, score
from attention_book.fast_decoding import (
    IncrementalDecoder,
    PrepackedLinear,
    Translator,
    beam_search,
    write,
)
from attention_book.fast_decoding.beam import length_penalty
from attention_book.fast_decoding.state import DecodingState
from attention_book.training import Trainer, TrainingConfig
from attention_book.transformer import Transformer, TransformerConfig


MOST = 17
SMALL: dict[str, Any] = {
    "source_vocab_size": 13,
    "target_vocab_size": 11,
    "d_model": 24,
    "n_heads": 3,
    "d_ff": 40,
    "n_layers": 2,
    "max_length": MOST,
}
SOURCES = [[3, 4, 5, 6, 7], [8], [9, 10, 3], [5, 5], [4, 9, 8, 7]]


@cache
def trained(seed: int, n_steps: int, **changes: Any) -> Transformer:
    """A model that has begun to learn translations drawn at random."""
    config = TransformerConfig(**SMALL | changes)
    rng = random.Random(seed)
    examples = []
    sources = [
        [w for w in words if w < config.source_vocab_size] for words in SOURCES
    ]
    for source, most in zip(sources, (2, 9, 5, 12, 7), strict=True):
        target = [
            rng.randrange(3, config.target_vocab_size) for _ in range(most)
        ]
        most = config.max_length
        examples.append(((source or [3])[:most], [BOS, *target, EOS][:most]))
    torch.manual_seed(seed)
    config = TrainingConfig(
        n_steps=n_steps, batch_tokens=99, learning_rate=2e-2, warmup_steps=4
    )
    trainer = Trainer(Transformer(config), examples, config)
    for _ in range(n_steps):
        trainer.step()
    trainer.optimizer.zero_grad()
    return trainer.model.eval()


def a_model(seed: int = 1, n_steps: int = 25, **changes: Any) -> Transformer:
    return copy.deepcopy(trained(seed, n_steps, **changes))


@torch.no_grad()
def next_scores(
    model: Transformer, source: Sequence[int], words: Sequence[int]
) -> Tensor:
    """Log-probabilities of the next word, all computed anew."""
    logits = model(
        torch.tensor([source]),
        torch.tensor([len(source)]),
        torch.tensor([[BOS, *words]]),
    )
    return logits[0, -1].log_softmax(-1)


def plainly(
    model: Transformer, source: Sequence[int], max_length: int = MOST
) -> list[int]:
    words: list[int] = []
    while len(words) < max_length and words[-1:] != [EOS]:
        words.append(int(next_scores(model, source, words).argmax()))
    return words


KINDS = [
    {"norm": norm, "positions": positions, "feed_forward": feed_forward}
    for norm in ("post", "pre")
    for positions in ("sinusoidal", "learned", "rotary")
    for feed_forward in ("relu", "gelu", "swiglu")
]


@pytest.mark.parametrize("share_embeddings", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
def test_writing_equals_computing_all_anew(
    kinds: dict[str, Any], share_embeddings: bool, unchecked: None
) -> None:
    sizes = (
        {"source_vocab_size": 11, "share_embeddings": True} if shared else {}
    )
    model = a_model(**kinds, **sizes)
    decoder = IncrementalDecoder(model)
    expected = [plainly(model, source) for source in SOURCES]
    assert len({tuple(words) for words in expected}) > 2
    found = write(decoder, *pad(SOURCES), max_length=MOST)
    assert found == expected
    for source, words in zip(SOURCES, expected, strict=True):
        assert write(decoder, *pad([source]), max_length=MOST) == [words]


@pytest.fixture(scope="module")
def uneven() -> Transformer:
    """Its sentences end at different places."""
    model = a_model(n_steps=60)
    ends = [len(plainly(model, source)) for source in SOURCES]
    assert len(set(ends)) > 3
    return model


def test_rows_that_have_finished_cost_nothing(
    uneven: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = []
    places = []
    shapes = []
    step = IncrementalDecoder.step

    def watched(self: Any, writing: DecodingState, words: Tensor) -> Tensor:
        rows.append(len(words))
        assert len(writing) == len(words) == writing.sources.shape[2]
        places.append(writing.words.data_ptr())
        shapes.append(writing.words.shape[4])
        return step(self, writing, words)

    monkeypatch.setattr(IncrementalDecoder, "step", watched)
    decoder = IncrementalDecoder(uneven)
    found = write(decoder, *pad(SOURCES), max_length=MOST)
    expected = [plainly(uneven, source) for source in SOURCES]
    assert found == expected
    ends = [len(words) for words in expected]
    assert rows == [sum(n > i for n in ends) for i in range(max(ends))]
    assert len(set(rows)) > 2
    assert len(set(places)) == 1
    assert set(shapes) == {MOST}


def test_only_one_row_moves_for_each_that_leaves(
    uneven: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = []
    copy = DecodingState.copy

    def watched(self: Any, rows: list[int], into: list[int]) -> None:
        assert len(rows) == len(into)
        moved.extend(rows)
        copy(self, rows, into)

    monkeypatch.setattr(DecodingState, "copy", watched)
    found = write(IncrementalDecoder(uneven), *pad(SOURCES), max_length=MOST)
    assert len(moved) < sum(words[-1] == EOS for words in found)


def test_a_word_is_written_at_most_so_often(uneven: Transformer) -> None:
    decoder = IncrementalDecoder(uneven)
    expected = [plainly(uneven, source, 3) for source in SOURCES]
    assert write(decoder, *pad(SOURCES), max_length=3) == expected
    assert write(decoder, *pad([[3]]), max_length=0) == [[]]


def test_the_room_and_the_lengths_are_checked(unchecked: None) -> None:
    decoder = IncrementalDecoder(a_model())
    table, lengths = pad([[3, 4], [5]])
    writing = decoder.start(table, lengths, 1)
    decoder.step(writing, torch.tensor([BOS, BOS]))
    with pytest.raises(ValueError, match="there is room for 1 words, no more"):
        decoder.step(writing, torch.tensor([4, 4]))
    for wrong in [0, 2], [1, 3], [-1, 2]:
        with pytest.raises(ValueError, match="lengths must be 1 to 2, got"):
            decoder.start(table, torch.tensor(wrong), 5)
    learned = IncrementalDecoder(a_model(positions="learned", max_length=5))
    with pytest.raises(ValueError, match="positions must be from 0 to 4"):
        learned.start(table, lengths, 6)
    learned.start(table, lengths, 5)


def test_padding_is_not_looked_at() -> None:
    decoder = IncrementalDecoder(a_model())
    table = torch.tensor([[3, 4, 0, 0], [5, 0, 0, 0]])
    other = torch.tensor([[3, 4, 9, 8], [5, 7, 6, 12]])
    lengths = torch.tensor([2, 1])
    words = write(decoder, table, lengths, max_length=5)
    assert write(decoder, other, lengths, max_length=5) == words
    writings = [decoder.start(t, lengths, 1) for t in (table, other)]
    start = torch.tensor([BOS, BOS])
    a, b = (decoder.step(writing, start) for writing in writings)
    torch.testing.assert_close(a, b)


@pytest.mark.parametrize("training", [True, False])
def test_the_given_model_is_left_alone(training: bool) -> None:
    model = a_model(dropout=0.5).train(training)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    kinds = [type(module) for module in model.modules()]
    decoder = IncrementalDecoder(model)
    first = write(decoder, *pad(SOURCES), max_length=MOST)
    assert [type(module) for module in model.modules()] == kinds
    assert all(m.training == training for m in model.modules())
    assert all(p.requires_grad for p in model.parameters())
    for name, p in model.state_dict().items():
        assert torch.equal(p, before[name])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert write(decoder, *pad(SOURCES), max_length=MOST) == first


@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "shape", [(7,), (1, 7), (1, 1, 7), (2, 7), (40, 7), (3, 2, 7), (0, 7)]
)
def test_weights_laid_out_give_the_same(
    shape: tuple[int, ...],
    bias: bool,
    dtype: torch.dtype,
    tiles: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not tiles:
        monkeypatch.setattr(decoding, "can_prepack", lambda weight: False)
    torch.manual_seed(0)
    plain = nn.Linear(7, 5, bias=bias, dtype=dtype)
    ours = PrepackedLinear(plain.weight, plain.bias)
    laid = tiles and decoding.can_prepack(torch.ones(1, dtype=dtype))
    assert (ours.tiles is not None) == laid
    x = torch.randn(shape, dtype=dtype)
    before = x.clone(), plain.bias.clone() if bias else None
    with torch.inference_mode():
        for _ in range(2):
            torch.testing.assert_close(ours(x), plain(x))
    assert torch.equal(x, before[0])
    if bias:
        assert torch.equal(plain.bias, before[1])


def test_without_tiles_the_same_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = a_model()
    usual = write(IncrementalDecoder(model), *pad(SOURCES), max_length=MOST)
    monkeypatch.setattr(decoding, "can_prepack", lambda weight: False)
    decoder = IncrementalDecoder(model)
    assert write(decoder, *pad(SOURCES), max_length=MOST) == usual
    double = IncrementalDecoder(model.double())
    assert write(double, *pad(SOURCES), max_length=MOST) == usual


def shares_of(n: int = 4000, **options: Any) -> list[float]:
    scores = torch.tensor([2.0, 0.0, 3.0, 1.0]).expand(n, 4)
    draw = sampler(torch.Generator().manual_seed(0), **options)
    return (draw(scores).bincount(minlength=4) / n).tolist()


def probabilities(scores: list[float]) -> list[float]:
    total = sum(map(math.exp, scores))
    return [math.exp(s) / total for s in scores]


NOT = -math.inf


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({}, [2, 0, 3, 1]),
        ({"temperature": 0.5}, [4, 0, 6, 2]),
        ({"temperature": 2.0}, [1, 0, 1.5, 0.5]),
        ({"top_k": 2}, [2, NOT, 3, NOT]),
        ({"top_k": 9}, [2, 0, 3, 1]),
        ({"top_p": 0.6}, [NOT, NOT, 3, NOT]),
        ({"top_p": 0.7}, [2, NOT, 3, NOT]),
        ({"top_p": 0.9}, [2, NOT, 3, 1]),
        ({"top_k": 2, "top_p": 0.73}, [NOT, NOT, 3, NOT]),
        ({"temperature": 0.5, "top_p": 0.8}, [NOT, NOT, 3, NOT]),
    ],
)
def test_words_are_drawn_by_their_shares(
    options: dict[str, Any], scores: list[float]
) -> None:
    found = shares_of(**options)
    wanted = probabilities(scores)
    for share, probability in zip(found, wanted, strict=True):
        assert share == pytest.approx(probability, abs=0.025)
        assert (share == 0) == (probability == 0)


@pytest.mark.parametrize(
    "options", [{"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-4}]
)
def test_caution_is_greedy(options: dict[str, Any]) -> None:
    scores = torch.randn(30, 11, generator=torch.Generator().manual_seed(3))
    draw = sampler(torch.Generator().manual_seed(0), **options)
    assert torch.equal(draw(scores), greedy(scores))
    assert torch.equal(greedy(scores), scores.argmax(-1))
    decoder = IncrementalDecoder(a_model())
    for choose in draw, greedy:
        found = write(
            decoder, *pad(SOURCES), max_length=9, next_token=next_token
        )
        assert found == write(decoder, *pad(SOURCES), max_length=9)


def test_chance_comes_from_the_generator_alone() -> None:
    def drawn(seed: int) -> list[list[int]]:
        draw = sampler(torch.Generator().manual_seed(seed), temperature=3.0)
        return write(decoder, *pad(SOURCES), max_length=9, next_token=draw)

    decoder = IncrementalDecoder(a_model())
    state = torch.get_rng_state()
    assert drawn(0) == drawn(0) != drawn(1)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": math.nan},
    ],
)
def test_a_sampler_that_makes_no_sense(options: dict[str, Any]) -> None:
    message = r"wanted temperature > 0, 0 < top_p <= 1 and top_k >= 1, got "
    with pytest.raises(ValueError, match=message):
        sampler(torch.Generator(), **options)


def all_translations(
    model: Transformer, source: Sequence[int], most: int
) -> dict[tuple[int, ...], float]:
    """Log-probabilities of all that can be written."""
    ended: dict[tuple[int, ...], float] = {}
    going: dict[tuple[int, ...], float] = {(): 0.0}
    while going:
        prefixes = list(going)
        with torch.no_grad():
            target = torch.tensor([[BOS, *words] for words in prefixes])
            n = len(prefixes)
            table = torch.tensor([source]).expand(n, -1)
            lengths = torch.full((n,), len(source))
            logits = model(table, lengths, target)[:, -1].log_softmax(-1)
        longer = {}
        for words, row in zip(prefixes, logits.tolist(), strict=True):
            for word, s in enumerate(row):
                done = word == EOS or len(words) + 1 == most
                (ended if done else longer)[*words, word] = going[words] + s
        going = longer
    return ended


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_wide_beam_finds_the_best_of_all(
    alpha: float, norm: str, unchecked: None
) -> None:
    most = 4
    sources = [[3, 4, 5], [4]]
    differ = 0
    for seed in range(3):
        model = a_model(
            seed, 8, source_vocab_size=6, target_vocab_size=5, norm=norm
        )
        decoder = IncrementalDecoder(model)
        best = []
        for source in sources:
            every = all_translations(model, source, most)
            assert sum(map(math.exp, every.values())) == pytest.approx(1)
            best.append(
                max(
                    every,
                    key=lambda w, e=every: e[w] / ((5 + len(w)) / 6) ** alpha,
                )
            )
        options: dict[str, Any] = {"max_length": most, "alpha": alpha}
        found = beam_search(decoder, *pad(sources), size=5**4, **options)
        assert [tuple(words) for words in found] == best
        differ += found != write(decoder, *pad(sources), max_length=most)
    assert differ or alpha == 1  # else greedy would have done


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
def test_a_beam_of_one_is_greedy(alpha: float, unchecked: None) -> None:
    for seed in range(5):
        model = a_model(seed, 9)
        decoder = IncrementalDecoder(model)
        found = beam_search(
            decoder, *pad(SOURCES), max_length=MOST, size=1, alpha=alpha
        )
        assert found == write(decoder, *pad(SOURCES), max_length=MOST)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_beams_of_a_batch_equal_one_by_one(
    size: int, positions: str, unchecked: None
) -> None:
    for seed in range(2):
        model = a_model(seed, 12, positions=positions)
        decoder = IncrementalDecoder(model)
        options = {"max_length": 9, "size": size}
        found = beam_search(decoder, *pad(SOURCES), **options)
        for source, words in zip(SOURCES, found, strict=True):
            assert plain_beam(model, source, 9, size) == words
            assert beam_search(decoder, *pad([source]), **options) == [words]


def plain_beam(
    model: Transformer, source: Sequence[int], most: int, size: int
) -> list[int]:
    """The same search with lists, compute_context everything anew."""
    going: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    while going and len(ended) < size:
        longer = [
            (so_far + s, [*words, word])
            for so_far, words in going
            for word, s in enumerate(
                next_scores(model, source, words).tolist()
            )
        ]
        longer.sort(key=lambda item: -item[0])
        going = []
        for place, (s, words) in enumerate(longer[: 2 * size]):
            if words[-1] == EOS or len(words) == most:
                if place < size:
                    ended.append((length_penalty(s, len(words), 0.6), words))
            elif len(going) < size:
                going.append((s, words))
    return max(ended)[1]


def test_beams_that_are_done_cost_nothing(
    uneven: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = []
    places = set()
    step = IncrementalDecoder.step

    def watched(self: Any, writing: DecodingState, words: Tensor) -> Tensor:
        rows.append(len(words))
        places.add(writing.words.data_ptr())
        return step(self, writing, words)

    monkeypatch.setattr(IncrementalDecoder, "step", watched)
    decoder = IncrementalDecoder(uneven)
    beam_search(decoder, *pad(SOURCES), max_length=MOST, size=2)
    assert rows[0] == 2 * len(SOURCES)
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < rows[0]
    assert all(n % 2 == 0 for n in rows)
    assert len(places) == 1


def test_scores_are_weighed_by_length() -> None:
    assert length_penalty(-6.0, 1, 0.7) == -6.0
    assert length_penalty(-6.0, 7, 1.0) == -3.0
    assert length_penalty(-6.0, 19, 0.5) == pytest.approx(-3.0)
    assert length_penalty(-6.0, 19, 0.0) == -6.0


@pytest.mark.parametrize(("size", "alpha"), [(0, 0.6), (-1, 0.6), (2, -0.1)])
def test_a_beam_that_makes_no_sense(size: int, alpha: float) -> None:
    decoder = IncrementalDecoder(a_model())
    message = f"wanted size > 0 and alpha >= 0, got {size} and {alpha}"
    with pytest.raises(ValueError, match=message):
        beam_search(decoder, *pad([[3]]), max_length=3, size=size, alpha=alpha)


ENGLISH = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
CHINESE = WordTokenizer([*SPECIAL_TOKENS, *"甲乙丙丁戊己庚辛"])


def texts() -> list[str]:
    """Forty texts whose lengths go up and down."""
    letters = itertools.cycle("abcdefghij")
    return [
        " ".join(itertools.islice(letters, 1 + i * 7 % 11)) for i in range(40)
    ]


@pytest.mark.parametrize("beam", [1, 3])
def test_many_texts_come_back_in_their_order(
    beam: int, unchecked: None
) -> None:
    model = a_model(positions="learned", max_length=11)
    translator = Translator(model, ENGLISH, CHINESE)
    found = translator.translate(texts(), beam=beam)
    assert len(set(found)) > 5
    for text, translation in zip(texts(), found, strict=True):
        assert translator.translate([text], beam=beam) == [translation]
        if beam == 1:
            words = plainly(model, ENGLISH.encode(text), 11)
            assert translation == CHINESE.decode(words)
    assert translator.translate([]) == []


def test_a_saved_model_translates_alike(tmp_path: Path) -> None:
    model = a_model()
    save_model(tmp_path / "model", model, ENGLISH, CHINESE)
    translator = Translator.load(tmp_path / "model")
    expected = Translator(model, ENGLISH, CHINESE).translate(["a b", "c"])
    assert translator.translate(["a b", "c"]) == expected
    with pytest.raises(FileNotFoundError, match="none"):
        Translator.load(tmp_path / "none")


def test_texts_that_will_not_do() -> None:
    model = a_model(positions="learned", max_length=3)
    translator = Translator(model, ENGLISH, CHINESE)
    with pytest.raises(ValueError, match=r"^unknown words: x y$"):
        translator.translate(["a", "x b y"])
    for empty in "", "  \n":
        with pytest.raises(ValueError, match=r"1 to 3 words, got 0: '"):
            translator.translate(["a", empty])
    with pytest.raises(ValueError, match=r"got 4: 'a b c d'$"):
        translator.translate(["a b c d"])
    translator.translate(["a b c"])
    for beam in 0, -2:
        with pytest.raises(ValueError, match="wanted size > 0"):
            translator.translate(["a"], beam=beam)
    Translator(a_model(), ENGLISH, CHINESE).translate(["a b c d " * 5])


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


@pytest.mark.parametrize(
    ("outputs", "references"), [([], []), (["a"], []), (["a"], ["a", "b"])]
)
def test_scores_need_one_reference_each(
    outputs: list[str], references: list[str]
) -> None:
    message = (
        "wanted one reference for each of one or more outputs, "
        f"got {len(references)} for {len(outputs)}"
    )
    with pytest.raises(ValueError, match=message):
        score(outputs, references)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r"^run first: pip install sacre"):
        score(["a"], ["a"])


def weights_by_hand(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """Weights of the first layer's cross-attention, from its inputs."""
    layer: Any = model.decoder.layers[0]
    seen: list[tuple[Tensor, Tensor]] = []
    hook = layer.cross_attention.register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[:2])
    )
    next_scores(model, source, target[:-1])
    hook.remove()
    x, memory = seen[0]
    heads = model.config.n_heads
    q = layer.cross_attention.q_proj(x)[0].chunk(heads, -1)
    both = layer.cross_attention.kv_proj(memory)[0]
    k = both[:, : model.config.d_model].chunk(heads, -1)
    return torch.stack(
        [
            (a @ b.T / math.sqrt(a.shape[-1])).softmax(-1)
            for a, b in zip(q, k, strict=True)
        ]
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_where_it_looks(norm: str) -> None:
    model = a_model(norm=norm)
    source = [3, 4, 5, 6, 7]
    target = [5, 6, EOS]
    weights = cross_weights(model, source, target)
    assert weights.shape == (2, 3, 3, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 3))
    by_hand = weights_by_hand(model, source, target)
    torch.testing.assert_close(weights[0], by_hand.detach())
    assert not weights.requires_grad
    assert hooks_of(model) == 0


def hooks_of(model: Transformer) -> int:
    return sum(len(module._forward_pre_hooks) for module in model.modules())


def test_hooks_are_removed_even_on_error() -> None:
    model = a_model(positions="learned", max_length=4)
    with pytest.raises(ValueError, match="positions must be"):
        cross_weights(model, [3], [4] * 5)
    assert hooks_of(model) == 0
    breaking: Callable[..., None] = model.decoder.register_forward_pre_hook(
        lambda *_: pytest.fail("broken")
    ).remove
    with pytest.raises(pytest.fail.Exception):
        cross_weights(model, [3], [4])
    breaking()
    assert hooks_of(model) == 0
