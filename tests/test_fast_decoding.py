"""attention_book.fast_decoding against the plain path, for all that is built."""

import copy
import itertools
import pickle
from collections.abc import Callable
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attention_book.attention.functional import scaled_dot_product_attention
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.compute import ON_CPU
from attention_book.data.batches import pad
from attention_book.generation import cuda_graphs as captured
from attention_book.generation import prepacked
from attention_book.generation.beam import beam_search
from attention_book.generation.cuda_graphs import (
    StaticDecoder,
    StaticDecodingState,
)
from attention_book.generation.decoder import (
    MAX_ROWS_FUSED,
    IncrementalDecoder,
    single_query_attention,
)
from attention_book.generation.fast_beam import fast_beam_search
from attention_book.generation.fast_generate import (
    drop_finished,
    fast_generate,
)
from attention_book.generation.generate import generate
from attention_book.generation.prepacked import PrepackedLinear
from attention_book.generation.translator import Translator
from attention_book.io import save_model
from attention_book.models.encoder import Norm
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.transformer import (
    FeedForwardKind,
    Positions,
    Transformer,
)
from attention_book.tokenizers.special_tokens import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
)
from attention_book.tokenizers.words import WordTokenizer
from tests.factories import make_config, make_transformer, make_varied
from tests.fake_cuda import FakeCuda


MAX = 9
SOURCES = [[3, 4, 5, 6, 7], [8], [9, 10, 3], [5, 5], [4, 9, 8, 7]]
CONFIGS = [
    {
        "norm": norm,
        "feed_forward": feed_forward,
        "positions": positions,
        "n_kv_heads": n_kv_heads,
        **(
            {"source_vocab_size": 11, "share_embeddings": True}
            if shared
            else {}
        ),
    }
    for norm, feed_forward, positions, n_kv_heads, shared in itertools.product(
        get_args(Norm),
        get_args(FeedForwardKind),
        get_args(Positions),
        (None, 2, 1),
        (False, True),
    )
]
CONFIGS += [{"positions": "rotary", "n_kv_heads": 3}]  # heads in pairs
Ids = list[list[int]]
REFUSED = {"alibi": "ALiBiAttention"}  # positions, and who is named
SOURCE_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"甲乙丙丁戊己庚辛"])


@pytest.fixture(scope="module")
def model() -> Transformer:
    return make_varied(SOURCES)


def plain(
    model: Transformer, sources: Ids, max_length: int, beam_size: int = 1
) -> Ids:
    """What the reference makes of the sources."""
    if beam_size == 1:
        return generate(model, *pad(sources), max_length=max_length)
    return beam_search(
        model, *pad(sources), max_length=max_length, beam_size=beam_size
    )


