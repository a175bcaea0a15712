"""Windows, sinks, selected blocks, rolling caches and stretched positions.

The oracles are RotaryAttention with a mask that a plain loop fills.
"""

import math
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_book import (
    KeyValueCache,
    RotaryAttention,
    RotaryEmbedding,
    padding_mask,
)
from attention_book.attention.block_sparse import (
    BlockSparseAttention,
    select_blocks,
)
from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import scaled_dot_product_attention
from attention_book.attention.local import attend_locally
from attention_book.attention.multi_head import attention_weights
from attention_book.attention.packed import PackedLayout, PaddingLayout
from attention_book.attention.stretched import YarnEmbedding
from attention_book.attention.window import RollingCache, WindowAttention
from attention_book.models.encoder import EncoderLayer
from experiments import long_contexts
from experiments.record import make_tables


KINDS: dict[type[RotaryAttention], dict[str, Any]] = {
    WindowAttention: {"window": 3, "n_sinks": 2},
    BlockSparseAttention: {"block_size": 3, "n_selected": 2},
}
Layer = RotaryAttention


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def layer(request: pytest.FixtureRequest) -> Layer:
    torch.manual_seed(0)
    made: Layer = request.param(24, 6, n_kv_heads=2, **KINDS[request.param])
    return made.double()


