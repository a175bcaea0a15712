"""The fast decoders and the Translator against the plain path."""

import copy
import itertools
import pickle
from collections.abc import Callable
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from attention_book import Translator, beam_search, generate, save_model
from attention_book.attention.functional import scaled_dot_product_attention
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.compute import ON_CPU
from attention_book.data.batches import pad
from attention_book.generation import cuda_graphs, prepacked
from attention_book.generation import translator as translator_module
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.generate import Hypothesis
from attention_book.generation.incremental import (
    IncrementalDecoder,
    single_query_attention,
)
from attention_book.generation.prepacked import PrepackedLinear
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS, SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer
from corpora.learner import LEARNER
from tests.factories import (
    GENERATORS,
    SOURCES,
    make_config,
    make_transformer,
    make_varied,
)
from tests.fake_cuda import FakeCuda


MAX = 9
CONFIGS = [*GENERATORS, {"source_vocab_size": 11, "share_embeddings": True}]
SOURCE_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"甲乙丙丁戊己庚辛"])


@pytest.fixture(scope="module")
def model() -> Transformer:
    return make_varied(SOURCES)


@pytest.mark.parametrize("config", CONFIGS)
def test_fast_equals_plain_or_is_refused(
    config: dict[str, Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **config)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    expected = generate(model, *pad(SOURCES), max_length=2 * 5 + 16)
    assert translator.generate(SOURCES) == expected
    decoders: list[Any] = [CUDAGraphDecoder(model, ON_CPU)]
    if config.get("positions") == "alibi":
        with pytest.raises(ValueError, match="does not know ALiBiAttention: "):
            IncrementalDecoder(model)
    else:
        decoders.append(IncrementalDecoder(model))
    long = partial(beam_search, beam_size=5, length_penalty=3.0)
    for search in generate, beam_search, long:
        whole = search(model, *pad(SOURCES), max_length=MAX)
        for decoder in decoders:
            for rows in (5, 3, 5):  # the last time with what is there already
                found = search(decoder, *pad(SOURCES[:rows]), max_length=MAX)
                assert found == whole[:rows]
            for row, found in zip(SOURCES, whole, strict=True):
                assert search(decoder, *pad([row]), max_length=MAX) == [found]


@pytest.mark.parametrize(
    "config", [x for x in CONFIGS if x.get("positions") != "alibi"]
)
def test_steps_give_the_logits_of_a_whole_target(
    config: dict[str, Any], unchecked: None
) -> None:
    model = make_transformer(**config)
    target = torch.randint(EOS + 1, 11, (5, 7))
    target[:, 0] = BOS
    with torch.no_grad():
        expected = model(*pad(SOURCES), target)
    state, first = IncrementalDecoder(model).prefill(*pad(SOURCES), 7)
    steps = [first, *(state.step(column) for column in target.T[1:])]
    logits = torch.stack(steps, dim=1)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 4])
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
    """A class that the decoder was not written for."""


def test_what_is_not_known_is_named() -> None:
    for part in "self_attention", "cross_attention":
        for attention, name in (
            (_OwnAttention(24, 6), "_OwnAttention"),
            (MultiHeadAttention(24, 6, bias=False), "Multi.* without bias"),
        ):
            model = make_transformer()
            model.decoder.layers[1].register_module(part, attention)
            wanted = f"^IncrementalDecoder does not know {name}: use CachedDe"
            with pytest.raises(ValueError, match=wanted):
                IncrementalDecoder(model)
    masked = MaskedTransformer(MaskedTransformerConfig(**vars(make_config())))
    with pytest.raises(ValueError, match="does not know MaskedTransformer: "):
        IncrementalDecoder(masked)
    wanted = "must be a Transformer, got MaskedTransformer$"
    with pytest.raises(ValueError, match=wanted):
        CUDAGraphDecoder(masked, ON_CPU)


