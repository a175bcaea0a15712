"""Drafts, pages and eight bits against the model, one piece and four bytes."""

import copy
import math
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_book import CausalLanguageModel, generate
from attention_book.attention.block_pool import BlockPool, OutOfBlocksError
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.paged import PagedCache
from attention_book.attention.positions import RotaryAttention
from attention_book.compute import inference_copy
from attention_book.data.batches import pad
from attention_book.generation import int8 as int8_module
from attention_book.generation.acceptance import accept
from attention_book.generation.decoder import CachedDecoder, CachedState
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.int8 import (
    Int8Cache,
    Int8Linear,
    quantize,
)
from attention_book.generation.prepacked import replace_parts
from attention_book.generation.speculative import speculate
from attention_book.generation.text import PromptDecoder, generate_text
from tests.factories import KINDS, SOURCES, make_text_config, make_varied


# Eight bits


def test_no_number_moves_by_more_than_half_a_scale() -> None:
    x = torch.randn(3, 5, 7) * torch.tensor([1e-3, 1.0, 1e3, 0, 1])[:, None]
    rounded, scale = quantize(x)
    assert rounded.dtype == torch.int8
    assert scale.shape == (3, 5, 1)
    assert ((rounded * scale - x).abs() <= 0.5001 * scale).all()
    assert (rounded.abs().amax(-1)[:, [0, 1, 2, 4]] == 127).all()
    assert not rounded[:, 3].any(), "zeros stay zeros"


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(2,), (1, 2), (8, 2), (3, 5, 2), (0, 2)])
def test_int8_weights_multiply_as_what_they_stand_for(
    bias: bool, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    linear = nn.Linear(32, 48, bias=bias).requires_grad_(False)
    x = torch.randn(*shape[:-1], 32)
    ours = Int8Linear(linear.weight, linear.bias)
    expected = nn.functional.linear(x, ours.weight, linear.bias)
    torch.testing.assert_close(ours(x), expected, rtol=0.02, atol=0.02)
    monkeypatch.setattr(int8_module, "_MAX_ROWS", -1)
    torch.testing.assert_close(ours(x), expected)
    assert ours.weight.shape == linear.weight.shape
    assert ours(x.double()).dtype == torch.float64
    assert ours.rounded.element_size() == 1


def test_int8_weights_of_any_width() -> None:
    for n_in, n_out in ((5, 3), (7, 11), (1, 1)):
        linear = nn.Linear(n_in, n_out).requires_grad_(False)
        ours = Int8Linear(linear.weight, linear.bias)
        x = torch.randn(2, n_in)
        expected = nn.functional.linear(x, ours.weight, linear.bias)
        torch.testing.assert_close(ours(x), expected, rtol=0.03, atol=0.03)


def test_rows_do_not_depend_on_one_another() -> None:
    linear = nn.Linear(32, 16).requires_grad_(False)
    ours = Int8Linear(linear.weight, linear.bias)
    x = torch.randn(2, 32)
    alone = ours(x[:1])
    x[1] *= 1000
    torch.testing.assert_close(ours(x)[:1], alone)


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301 - what was just written


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_an_int8_decoder_is_near_the_model_and_can_be_copied(
    copied: Callable[[Any], Any],
) -> None:
    model = make_varied(SOURCES)
    decoder = IncrementalDecoder(model, linear=Int8Linear)
    assert isinstance(decoder.output, Int8Linear)
    source, lengths = pad(SOURCES)
    logits = decoder.prefill(source, lengths, 3)[1]
    plain = CachedDecoder(model).prefill(source, lengths, 3)[1]
    assert 0 < (logits - plain).norm() < 0.05 * plain.norm()
    again = copied(decoder).prefill(source, lengths, 3)[1]
    torch.testing.assert_close(again, logits, rtol=0, atol=0)


def test_int8_layers_in_another_model() -> None:
    model = CausalLanguageModel(make_text_config()).eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    ours = inference_copy(model)
    replace_parts(ours, nn.Linear, lambda x: Int8Linear(x.weight, x.bias))
    kinds = Counter(type(module) for module in ours.modules())
    assert kinds[Int8Linear] > 0
    assert kinds[nn.Linear] == 0
    token_ids = torch.tensor([[3, 5, 7, 4]])
    with torch.no_grad():
        logits, plain = ours(token_ids), model(token_ids)
    assert 0 < (logits - plain).norm() < 0.05 * plain.norm()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_an_int8_cache_is_off_by_half_a_scale() -> None:
    key, value = torch.randn(2, 3, 2, 7, 5)
    cache = Int8Cache(7)
    cache.append(key[..., :4, :], value[..., :4, :])
    kept = cache.append(key[..., 4:, :], value[..., 4:, :])
    for x, y in zip(kept, (key, value), strict=True):
        assert x.dtype == torch.float32
        assert ((x - y).abs() <= 0.5001 * quantize(y)[1]).all()
    assert cache.buffer is not None
    assert {x.dtype for x in cache.buffer} == {torch.int8}
    assert cache.buffer.key[0, 0, 0].nbytes == 5 + 4
    with pytest.raises(ValueError, match="at most 7 positions"):
        cache.append(key[..., :1, :], value[..., :1, :])
    again = Int8Cache(2).append(key[..., :2, :].bfloat16(), value[..., :2, :])
    assert {x.dtype for x in again} == {torch.bfloat16}


def test_a_decoder_keeps_its_tokens_in_caches_of_this_kind() -> None:
    model = make_varied(SOURCES)
    decoder = CachedDecoder(model, make_cache=Int8Cache)
    source, lengths = pad(SOURCES)
    state, logits = decoder.prefill(source, lengths, 3)
    assert {type(cache) for cache in state.caches} == {Int8Cache}
    plain = CachedDecoder(model).prefill(source, lengths, 3)[1]
    assert 0 < (logits - plain).norm() < 0.05 * plain.norm()


def test_a_model_goes_on_with_int8_caches_whose_rows_are_exchanged() -> None:
    model = CausalLanguageModel(make_text_config()).eval()
    token_ids = torch.tensor([[3, 5, 7, 4], [4, 4, 9, 8]])
    caches = [Int8Cache(9) for _ in range(model.config.n_layers)]
    state = CachedState(lambda ids, state: model(ids, state.caches), caches)
    with torch.no_grad():
        state.forward(token_ids[:, :3], state)
        state.keep([1, 0])
        found = state.step(token_ids[[1, 0], 3])
        plain = model(token_ids)[[1, 0], -1]
    assert 0 < (found - plain).norm() < 0.05 * plain.norm()


# Drafts


def test_the_first_rejection_ends_a_draft() -> None:
    generator = torch.Generator().manual_seed(0)
    p = torch.eye(4)[[2, 0, 1, 3]]
    q = torch.eye(4)[[2, 0, 3]]
    n, rest = accept([2, 0, 3], p, q, generator)
    assert n == 2
    assert rest.tolist() == [0, 1, 0, 0]
    n, rest = accept([2, 0], p[:3], q[:2], generator)
    assert n == 2
    assert rest.tolist() == p[2].tolist()
    assert accept([], p[:1], [], generator)[0] == 0


def test_what_is_accepted_is_counted_by_the_formula() -> None:
    """1 + α + … + α^k tokens a pass, and the first is distributed as p."""
    p = torch.tensor([0.5, 0.3, 0.1, 0.05, 0.05])
    q = torch.tensor([0.1, 0.3, 0.3, 0.25, 0.05])
    alpha = float(torch.minimum(p, q).sum())
    generator = torch.Generator().manual_seed(0)
    k, n_rounds = 3, 8000
    drafts = torch.multinomial(
        q.expand(n_rounds, -1), k, replacement=True, generator=generator
    ).tolist()
    n_tokens, first = 0, torch.zeros(5)
    for draft in drafts:
        n, rest = accept(draft, p.expand(k + 1, -1), [q] * k, generator)
        n_tokens += n + 1
        if n:
            first[draft[0]] += 1
        else:
            first += rest / rest.sum()
    expected = (1 - alpha ** (k + 1)) / (1 - alpha)
    assert n_tokens / n_rounds == pytest.approx(expected, rel=0.03)
    torch.testing.assert_close(first / n_rounds, p, rtol=0.05, atol=0.01)


class Tabled:
    """A decoder that looks the logits up, by all the tokens so far."""

    sync_every = 1

    def __init__(self, seed: int, vocab_size: int = 5) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.vocab_size = vocab_size
        self.rows: dict[tuple[int, ...], Tensor] = {}

    def logits(self, prefix: tuple[int, ...]) -> Tensor:
        if prefix not in self.rows:
            row = torch.randn(self.vocab_size, generator=self.generator)
            self.rows[prefix] = 1.5 * row
        return self.rows[prefix]

    def prefill(
        self, source: Tensor, lengths: Tensor, max_length: int
    ) -> tuple[CachedState, Tensor]:
        cache = KeyValueCache(source.shape[1] + max_length)
        prefix = source[0].tolist()
        cache.length = len(prefix)

        def forward(token_ids: Tensor, state: CachedState) -> Tensor:
            assert len(prefix) >= int(cache.length), "tokens were skipped"
            del prefix[int(cache.length) :]
            found = []
            for token_id in token_ids[0].tolist():
                prefix.append(token_id)
                found.append(self.logits(tuple(prefix)))
            assert len(prefix) <= cache.capacity
            cache.length = len(prefix)
            return torch.stack(found)[None]

        state = CachedState(forward, [cache])
        return state, self.logits(tuple(prefix))[None]


def test_the_distribution_is_the_models() -> None:
    """All sequences of three tokens, by chi squared; three drafts at a time."""
    ours, other = Tabled(0), Tabled(1)
    one = torch.tensor([[1]]), torch.tensor([1])
    for prefix in product(range(5), repeat=2):  # in a fixed order
        for n in range(3):
            ours.logits((1, *prefix[:n]))
            other.logits((1, *prefix[:n]))
    generator = torch.Generator().manual_seed(0)
    n_draws = 4000
    counts = Counter(
        tuple(
            speculate(
                ours,
                other,
                *one,
                max_length=3,
                n_draft=2,
                temperature=1.0,
                eos_id=None,
                generator=generator,
            ).token_ids
        )
        for _ in range(n_draws)
    )
    chi_squared, rare, rare_expected = 0.0, 0, 0.0
    n_cells = 0
    for sequence in product(range(5), repeat=3):
        log_p = sum(
            float(ours.logits((1, *sequence[:n])).log_softmax(-1)[sequence[n]])
            for n in range(3)
        )
        expected = n_draws * math.exp(log_p)
        if expected < 5:
            rare += counts[sequence]
            rare_expected += expected
            continue
        chi_squared += (counts[sequence] - expected) ** 2 / expected
        n_cells += 1
    chi_squared += (rare - rare_expected) ** 2 / rare_expected
    freedom = n_cells  # and the rare ones together, less one
    assert n_cells > 40
    assert abs(chi_squared - freedom) < 4 * math.sqrt(2 * freedom)


def drafts_of(model: Any) -> dict[str, Any]:
    """Drafts of a Transformer, from one that is never right to itself."""
    early = copy.deepcopy(model)
    del early.decoder.layers[1:]
    torch.manual_seed(1)
    return {"early": early, "other": make_varied(SOURCES), "same": model}


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_what_generate_gives(
    kind: dict[str, Any], unchecked: None
) -> None:
    model = make_varied(SOURCES, **kind)
    for name, draft in drafts_of(model).items():
        for n_draft, max_length in ((1, 1), (1, 7), (3, 2), (3, 9)):
            for source in SOURCES[:3]:
                one = pad([source])
                (expected,) = generate(model, *one, max_length=max_length)
                found, accepted = speculate(
                    model,
                    draft,
                    *one,
                    max_length=max_length,
                    n_draft=n_draft,
                )
                assert found == expected
                assert all(0 <= n <= n_draft for n in accepted)
                if name == "same":
                    passes = 1 + math.ceil((len(found) - 1) / (n_draft + 1))
                    assert 1 + len(accepted) == passes


def test_a_language_model_goes_on_with_drafts() -> None:
    torch.manual_seed(0)
    model, other = (
        CausalLanguageModel(make_text_config(n_layers=n)).eval()
        for n in (2, 1)
    )
    prompt = [1, 5, 3]
    expected = generate_text(model, prompt, max_length=11, eos_id=None)
    one = torch.tensor([prompt]), torch.tensor([3])
    for draft in (other, model):
        found, accepted = speculate(
            PromptDecoder(model),
            PromptDecoder(draft),
            *one,
            max_length=8,
            n_draft=3,
            eos_id=None,
        )
        assert [*prompt, *found] == expected
    assert accepted == [3, 2], "the model's own draft is always right"


def test_randomness_comes_from_the_generator() -> None:
    model = make_varied(SOURCES)
    one = pad(SOURCES[:1])

    def found(seed: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        options: Any = {"temperature": 2.0, "generator": generator}
        return speculate(model, model, *one, max_length=9, **options)[0]

    before = torch.get_rng_state()
    assert found(0) == found(0)
    assert len({tuple(found(seed)) for seed in range(5)}) > 1
    speculate(model, model, *one, max_length=9)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_speculation_refuses() -> None:
    model = make_varied(SOURCES)
    one = pad(SOURCES[:1])
    for options, says in (
        ({"max_length": 0}, "max_length must be at least 1"),
        ({"max_length": 3, "n_draft": 0}, "n_draft must be at least 1"),
        ({"max_length": 3, "temperature": -1.0}, "temperature must be"),
    ):
        with pytest.raises(ValueError, match=says):
            speculate(model, model, *one, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one sequence, got 2"):
        speculate(model, model, *pad(SOURCES[:2]), max_length=3)
    with pytest.raises(ValueError, match="CachedState, got Incremental"):
        speculate(IncrementalDecoder(model), model, *one, max_length=3)


# Pages


def make_pool(**changes: Any) -> BlockPool:
    sizes: dict[str, Any] = {"n_blocks": 6, "n_kv_heads": 2, "d_k": 3}
    return BlockPool(**sizes | {"block_size": 4} | changes)


def check_pool(pool: BlockPool, *caches: PagedCache) -> None:
    """Each block is free, or used by as many as have it in their table."""
    used = Counter(block for cache in caches for block in cache.table)
    assert pool.n_users == [used[block] for block in range(len(pool.n_users))]
    assert sorted(pool.free) == [
        block for block, n in enumerate(pool.n_users) if n == 0
    ]


@pytest.mark.parametrize("make", [MultiHeadAttention, RotaryAttention])
@pytest.mark.parametrize("sizes", [[1] * 11, [5, 1, 4, 1], [4, 4, 3], [11]])
@pytest.mark.parametrize("size", [1, 4, 16])
@torch.no_grad()
def test_pages_equal_one_piece(
    make: Callable[..., MultiHeadAttention], sizes: list[int], size: int
) -> None:
    torch.manual_seed(0)
    attention = make(24, 6, n_kv_heads=2)
    x = torch.randn(1, 11, 24)
    pool = BlockPool(24, 2, 4, block_size=size)
    pool.take(1)  # so that a table is not 0, 1, 2, …
    other = PagedCache(pool)
    paged, plain = PagedCache(pool), KeyValueCache(11)
    for part in x.split(sizes, dim=1):
        expected = attention(part, is_causal=True, cache=plain)
        found = attention(part, is_causal=True, cache=paged)
        torch.testing.assert_close(found, expected)
        attention(part, is_causal=True, cache=other)  # another between them
    assert len(paged.table) == -(-11 // size)


def test_blocks_are_given_back_and_used_again() -> None:
    pool = make_pool()
    key = torch.randn(1, 2, 24, 3)
    first, second = PagedCache(pool), PagedCache(pool)
    first.append(key[..., :9, :], key[..., :9, :])
    second.append(key[..., 9:17, :], key[..., 9:17, :])
    check_pool(pool, first, second)
    assert len(pool.free) == 1
    first.release()
    assert first.table == []
    assert first.length == 0
    third = PagedCache(pool)
    third.append(key[..., :16, :], key[..., :16, :])
    check_pool(pool, first, second, third)
    kept = second.append(key[..., 17:17, :], key[..., 17:17, :])
    assert torch.equal(kept.key, key[..., 9:17, :])


def test_an_empty_pool_is_named_and_nothing_is_lost() -> None:
    pool = make_pool()
    key = torch.randn(1, 2, 30, 3)
    first, second = PagedCache(pool), PagedCache(pool)
    first.append(key[..., :10, :], key[..., :10, :])
    second.append(key[..., :9, :], key[..., :9, :])
    wanted = "wanted 1 blocks of 4 positions, 0 of 6 are free"
    with pytest.raises(OutOfBlocksError, match=wanted):
        first.append(key[..., 10:13, :], key[..., 10:13, :])
    check_pool(pool, first, second)
    assert first.length == 10
    kept = first.append(key[..., 10:12, :], key[..., 10:12, :])
    assert torch.equal(kept.key, key[..., :12, :])
    second.release()
    kept = first.append(key[..., 12:24, :], key[..., 12:24, :])
    assert torch.equal(kept.value, key[..., :24, :])
    check_pool(pool, first)


def test_a_fork_shares_until_it_writes() -> None:
    pool = make_pool()
    key, value = torch.randn(2, 1, 2, 12, 3)
    first = PagedCache(pool)
    first.append(key[..., :6, :], value[..., :6, :])
    second = first.fork()
    assert len(pool.free) == 4
    check_pool(pool, first, second)
    kept = second.append(-key[..., :1, :], -value[..., :1, :])  # copies
    check_pool(pool, first, second)
    assert first.table[0] == second.table[0]
    assert first.table[1] != second.table[1]
    own = torch.cat([key[..., :6, :], -key[..., :1, :]], dim=-2)
    assert torch.equal(kept.key, own)
    kept = first.append(key[..., 6:7, :], value[..., 6:7, :])  # does not
    assert torch.equal(kept.key, key[..., :7, :])
    assert torch.equal(kept.value, value[..., :7, :])
    first.release()
    check_pool(pool, second)
    nothing = key[..., :0, :]
    assert torch.equal(second.append(nothing, nothing).key, own)


def test_a_copy_needs_a_block_too() -> None:
    pool = make_pool(n_blocks=2)
    key = torch.randn(1, 2, 6, 3)
    first = PagedCache(pool)
    first.append(key, key)
    second = first.fork()
    with pytest.raises(OutOfBlocksError):
        second.append(key[..., :1, :], key[..., :1, :])
    check_pool(pool, first, second)
    assert torch.equal(
        second.append(key[..., :0, :], key[..., :0, :]).key, key
    )


def test_a_cache_that_was_cut_back_goes_on() -> None:
    pool = make_pool()
    key = torch.randn(1, 2, 20, 3)
    cache, other = PagedCache(pool), PagedCache(pool)
    cache.append(key[..., :14, :], key[..., :14, :])
    cache.length = 5
    kept = cache.append(key[..., 14:16, :], key[..., 14:16, :])
    assert torch.equal(
        kept.key, torch.cat([key[..., :5, :], key[..., 14:16, :]], dim=-2)
    )
    check_pool(pool, cache, other)
    assert len(cache.table) == 2
    cache.length = 4
    fork = cache.fork()
    assert len(fork.table) == 1
    cache.append(key[..., :1, :], key[..., :1, :])
    check_pool(pool, cache, fork)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((2, 2, 1, 3), torch.float32),
        ((1, 3, 1, 3), torch.float32),
        ((1, 2, 1, 5), torch.float32),
        ((2, 1, 3), torch.float32),
        ((1, 2, 1, 3), torch.float64),
    ],
)
def test_what_pages_can_not_hold_is_named(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    pool = make_pool()
    cache = PagedCache(pool)
    good, bad = torch.zeros(1, 2, 1, 3), torch.zeros(shape, dtype=dtype)
    for pair in ((bad, bad), (good, bad)):
        with pytest.raises(ValueError, match=r"(key|value) must be torch"):
            cache.append(*pair)
    check_pool(pool, cache)
    for name in "n_blocks", "block_size":
        with pytest.raises(ValueError, match=f"{name} must be at least 1"):
            make_pool(**{name: 0})