@pytest.mark.parametrize("config", CONFIGS)
def test_fast_equals_plain_or_is_refused(
    config: dict[str, Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **config)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    for beam_size in (1, 2):
        found = translator.generate(SOURCES[:2], beam_size)
        assert found == plain(model, SOURCES[:2], 2 * 5 + 16, beam_size)
    if name := REFUSED.get(config["positions"]):
        with pytest.raises(ValueError, match=f"does not know {name}: use gen"):
            IncrementalDecoder(model)
        return
    decoder = IncrementalDecoder(model)
    found = fast_generate(decoder, *pad(SOURCES), max_length=MAX)
    assert found == plain(model, SOURCES, MAX)
    target = torch.randint(EOS + 1, 11, (5, 7))
    with torch.no_grad():
        expected = model(*pad(SOURCES), target)
    state = decoder.prefill(*pad(SOURCES), 7)
    logits = [decoder.decode_step(state, token_ids) for token_ids in target.T]
    torch.testing.assert_close(
        torch.stack(logits, dim=1), expected, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("rows", [1, MAX_ROWS_FUSED, MAX_ROWS_FUSED + 1])
@pytest.mark.parametrize("group", [1, 3])
def test_a_single_query_attends_like_any_other(rows: int, group: int) -> None:
    torch.manual_seed(0)
    q = torch.randn(rows, 2, group, 5)
    key = torch.randn(rows, 2, 7, 5)
    value = torch.randn(rows, 2, 7, 5)
    mask = torch.rand(rows, 1, 1, 7) < 0.6
    mask[..., 0] = True
    for m in None, mask:
        expected, _ = scaled_dot_product_attention(q, key, value, m)
        found = single_query_attention(q, key, value, m)
        torch.testing.assert_close(found, expected.reshape(rows, -1))


class _OwnAttention(MultiHeadAttention):
    """A class that the engine was not written for."""


def test_classes_that_are_not_known_are_named() -> None:
    masked = MaskedTransformer(
        MaskedTransformerConfig(
            source_vocab_size=5, target_vocab_size=7, d_model=4, n_heads=2
        )
    )
    with pytest.raises(ValueError, match=r"not know MaskedTransformer$"):
        IncrementalDecoder(masked)
    for part in "self_attention", "cross_attention":
        model = make_transformer()
        model.decoder.layers[1].register_module(part, _OwnAttention(24, 6))
        with pytest.raises(ValueError, match="does not know _OwnAttention: "):
            IncrementalDecoder(model)


def products(run: Callable[[], object]) -> int:
    """Floating-point operations in matrix products with weights."""
    with FlopCounterMode(display=False) as counter:
        run()
    counts = counter.get_flop_counts()["Global"]
    return sum(
        counts.get(op, 0) for op in (torch.ops.aten.mm, torch.ops.aten.addmm)
    )


@pytest.mark.parametrize("search", [fast_generate, fast_beam_search])
def test_rows_that_have_finished_cost_nothing(
    search: Callable[..., list[list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepacked, "can_prepack", lambda weight: False)
    sources = [
        [a, b, c] for a, b, c in itertools.product((3, 7), (4, 9), (5, 8))
    ]
    decoder = IncrementalDecoder(make_varied(sources))
    found = search(decoder, *pad(sources), max_length=MAX)
    assert len({len(token_ids) for token_ids in found}) > 1
    together = products(lambda: search(decoder, *pad(sources), max_length=MAX))
    alone = [
        products(lambda s=s: search(decoder, *pad([s]), max_length=MAX))
        for s in sources
    ]
    assert together == sum(alone)


def test_only_one_row_moves_for_each_that_leaves(model: Transformer) -> None:
    state = IncrementalDecoder(model).prefill(*pad(SOURCES), 3)
    state.length = 3
    with torch.inference_mode():
        state.self_kv.normal_()
    before = state.self_kv.clone(), state.cross_kv.clone()
    mask = state.source_mask
    assert mask is not None
    old_mask = mask.clone()
    address = state.self_kv.data_ptr()
    owner = drop_finished(
        state, [True, False, True, False, True], list("abcde")
    )
    assert owner == ["a", "e", "c"]
    assert len(state) == 3
    assert state.self_kv.data_ptr() == address  # nothing is allocated
    rows = torch.tensor([0, 4, 2])
    torch.testing.assert_close(state.self_kv, before[0][:, :, rows])
    torch.testing.assert_close(state.cross_kv, before[1][:, :, rows])
    assert torch.equal(mask[:3], old_mask[rows])


def test_no_more_than_max_length_is_generated(model: Transformer) -> None:
    decoder = IncrementalDecoder(model)
    for n in (1, 3):
        expected = generate(model, *pad(SOURCES), max_length=n)
        assert fast_generate(decoder, *pad(SOURCES), max_length=n) == expected


def test_capacity_and_lengths_are_checked(
    model: Transformer, unchecked: None
) -> None:
    decoder = IncrementalDecoder(model)
    table, lengths = pad([[3, 4], [5]])
    state = decoder.prefill(table, lengths, 1)
    decoder.decode_step(state, torch.tensor([BOS, BOS]))
    with pytest.raises(ValueError, match="max_length is 1: no more tokens"):
        decoder.decode_step(state, torch.tensor([4, 4]))
    for wrong in [0, 2], [1, 3], [-1, 2]:
        with pytest.raises(
            ValueError, match="lengths must be from 1 to 2, go"
        ):
            decoder.prefill(table, torch.tensor(wrong), 5)
    learned = make_transformer(positions="learned", max_length=5)
    decoder = IncrementalDecoder(learned)
    with pytest.raises(ValueError, match="positions must be from 0 to 4"):
        decoder.prefill(table, lengths, 6)
    decoder.prefill(table, lengths, 5)


def test_padding_is_not_attended_to(model: Transformer) -> None:
    decoder = IncrementalDecoder(model)
    table = torch.tensor([[3, 4, 0, 0], [5, 0, 0, 0]])
    other = torch.tensor([[3, 4, 9, 8], [5, 7, 6, 12]])
    lengths = torch.tensor([2, 1])
    states = [decoder.prefill(t, lengths, 1) for t in (table, other)]
    start = torch.tensor([BOS, BOS])
    a, b = (decoder.decode_step(state, start) for state in states)
    torch.testing.assert_close(a, b)


@pytest.mark.parametrize("training", [True, False])
def test_the_given_model_is_left_alone(training: bool) -> None:
    model = make_varied(SOURCES, dropout=0.5).train(training)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    kinds = [type(module) for module in model.modules()]
    decoder = IncrementalDecoder(model)
    first = fast_generate(decoder, *pad(SOURCES), max_length=MAX)
    assert [type(module) for module in model.modules()] == kinds
    assert all(m.training == training for m in model.modules())
    assert all(p.requires_grad for p in model.parameters())
    for name, p in model.state_dict().items():
        assert torch.equal(p, before[name])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert fast_generate(decoder, *pad(SOURCES), max_length=MAX) == first


@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "shape", [(7,), (1, 7), (1, 1, 7), (2, 7), (40, 7), (3, 2, 7), (0, 7)]
)
def test_prepacked_weights_give_the_same(
    shape: tuple[int, ...],
    bias: bool,
    dtype: torch.dtype,
    tiles: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not tiles:
        monkeypatch.setattr(prepacked, "can_prepack", lambda weight: False)
    torch.manual_seed(0)
    plain = nn.Linear(7, 5, bias=bias, dtype=dtype)
    ours = PrepackedLinear(plain.weight, plain.bias)
    packed = tiles and prepacked.can_prepack(torch.ones(1, dtype=dtype))
    assert (ours.tiles is not None) == packed
    x = torch.randn(shape, dtype=dtype)
    before = x.clone(), plain.bias.clone() if bias else None
    with torch.inference_mode():
        for _ in range(2):
            torch.testing.assert_close(ours(x), plain(x))
    assert torch.equal(x, before[0])
    if bias:
        assert torch.equal(plain.bias, before[1])


def test_without_onednn_nothing_is_prepacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight = torch.ones(5, 7)
    onednn = torch.backends.mkldnn.is_available()
    assert prepacked.can_prepack(weight) == onednn
    assert not prepacked.can_prepack(weight.to("meta"))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not prepacked.can_prepack(weight)


def test_without_tiles_the_same_is_generated(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"max_length": MAX}
    expected = generate(model, *pad(SOURCES), **options)
    monkeypatch.setattr(prepacked, "can_prepack", lambda weight: False)
    decoder = IncrementalDecoder(model)
    assert fast_generate(decoder, *pad(SOURCES), **options) == expected
    double = IncrementalDecoder(make_varied(SOURCES).double())
    assert fast_generate(double, *pad(SOURCES), **options) == expected


def test_a_beam_of_one_is_greedy(model: Transformer) -> None:
    decoder = IncrementalDecoder(model)
    expected = fast_generate(decoder, *pad(SOURCES), max_length=MAX)
    for alpha in (0.0, 0.6, 3.0):
        found = fast_beam_search(
            decoder,
            *pad(SOURCES),
            max_length=MAX,
            beam_size=1,
            length_penalty=alpha,
        )
        assert found == expected


@pytest.mark.parametrize("beam_size", [2, 3, 5, 20])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
def test_beams_of_a_batch_equal_the_plain_ones(
    beam_size: int, alpha: float, model: Transformer, unchecked: None
) -> None:
    options: dict[str, Any] = {
        "max_length": MAX,
        "beam_size": beam_size,
        "length_penalty": alpha,
    }
    decoder = IncrementalDecoder(model)
    found = fast_beam_search(decoder, *pad(SOURCES), **options)
    assert found == beam_search(model, *pad(SOURCES), **options)
    for source, token_ids in zip(SOURCES, found, strict=True):
        alone = fast_beam_search(decoder, *pad([source]), **options)
        assert alone == [token_ids]


@pytest.mark.parametrize(("seed", "beam_size"), [(1, 20), (24, 3), (25, 2)])
def test_beams_of_few_words(
    seed: int, beam_size: int, unchecked: None
) -> None:
    sources = [[3, 4, 5], [4], [5, 3]]
    model = make_transformer(seed, source_vocab_size=6, target_vocab_size=5)
    options: dict[str, Any] = {
        "max_length": 6,
        "beam_size": beam_size,
        "length_penalty": 3.0,
    }
    decoder = IncrementalDecoder(model)
    found = fast_beam_search(decoder, *pad(sources), **options)
    assert found == beam_search(model, *pad(sources), **options)


@pytest.mark.parametrize(("beam_size", "alpha"), [(0, 0.6), (2, -0.1)])
def test_a_beam_that_makes_no_sense(
    beam_size: int, alpha: float, model: Transformer
) -> None:
    message = f"wanted beam_size >= 1 .* got {beam_size} and {alpha}"
    with pytest.raises(ValueError, match=message):
        fast_beam_search(
            IncrementalDecoder(model),
            *pad([[3]]),
            max_length=3,
            beam_size=beam_size,
            length_penalty=alpha,
        )


STATIC = [
    {"positions": positions, "n_kv_heads": n_kv_heads, "norm": norm}
    for positions in get_args(Positions)
    for n_kv_heads, norm in ((None, "pre"), (2, "post"))
]


@pytest.mark.parametrize("config", STATIC)
def test_static_decoding_equals_the_plain_one(
    config: dict[str, Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **config)
    decoder = StaticDecoder(model, ON_CPU)
    for rows in (5, 3, 5):  # the last time with what is there already
        source, lengths = pad(SOURCES[:rows])
        expected = generate(model, source, lengths, max_length=MAX)
        found = decoder.generate(source, lengths, max_length=MAX)
        assert found == expected
    alone = [
        decoder.generate(*pad([source]), max_length=MAX)[0]
        for source in SOURCES
    ]
    assert alone == expected


def test_buckets_are_rounded_up_and_kept(model: Transformer) -> None:
    decoder = StaticDecoder(model, ON_CPU)
    source, lengths = pad([*SOURCES[:4], [3] * 17])
    for n in (3, 16, 17):
        found = decoder.generate(source, lengths, max_length=n)
        assert len(found) == 5
        assert all(1 <= len(token_ids) <= n for token_ids in found)
    assert sorted(decoder.buckets) == [(8, 32, 16), (8, 32, 32)]
    with pytest.raises(ValueError, match="lengths must be from 1 to"):
        decoder.generate(source, lengths * 0, max_length=3)


def test_buckets_stay_within_learnt_positions() -> None:
    model = make_transformer(positions="learned", max_length=20)
    decoder = StaticDecoder(model, ON_CPU)
    source, lengths = pad([[3] * 18])
    for n in (19, 20):
        found = decoder.generate(source, lengths, max_length=n)
        assert found == generate(model, source, lengths, max_length=n)
    assert list(decoder.buckets) == [(1, 20, 20)]
    with pytest.raises(ValueError, match="from 0 to 19, got 0 to 20"):
        decoder.generate(source, lengths, max_length=21)


@torch.inference_mode()
def test_rows_that_have_finished_generate_padding(model: Transformer) -> None:
    state = StaticDecodingState(model, 4, 16, 16)
    state.prefill(*pad(SOURCES[:3]))
    assert state.active.tolist() == [True, True, True, False]
    state.active[1] = False
    for _ in range(3):
        state.decode_step()
    assert state.token_ids[1, 1:4].tolist() == [PAD] * 3
    assert state.token_ids[3, 1:4].tolist() == [PAD] * 3
    assert state.token_ids[0, 1] != PAD
    assert not state.active[[1, 3]].any()


def test_buckets_unused_for_longest_are_evicted(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captured, "MAX_BUCKETS", 2)
    cuda = FakeCuda(monkeypatch)
    decoder = StaticDecoder(model, ON_CPU)
    expected = generate(model, *pad(SOURCES), max_length=MAX)
    for rows in (5, 1, 5, 2):  # the buckets are of 8, 1 and 2
        found = decoder.generate(*pad(SOURCES[:rows]), max_length=MAX)
        assert found == expected[:rows]
    assert [rows for rows, *_ in decoder.buckets] == [8, 2]
    assert len(cuda.pools) == 3  # no bucket was captured twice
    found = decoder.generate(*pad(SOURCES[:1]), max_length=MAX)
    assert found == expected[:1]
    assert [rows for rows, *_ in decoder.buckets] == [2, 1]
    assert decoder.pool is not None
    assert cuda.pools == [decoder.pool.handle] * 4
    assert cuda.streams == [decoder.pool.stream] * 4


class _CountOperations(TorchDispatchMode):
    """Counts those that a GPU would launch a kernel for."""

    n = 0

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        is_read = operator is torch.ops.aten.item.default
        self.n += not (operator.is_view or is_read)
        return operator(*args, **kwargs or {})


@pytest.mark.parametrize(
    ("positions", "n_operations"), [("sinusoidal", 122), ("learned", 122)]
)
def test_a_step_has_few_operations(
    positions: str, n_operations: int, unchecked: None
) -> None:
    model = make_transformer(n_layers=6, positions=positions)
    _, step = StaticDecoder(model, ON_CPU).bucket(1, 16, 32)
    with torch.inference_mode(), _CountOperations() as count:
        step()
    assert count.n == n_operations


def test_captured_steps_are_used_where_they_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = Translator.load()
    FakeCuda(monkeypatch)
    quick = Translator.load()
    texts = ["Tom chases Jerry.", "Did Anna buy this red umbrella yesterday?"]
    assert usual.graph_decoder is None
    assert quick.graph_decoder is not None
    assert not quick.graph_decoder.buckets
    assert quick.translate(texts) == usual.translate(texts)
    assert quick.graph_decoder.buckets


def texts() -> list[str]:
    """Forty texts whose lengths go up and down."""
    letters = itertools.cycle("abcdefghij")
    return [
        " ".join(itertools.islice(letters, 1 + i * 7 % 11)) for i in range(40)
    ]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_many_texts_come_back_in_their_order(
    beam_size: int, unchecked: None
) -> None:
    sources = [SOURCE_WORDS.encode(text) for text in texts()]
    model = make_varied(sources, 9, positions="learned", max_length=11)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    found = translator.translate(texts(), beam_size=beam_size)
    assert len(set(found)) > 5
    for text, translation in zip(texts(), found, strict=True):
        one = translator.translate([text], beam_size=beam_size)
        assert one == [translation]
        if beam_size == 1:
            source = pad([SOURCE_WORDS.encode(text)])
            (token_ids,) = generate(model, *source, max_length=11)
            assert translation == TARGET_WORDS.decode(token_ids)
    assert translator.translate([]) == []


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_long_text_pads_no_short_ones(
    beam_size: int, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [SOURCE_WORDS.encode(text) for text in texts()]
    sources[7] = [5] * 3000
    sources[9] = [5] * 200
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    batches = []

    def record(batch: list[list[int]], beam_size: int) -> list[list[int]]:
        batches.append((len(batch), max(map(len, batch))))
        return [[len(source)] for source in batch]

    monkeypatch.setattr(translator, "_generate_batch", record)
    found = translator.generate(sources, beam_size)
    assert found == [[len(source)] for source in sources]
    rows = {1: [1, 20, 19], 3: [1, 6, 32, 1]}[beam_size]
    assert [n for n, _ in batches] == rows
    assert [longest for _, longest in batches[:2]] == [3000, 200]
    assert all(beam_size * n * longest <= 4096 for n, longest in batches[1:])


def test_a_saved_model_translates_alike(
    model: Transformer, tmp_path: Path
) -> None:
    both = SOURCE_WORDS, TARGET_WORDS
    save_model(tmp_path / "model", model, tokenizers=both)
    translator = Translator.load(tmp_path / "model")
    expected = Translator(model, *both).translate(["a b", "c"])
    assert translator.translate(["a b", "c"]) == expected
    with pytest.raises(FileNotFoundError, match="none"):
        Translator.load(tmp_path / "none")
    save_model(tmp_path / "bare", model)
    with pytest.raises(ValueError, match="got a Transformer with 0"):
        Translator.load(tmp_path / "bare")


def test_texts_that_will_not_do() -> None:
    model = make_transformer(positions="learned", max_length=3)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    with pytest.raises(ValueError, match=r"^unknown words: x y$"):
        translator.translate(["a", "x b y"])
    for empty in "", "  \n":
        with pytest.raises(ValueError, match=r"1 to 3 tokens, got 0: '"):
            translator.translate(["a", empty])
    with pytest.raises(ValueError, match=r"got 4: 'a b c d'$"):
        translator.translate(["a b c d"])
    translator.translate(["a b c"])
    for beam_size in 0, -2:
        with pytest.raises(ValueError, match="wanted beam_size >= 1"):
            translator.translate(["a"], beam_size=beam_size)
    other = Translator(make_transformer(), SOURCE_WORDS, TARGET_WORDS)
    other.translate(["a b c d " * 5])


def test_what_the_fast_decoders_do_not_know_is_named() -> None:
    model = make_transformer()
    layer = model.decoder.layers[1]
    layer.cross_attention = MultiHeadAttention(24, 6, bias=False)
    with pytest.raises(
        ValueError,
        match=r"^fast decoding does not know MultiHeadAttention without bias:"
        " use generate or beam_search",
    ):
        IncrementalDecoder(model)
    masked = MaskedTransformer(MaskedTransformerConfig(**vars(make_config())))
    with pytest.raises(
        ValueError, match=r"must be a Transformer, got MaskedTransformer$"
    ):
        StaticDecoder(masked, ON_CPU)


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301


def sent(x: Any) -> Any:
    """As multiprocessing sends it: tensors in shared memory."""
    return pickle.loads(ForkingPickler.dumps(x))  # noqa: S301


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, sent])
@pytest.mark.parametrize(
    "config",
    [
        {"norm": "pre", "positions": "rotary", "n_kv_heads": 2},
        {"norm": "post", "feed_forward": "gelu", "positions": "learned"},
        {"positions": "alibi", "feed_forward": "swiglu"},
    ],
)
def test_decoders_can_be_copied_and_pickled(
    config: dict[str, Any], copied: Callable[[Any], Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **config)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    static = StaticDecoder(model, ON_CPU)
    expected = translator.generate(SOURCES)
    assert len(set(map(tuple, expected))) > 1
    static.generate(*pad(SOURCES), max_length=MAX)  # fills a bucket
    with torch.no_grad():
        model.target_embedding.tokens.weight.zero_()  # a copy is a copy
    found = copied(translator)
    assert found.generate(SOURCES) == expected
    assert found.generate(SOURCES, 2) == translator.generate(SOURCES, 2)
    assert found.translate(["a b"]) == translator.translate(["a b"])
    found = copied(static)
    assert not found.buckets
    assert found.generate(*pad(SOURCES), max_length=MAX) == static.generate(
        *pad(SOURCES), max_length=MAX
    )


def test_no_dropout_is_left_to_be_skipped(model: Transformer) -> None:
    for decoder in (IncrementalDecoder(model), StaticDecoder(model, ON_CPU)):
        parts = [
            part
            for whole in vars(decoder).values()
            if isinstance(whole, nn.Module)
            for part in whole.modules()
        ]
        assert parts
        assert not any(isinstance(part, nn.Dropout) for part in parts)


@pytest.mark.parametrize("every", [2, 5])
def test_it_ends_soon_after_all_rows_have(
    every: int, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captured, "SYNC_EVERY", every)
    decoder = StaticDecoder(model, ON_CPU)
    state, step = decoder.bucket(1, 3, 16)
    n_steps = 0

    def ending() -> None:
        nonlocal n_steps
        step()
        n_steps += 1
        state.active.fill_(n_steps < 3)

    shape = next(iter(decoder.buckets))
    decoder.buckets[shape] = state, ending
    decoder.generate(*pad([[3, 4, 5]]), max_length=16)
    assert n_steps == {2: 4, 5: 5}[every]


def test_a_copied_layer_is_laid_out_anew() -> None:
    weight = torch.randn(5, 3)
    layer = PrepackedLinear(weight, nn.Parameter(torch.randn(5)))
    found = pickled(layer)
    assert (found.tiles is None) == (layer.tiles is None)
    assert torch.equal(found.transposed, layer.transposed)
    for rows in (1, 4):
        x = torch.randn(rows, 3)
        assert torch.equal(found(x), layer(x))


@pytest.mark.parametrize("max_length", [0, -1])
def test_no_decoder_takes_a_length_of_nothing(max_length: int) -> None:
    model = make_transformer().eval()
    source = torch.tensor([[5, 6, 7]])
    lengths = torch.tensor([3])
    decoder = IncrementalDecoder(model)
    static = StaticDecoder(model, ON_CPU)
    for decode in (
        partial(generate, model),
        partial(beam_search, model),
        partial(fast_generate, decoder),
        partial(fast_beam_search, decoder),
        static.generate,
    ):
        with pytest.raises(ValueError, match=r"^max_length must be at least"):
            decode(source, lengths, max_length=max_length)