def products(run: Callable[[], object]) -> int:
    """Floating-point operations in matrix products with weights."""
    with FlopCounterMode(display=False) as counter:
        run()
    counts = counter.get_flop_counts()["Global"]
    aten = torch.ops.aten
    return counts.get(aten.mm, 0) + counts.get(aten.addmm, 0)


@pytest.mark.parametrize("search", [generate, beam_search])
def test_rows_that_have_finished_cost_nothing(
    search: Callable[..., list[list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepacked, "_can_prepack", lambda weight: False)
    sources = [[*each] for each in itertools.product((3, 7), (4, 9), (5, 8))]
    decoder = IncrementalDecoder(make_varied(sources))

    def cost(sources: list[list[int]]) -> int:
        return products(lambda: search(decoder, *pad(sources), max_length=MAX))

    found = search(decoder, *pad(sources), max_length=MAX)
    assert len({len(token_ids) for token_ids in found}) > 1
    assert cost(sources) == sum(cost([source]) for source in sources)


def test_rows_that_stay_are_not_copied(model: Transformer) -> None:
    state, _ = IncrementalDecoder(model).prefill(*pad(SOURCES), 3)
    state.length = 3
    state.self_kv.normal_()
    rows = [0, 4, 2]
    own, cross = state.self_kv[:, rows], state.cross_kv[:, rows]
    mask = state.mask[rows]
    address = state.self_kv.data_ptr()
    state.keep(rows)
    assert state.self_kv.data_ptr() == address  # nothing is allocated
    found = state.self_kv, state.cross_kv, state.mask
    torch.testing.assert_close(found, (own, cross, mask))


@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_out", [5, 11])  # narrower than the input, wider
def test_prepacked_weights_give_the_same(
    n_out: int,
    bias: bool,
    dtype: torch.dtype,
    tiles: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not tiles:
        monkeypatch.setattr(prepacked, "_can_prepack", lambda weight: False)
    torch.manual_seed(0)
    plain = nn.Linear(7, n_out, bias=bias, dtype=dtype)
    ours = PrepackedLinear(plain.weight, plain.bias)
    has_onednn = torch.backends.mkldnn.is_available()
    is_packed = tiles and has_onednn and dtype == torch.float32
    assert (ours.tiles is not None) == is_packed
    for shape in (7,), (1, 7), (1, 7), (40, 7), (3, 2, 7), (0, 7):
        x = torch.randn(shape, dtype=dtype)
        before = x.clone()
        with torch.inference_mode():
            torch.testing.assert_close(ours(x), plain(x))
        assert torch.equal(x, before)


def test_without_tiles_the_same_is_generated(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"max_length": MAX}
    expected = generate(model, *pad(SOURCES), **options)
    monkeypatch.setattr(prepacked, "_can_prepack", lambda weight: False)
    decoder = IncrementalDecoder(model)
    assert generate(decoder, *pad(SOURCES), **options) == expected
    double = IncrementalDecoder(make_varied(SOURCES).double())
    assert generate(double, *pad(SOURCES), **options) == expected


def check_lengths(
    decoder: CUDAGraphDecoder, sources: list[list[int]], sizes: tuple[int, ...]
) -> None:
    for n in sizes:
        found = generate(decoder, *pad(sources), max_length=n)
        assert found == generate(decoder.model, *pad(sources), max_length=n)


def test_buckets_are_rounded_up_and_kept(model: Transformer) -> None:
    decoder = CUDAGraphDecoder(model, ON_CPU)
    check_lengths(decoder, [*SOURCES[:4], [3] * 17], (3, 16, 17))
    assert decoder.captured_step.cache_info().currsize == 2
    assert decoder.bucket(5, 17, 3) is decoder.bucket(8, 32, 16)
    assert decoder.bucket(5, 17, 17).shape == (8, 32, 32)
    learned = make_transformer(positions="learned", max_length=20)
    decoder = CUDAGraphDecoder(learned, ON_CPU)
    check_lengths(decoder, [[3] * 18], (19, 20))
    assert decoder.bucket(1, 18, 19).shape == (1, 20, 20)


def test_buckets_unused_for_longest_are_evicted(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_graphs, "_MAX_BUCKETS", 2)
    cuda = FakeCuda(monkeypatch)
    decoder = CUDAGraphDecoder(model, ON_CPU)
    expected = generate(model, *pad(SOURCES), max_length=MAX)
    captures = []
    for rows in (5, 1, 5, 2, 5, 1):  # the buckets are of 8, 1 and 2
        found = generate(decoder, *pad(SOURCES[:rows]), max_length=MAX)
        assert found == expected[:rows]
        captures.append(len(cuda.pools))
    assert captures == [1, 2, 2, 3, 3, 4]  # the bucket of 1 was evicted
    assert len({*cuda.pools}) == 1  # all graphs share their memory
    assert len({*map(id, cuda.streams)}) == 1


def test_captured_steps_are_used_where_they_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = Translator.load(LEARNER[900])
    FakeCuda(monkeypatch)
    quick = Translator.load(LEARNER[900])
    texts = ["Tom chases Jerry.", "Did he buy this book?"]
    assert isinstance(usual.decoder, IncrementalDecoder)
    assert isinstance(quick.decoder, CUDAGraphDecoder)
    for beam_size in 1, 3:
        found = quick.translate(texts, beam_size=beam_size)
        assert found == usual.translate(texts, beam_size=beam_size)
    assert quick.decoder.captured_step.cache_info().currsize


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
    search = partial(beam_search, beam_size=3) if beam_size > 1 else generate
    for source, translation in zip(sources, found, strict=True):
        (token_ids,) = search(model, *pad([source]), max_length=11)
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

    def record(
        _: object, source: Tensor, lengths: Tensor, **__: object
    ) -> list[Hypothesis]:
        batches.append(tuple(source.shape))
        return [Hypothesis([n]) for n in lengths.tolist()]

    for name in ("beam_search", "generate"):
        monkeypatch.setattr(translator_module, name, record)
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
    found = Translator.load(tmp_path / "model").translate(["a b", "c"])
    assert found == Translator(model, *both).translate(["a b", "c"])
    save_model(tmp_path / "bare", model)
    with pytest.raises(ValueError, match="got a Transformer with 0"):
        Translator.load(tmp_path / "bare")


def test_texts_that_will_not_do() -> None:
    model = make_transformer(positions="learned", max_length=3)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    for text, message in {
        "x b y": r"^unknown words: x y$",
        "  \n": r"1 to 3 tokens, got 0: '",
        "a b c d": r"got 4: 'a b c d'$",
    }.items():
        with pytest.raises(ValueError, match=message):
            translator.translate(["a", text])
    translator.translate(["a b c"])
    with pytest.raises(ValueError, match="beam_size must be at least 1"):
        translator.translate(["a"], beam_size=0)
    other = Translator(make_transformer(), SOURCE_WORDS, TARGET_WORDS)
    other.translate(["a b c d " * 5])


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301


def sent(x: Any) -> Any:
    """As multiprocessing sends it: tensors in shared memory."""
    return pickle.loads(ForkingPickler.dumps(x))  # noqa: S301


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, sent])
@pytest.mark.parametrize("config", GENERATORS[5:7])
def test_decoders_can_be_copied_and_pickled(
    config: dict[str, Any], copied: Callable[[Any], Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **config)
    translator = Translator(model, SOURCE_WORDS, TARGET_WORDS)
    static = CUDAGraphDecoder(model, ON_CPU)
    expected = translator.generate(SOURCES)
    generate(static, *pad(SOURCES), max_length=MAX)  # captures a step
    with torch.no_grad():
        model.target_embedding.tokens.weight.zero_()  # a copy is a copy
    assert copied(translator).generate(SOURCES) == expected
    found = generate(copied(static), *pad(SOURCES), max_length=2 * 5 + 16)
    assert found == expected