def tokens(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def plain(layer: Layer) -> RotaryAttention:
    """The same weights, and attention to all keys."""
    made = RotaryAttention(
        layer.d_model, layer.n_heads, n_kv_heads=layer.n_kv_heads
    ).double()
    made.load_state_dict(layer.state_dict())
    return made


def window_mask(n: int, window: int, n_sinks: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = i - j < window or j < n_sinks
    return mask


@torch.no_grad()
def block_mask(layer: BlockSparseAttention, x: Tensor) -> Tensor:
    """What each query sees, chosen one block at a time: (b, heads, n, n)."""
    size = layer.block_size
    queries = layer.queries(x)
    keys = layer.keys_and_values(x).key
    batch, heads, n, _ = queries.shape
    mask = torch.zeros(batch, heads, n, n, dtype=torch.bool)
    for b in range(batch):
        for h in range(heads):
            key = keys[b, h * layer.n_kv_heads // heads]
            for i in range(n):
                own = i // size
                fit = [
                    float(
                        queries[b, h, i]
                        @ key[k * size : (k + 1) * size].mean(0)
                    )
                    for k in range(own)
                ]
                best = sorted(range(own), key=lambda k: -fit[k])
                for k in [*best[: layer.n_selected], own]:
                    mask[b, h, i, k * size : min((k + 1) * size, i + 1)] = True
    return mask


def mask_of(layer: Layer, x: Tensor) -> Tensor:
    if isinstance(layer, BlockSparseAttention):
        return block_mask(layer, x)
    assert isinstance(layer, WindowAttention)
    return window_mask(x.shape[-2], layer.window, layer.n_sinks)


@pytest.mark.parametrize("n", [1, 2, 5, 7, 13, 14, 23])
def test_a_layer_sees_what_a_loop_says(layer: Layer, n: int) -> None:
    x = tokens(2, n, 24)
    want = plain(layer)(x, mask=mask_of(layer, x))
    assert_close(layer(x, is_causal=True), want, atol=1e-12, rtol=0)


def test_gradients_are_those_of_the_mask(layer: Layer) -> None:
    x = tokens(2, 13, 24)
    other = plain(layer)
    layer(x, is_causal=True).square().sum().backward()
    other(x, mask=mask_of(layer, x)).square().sum().backward()
    for ours, theirs in zip(
        layer.parameters(), other.parameters(), strict=True
    ):
        assert_close(ours.grad, theirs.grad, atol=1e-11, rtol=0)


@pytest.mark.parametrize("n_selected", [1, 2])
def test_the_future_does_not_leak(n_selected: int) -> None:
    layers: list[Layer] = [
        WindowAttention(12, 3, window=5, n_sinks=1).double(),
        BlockSparseAttention(
            12, 3, block_size=4, n_selected=n_selected
        ).double(),
    ]
    x = tokens(2, 19, 12)
    for layer in layers:
        want = layer(x, is_causal=True)
        for t in range(1, 19):
            changed = x.clone()
            changed[:, t:] = 7 * tokens(2, 19 - t, 12) + 3
            got = layer(changed, is_causal=True)
            assert_close(got[:, :t], want[:, :t], atol=1e-12, rtol=0)


def test_a_cache_gives_the_same_token_by_token(layer: Layer) -> None:
    x = tokens(2, 14, 24)
    cache = KeyValueCache(14)
    with torch.no_grad():
        parts = [layer(x[:, :5], is_causal=True, cache=cache)]
        parts += [
            layer(x[:, t : t + 1], is_causal=True, cache=cache)
            for t in range(5, 14)
        ]
        assert_close(torch.cat(parts, dim=1), layer(x, is_causal=True))


@pytest.mark.parametrize("steps", [(1,) * 17, (5, 1, 2, 9), (17,)])
@pytest.mark.parametrize("n_sinks", [0, 1, 2])
def test_a_rolling_cache_is_a_window(
    steps: tuple[int, ...], n_sinks: int
) -> None:
    torch.manual_seed(0)
    layer = WindowAttention(12, 3, window=4, n_sinks=n_sinks).double()
    x = tokens(2, 17, 12)
    cache = RollingCache(4, n_sinks)
    with torch.no_grad():
        parts = [
            layer(part, is_causal=True, cache=cache)
            for part in torch.split(x, list(steps), dim=1)
        ]
        assert_close(torch.cat(parts, dim=1), layer(x, is_causal=True))
    assert cache.buffer is not None
    assert cache.buffer.key.shape[-2] == 4 + n_sinks
    assert cache.length == 17


@pytest.mark.parametrize("first", [1, 3, 9])
def test_sinks_move_along_with_the_window(first: int) -> None:
    """A sink always stands right before the window, whatever was dropped."""
    torch.manual_seed(0)
    layer = RotaryAttention(12, 3).double()
    x = tokens(2, 17, 12)
    cache = RollingCache(4, 2, layer.rotary)
    with torch.no_grad():
        layer(x[:, :first], is_causal=True, cache=cache)
        for t in range(first, 17):
            got = layer(x[:, t : t + 1], is_causal=True, cache=cache)
            kept = [*range(min(t + 1, 2)), *range(max(2, t - 3), t + 1)]
            want = layer(x[:, kept], is_causal=True)[:, -1:]
            assert_close(got, want)


def test_all_blocks_are_attention_to_all_keys() -> None:
    layer = BlockSparseAttention(12, 3, block_size=4, n_selected=5).double()
    x = tokens(2, 23, 12)
    assert torch.equal(
        layer(x, is_causal=True), plain(layer)(x, is_causal=True)
    )


def test_many_queries_are_taken_in_parts() -> None:
    layer = BlockSparseAttention(8, 2, block_size=40, n_selected=1).double()
    x = tokens(1, 530, 8)
    want = plain(layer)(x, mask=block_mask(layer, x))
    assert_close(layer(x, is_causal=True), want)


def test_padding_at_the_end_changes_nothing(layer: Layer) -> None:
    x = tokens(3, 13, 24)
    lengths = torch.tensor([13, 5, 8])
    noise = x.clone()
    for row, length in zip(noise, lengths, strict=True):
        row[length:] = 100.0
    mask = padding_mask(lengths, 13)
    padded = layer(noise, mask=mask, is_causal=True)
    layout = PaddingLayout(lengths, 13)
    packed = layer(
        layout.unpad(noise),
        mask=PackedLayout(layout, layout),
        is_causal=True,
    )
    for row, length in enumerate(lengths):
        alone = layer(x[row : row + 1, :length], is_causal=True)[0]
        assert_close(padded[row, :length], alone)
        assert_close(layout.pad(packed)[row, :length], alone)


def test_a_row_without_a_key_is_zero(layer: Layer) -> None:
    layer.out_proj.bias.data.zero_()
    mask = torch.zeros(2, 1, 1, 7, dtype=torch.bool)
    mask[1] = True
    out = layer(tokens(2, 7, 24), mask=mask, is_causal=True)
    assert (out[0] == 0).all()
    assert out[1].abs().min() > 0


def test_a_window_can_look_both_ways() -> None:
    layer = WindowAttention(12, 3, window=3).double()
    x = tokens(2, 9, 12)
    i = torch.arange(9)
    near = (i[:, None] - i).abs() < 3
    assert_close(layer(x), plain(layer)(x, mask=near))


def test_weights_can_be_read(layer: Layer) -> None:
    x = tokens(2, 8, 24)
    weights = attention_weights(layer, x, is_causal=True)
    seen = mask_of(layer, x).expand_as(weights)
    assert ((weights > 0) == seen).all()
    assert_close(weights.sum(dim=-1), torch.ones(2, 6, 8).double())


def test_layers_take_them(layer: Layer) -> None:
    kind = partial(type(layer), **KINDS[type(layer)])
    made = EncoderLayer(12, 3, 20, self_attention=kind)
    x = torch.randn(2, 10, 12)
    assert made(x, is_causal=True).shape == x.shape


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_blocks_keep_any_batch(batch: tuple[int, ...]) -> None:
    def attend(
        query: Tensor, kv: KeyValue, mask: Tensor | None, _: bool
    ) -> Tensor:
        return scaled_dot_product_attention(query, *kv, mask)[0]

    x = tokens(*batch, 3, 11, 5)
    got = attend_locally(attend, x, KeyValue(x, x), 4, 1)
    want, _ = scaled_dot_product_attention(x, x, x, window_mask(11, 4, 1))
    assert_close(got, want)


def test_blocks_are_chosen_by_their_mean_key() -> None:
    key = torch.tensor([[4.0, 0], [0, 2], [1, 0], [1, 2], [9, 9], [0, 0]])
    query = torch.tensor([[1.0, 0], [0, 1.5], [1, 0]])  # of tokens 3 to 5
    assert select_blocks(query, key, 2, 1).tolist() == [
        [True, True, False],
        [True, False, True],
        [True, False, True],
    ]
    assert (
        select_blocks(key, key, 2, 1)[:2].tolist()
        == [[True, False, False]] * 2
    )


def yarn(omega: float, factor: float, slow: float, fast: float) -> float:
    turns = 512 * omega / (2 * math.pi)
    kept = min(1.0, max(0.0, (turns - slow) / (fast - slow)))
    return kept * omega + (1 - kept) * omega / factor


@pytest.mark.parametrize("factor", [1.0, 4.0, 16.0])
def test_yarn_slows_the_slow_pairs_down(factor: float) -> None:
    rotary = YarnEmbedding(16, factor, 512, slow=2.0, fast=20.0)
    x = tokens(2, 5, 16)
    angles = rotary.angles(x, 3)
    omega = [yarn(10_000 ** (-i / 8), factor, 2.0, 20.0) for i in range(8)]
    want = torch.arange(3.0, 8.0)[:, None] * torch.tensor(omega)
    assert_close(angles.float(), want)
    ours, theirs = rotary(x, 3), RotaryEmbedding(16)(x, 3)
    size = 0.1 * math.log(factor) + 1
    assert_close(ours.norm(dim=-1), size * x.norm(dim=-1))
    assert torch.equal(ours, theirs) == (factor == 1)


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (WindowAttention, {"window": 0}, "window must be"),
        (WindowAttention, {"window": 2, "n_sinks": -1}, "n_sinks must be"),
        (
            BlockSparseAttention,
            {"block_size": 0, "n_selected": 1},
            "block_size must be",
        ),
        (
            BlockSparseAttention,
            {"block_size": 2, "n_selected": 0},
            "n_selected must be",
        ),
    ],
)
def test_wrong_sizes_are_refused(
    make: Any, wrong: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(12, 3, **wrong)


def test_other_wrong_arguments_are_refused() -> None:
    layer = BlockSparseAttention(12, 3, block_size=2, n_selected=1)
    with pytest.raises(ValueError, match="wants is_causal=True"):
        layer(torch.randn(2, 5, 12))
    with pytest.raises(ValueError, match="window must be"):
        RollingCache(0)
    with pytest.raises(ValueError, match="n_sinks must be"):
        RollingCache(2, -1)
    with pytest.raises(ValueError, match="factor must be"):
        YarnEmbedding(8, 0.5, 32)
    with pytest.raises(ValueError, match="slow below fast"):
        YarnEmbedding(8, 2.0, 32, slow=4.0, fast=4.0)


def test_an_examination_asks_for_each_fact_once() -> None:
    tokens = long_contexts.examination(random.Random(0), 300)
    assert len(tokens) == 300
    told, asked = tokens[:-16], tokens[-16:]
    keys = [x for x in told if long_contexts.KEY <= x < long_contexts.VALUE]
    assert sorted(keys) == sorted(asked[::2])
    assert len(set(keys)) == 8
    for key, value in zip(asked[::2], asked[1::2], strict=True):
        assert told[told.index(key) + 1] == value
        assert value >= long_contexts.VALUE


@pytest.mark.slow
def test_an_experiment_that_is_small_gives_all_its_tables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = {
        "SHORT": 20,
        "TRAINED": 40,
        "TUNED": 70,
        "LENGTHS": (40, 70),
        "STEPS": dict.fromkeys((20, 40, 70), 1),
        "BATCH_TOKENS": 140,
        "RATES": (1e-3, 2e-3),
    }
    for name, value in small.items():
        monkeypatch.setattr(long_contexts, name, value)
    monkeypatch.setattr(long_contexts, "ROOT", tmp_path)
    long_contexts.rate_of.cache_clear()
    found = {key: [value] * 3 for key, value in long_contexts.run(0).items()}
    long_contexts.rate_of.cache_clear()
    tables = make_tables(long_contexts, found)
    assert [*tables] == ["recall", "depths", "loss", "stretched"]
    assert all(0 <= x[0] <= 1 for key, x in found.items() if "recall" in key)
    kept = sorted(tmp_path.rglob("*.*"))
    n_trained = 1 + 2 * len(long_contexts.ARMS)  # each arm at each rate
    assert sum(path.suffix == ".pt" for path in kept) == n_trained
    assert {key: [x] * 3 for key, x in long_contexts.run(0).items()} == found
    assert sorted(tmp_path.rglob("*.*")) == kept
