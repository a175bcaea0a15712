"""attention_book.attention.positions against plain loops and complex numbers."""

import cmath
import itertools
import math

import pytest
import torch
from torch import Tensor

from attention_book import (
    attention_weights,
    causal_mask,
)
from attention_book.attention.caches import KeyValue
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    RotaryEmbedding,
    SinusoidalPositions,
)
from tests.factories import Largest


BATCH = 2
LENGTH = 7
D = 24
HEADS = 4
D_K = D // HEADS
LAYERS = [RotaryAttention, ALiBiAttention]


def make_tokens() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, LENGTH, D, generator=generator)


@pytest.mark.parametrize("offset", [0, 5, 9000])
def test_sinusoidal_positions_are_the_formula(offset: int) -> None:
    x = make_tokens()
    output = SinusoidalPositions(D)(x, offset)
    for p in range(LENGTH):
        for i in range(D // 2):
            angle = (offset + p) / 10000 ** (2 * i / D)
            expected = x[:, p, 2 * i : 2 * i + 2] + torch.tensor(
                [math.sin(angle), math.cos(angle)]
            )
            torch.testing.assert_close(
                output[:, p, 2 * i : 2 * i + 2], expected, atol=2e-3, rtol=0
            )


def test_double_precision_reaches_far_positions() -> None:
    x = torch.randn(2, D, dtype=torch.float64)
    added = SinusoidalPositions(D)(x, 100_000) - x
    rotated = RotaryEmbedding(D)(x, 100_000)
    for p, i in itertools.product(range(2), range(D // 2)):
        angle = (100_000 + p) * 10_000 ** (-2 * i / D)
        turn = cmath.exp(1j * angle)
        pair = slice(2 * i, 2 * i + 2)
        assert abs(complex(*added[p, pair].tolist()[::-1]) - turn) < 1e-9
        number = complex(*x[p, pair].tolist())
        got = complex(*rotated[p, pair].tolist())
        assert abs(got - number * turn) < 1e-9


def test_low_precision_does_not_blur_far_positions() -> None:
    zeros = torch.zeros(2, D)
    expected = SinusoidalPositions(D)(zeros, 4096)
    a, b = found = SinusoidalPositions(D)(zeros.bfloat16(), 4096)
    assert a.dtype == torch.bfloat16
    assert (a - b).abs().max() > 0.4
    torch.testing.assert_close(found.float(), expected, atol=1e-2, rtol=0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = SinusoidalPositions(D)(zeros, 4096)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, expected)


def test_learned_positions_are_rows_of_a_table_and_are_trained() -> None:
    positions = LearnedPositions(11, D)
    x = make_tokens()
    torch.testing.assert_close(
        positions(x, 3) - x, positions.table[3:10].expand(BATCH, -1, -1)
    )
    positions(x, 3).sum().backward()
    expected = torch.zeros(11, D)
    expected[3:10] = BATCH
    assert positions.table.grad is not None
    assert torch.equal(positions.table.grad, expected)
    assert positions(x.bfloat16()).dtype == torch.bfloat16


def test_a_position_past_the_table_is_named() -> None:
    positions = LearnedPositions(11, D)
    for offset in 5, torch.tensor(5):
        with pytest.raises(ValueError, match="from 0 to 10, got 5 to 11"):
            positions(make_tokens(), offset)
    positions(make_tokens(), 4)  # the last that fits


def test_an_offset_may_be_a_tensor() -> None:
    x = make_tokens()
    for positions in (
        SinusoidalPositions(D),
        LearnedPositions(11, D),
        RotaryEmbedding(D),
    ):
        torch.testing.assert_close(
            positions(x, torch.tensor(3)), positions(x, 3)
        )


@pytest.mark.parametrize("offset", [0, 5])
def test_rotation_multiplies_complex_numbers(offset: int) -> None:
    x = make_tokens()[..., :D_K]
    output = RotaryEmbedding(D_K)(x, offset)
    rows = itertools.product(range(BATCH), range(LENGTH), range(D_K // 2))
    for b, p, i in rows:
        number = complex(*x[b, p, 2 * i : 2 * i + 2].tolist())
        angle = (offset + p) * 10000 ** (-2 * i / D_K)
        rotated = number * cmath.exp(1j * angle)
        got = output[b, p, 2 * i : 2 * i + 2].tolist()
        assert abs(complex(*got) - rotated) < 1e-5


def test_rotation_keeps_lengths_and_dtype_and_has_no_weights() -> None:
    x = make_tokens()
    rotated = RotaryEmbedding(D)(x, 99)
    torch.testing.assert_close(rotated.norm(dim=-1), x.norm(dim=-1))
    assert RotaryEmbedding(D)(x.bfloat16()).dtype == torch.bfloat16
    assert not torch.equal(RotaryEmbedding(D, base=100.0)(x, 99), rotated)
    bare = RotaryAttention(D, HEADS, bias=False)
    assert {p.ndim for p in bare.parameters()} == {2}


@pytest.mark.parametrize("n_heads", [3, 8])
def test_alibi_is_minus_the_distance_times_the_slope(n_heads: int) -> None:
    layer = ALiBiAttention(24 * n_heads, n_heads)
    bias = layer.bias(5, 7)
    for h in range(n_heads):
        slope = 2 ** (-8 * (h + 1) / n_heads)
        for i in range(5):
            row = torch.tensor([-slope * abs((i + 2) - j) for j in range(7)])
            torch.testing.assert_close(bias[h, i], row)
    far = layer.to(torch.bfloat16).bias(1, 2048)  # in single precision still
    assert far.dtype == torch.float32
    assert len(far[0, 0].unique()) == 2048


@pytest.mark.parametrize("is_causal", [True, False])
def test_alibi_begun_on_meta_has_its_slopes(is_causal: bool) -> None:
    layer = ALiBiAttention(D, 3)
    x = make_tokens()
    expected = layer(x, is_causal=is_causal)
    with torch.device("meta"):
        other = ALiBiAttention(D, 3)
    other.to_empty(device="cpu")
    with torch.no_grad():  # what memory happens to hold
        for buffer in other.buffers():
            buffer.fill_(1e30)
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(x, is_causal=is_causal), expected)
    assert other.to(torch.bfloat16).slopes.dtype == torch.float32


def test_only_a_causal_mask_lets_alibi_see_which_way_a_sentence_runs() -> None:
    torch.manual_seed(0)
    x = make_tokens()
    turned = x.flip(1)

    def differs(layer: ALiBiAttention, is_causal: bool = False) -> bool:
        found = layer(turned, is_causal=is_causal).flip(1)
        expected = layer(x, is_causal=is_causal)
        return not torch.allclose(found, expected, atol=1e-5)

    alibi = ALiBiAttention(D, HEADS)
    assert not differs(alibi)
    assert differs(alibi, is_causal=True)
    assert differs(RotaryAttention(D, HEADS))


def test_causal_alibi_makes_no_table() -> None:
    n = 300
    layer = ALiBiAttention(D, HEADS)
    x = torch.randn(1, n, D)
    with torch.no_grad(), Largest() as causal:
        layer(x, is_causal=True)
    with torch.no_grad(), Largest() as full:
        layer(x)
    assert causal.elements < n * n < HEADS * n * n <= full.elements


@torch.no_grad()
def test_half_precision_holds_every_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A query that sees the last two of many keys weighs them by their places."""
    n = 65_536
    key = torch.zeros(1, 1, n, 2, dtype=torch.bfloat16)
    value = torch.zeros_like(key)
    value[..., -1, 0] = 1
    mask = torch.arange(n) >= n - 2
    layer = ALiBiAttention(2, 1)
    monkeypatch.setattr(ALiBiAttention, "slopes", torch.tensor([0.5]))
    output = layer.attend(key[:, :, -2:], KeyValue(key, value), mask, True)
    expected = torch.tensor(0.5).sigmoid()
    found = output[0, 0, 1, 0].float()
    torch.testing.assert_close(found, expected, atol=5e-3, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_long_alibi_in_half_precision_is_nearly_that_in_single(
    dtype: torch.dtype,
) -> None:
    torch.manual_seed(0)
    layer = ALiBiAttention(D, HEADS)
    x = torch.randn(1, 700, D)
    with torch.no_grad():
        expected = layer(x, is_causal=True)
        output = layer.to(dtype)(x.to(dtype), is_causal=True)
    torch.testing.assert_close(output.float(), expected, atol=2e-2, rtol=0)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("layer_type", LAYERS)
def test_attention_with_positions_is_the_formula(
    layer_type: type[RotaryAttention],
    n_kv_heads: int,
    is_causal: bool,
    masked: bool,
) -> None:
    torch.manual_seed(0)
    layer = layer_type(D, HEADS, n_kv_heads=n_kv_heads)
    x = make_tokens()
    plain = super(layer_type, layer)
    query = plain.queries(x)
    key, value = plain.keys_and_values(x)
    bias = torch.tensor(0.0)
    if layer_type is RotaryAttention:
        rotary = RotaryEmbedding(D_K)
        query, key = rotary(query), rotary(key)
    else:
        bias = layer.bias(LENGTH, LENGTH)
    key, value = (
        kv.repeat_interleave(HEADS // n_kv_heads, 1) for kv in (key, value)
    )
    see = torch.rand(BATCH, 1, LENGTH, LENGTH) < 0.6
    see |= torch.eye(LENGTH, dtype=torch.bool)  # no row sees nothing
    mask = see if masked else None
    scores = query @ key.mT / math.sqrt(D_K) + bias
    if masked:
        scores = scores.masked_fill(~see, -torch.inf)
    if is_causal:
        scores = scores.masked_fill(~causal_mask(LENGTH), -torch.inf)
    weights = scores.softmax(-1)
    heads = (weights @ value).transpose(1, 2).flatten(-2)
    expected = layer.out_proj(heads)
    found = layer(x, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(found, expected)
    shown = attention_weights(layer, x, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(shown, weights)


@pytest.mark.parametrize("layer_type", LAYERS)
def test_order_matters_and_only_distance_counts(
    layer_type: type[RotaryAttention],
) -> None:
    torch.manual_seed(0)
    layer = layer_type(D, HEADS)
    x = make_tokens()
    order = torch.tensor([4, 0, 6, 1, 5, 2, 3])
    assert not torch.allclose(layer(x[:, order]), layer(x)[:, order])
    # Tokens seen through a window get the same output wherever the window stands.
    longer = torch.cat([torch.randn(BATCH, 3, D), x], dim=1)
    window = torch.zeros(10, 10, dtype=torch.bool)
    window[3:, 3:] = True
    torch.testing.assert_close(
        layer(longer, mask=window)[:, 3:], layer(x), atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("layer_type", LAYERS)
def test_a_row_with_nothing_to_see_gives_no_nan(
    layer_type: type[RotaryAttention], is_causal: bool
) -> None:
    layer = layer_type(D, HEADS)
    x = make_tokens()
    mask = torch.tensor([True, False])[:, None, None, None]
    output = layer(x, mask=mask, is_causal=is_causal)
    bias = layer.out_proj.bias.expand(LENGTH, -1)
    torch.testing.assert_close(output[1], bias)
    output.sum().backward()
    assert not any(p.grad.isnan().any() for p in layer.parameters())
    shown = attention_weights(layer, x, mask=mask, is_causal=is_causal)
    assert (shown[1] == 0).all()


def test_rotation_in_bf16_keeps_scores_that_see_distance_only() -> None:
    q, k = torch.randn(2, 1, 64, generator=torch.Generator().manual_seed(0))
    rotary = RotaryEmbedding(64)
    exact = (rotary(q, 3) @ rotary(k).T).item()
    for offset in range(0, 4096, 37):
        query = rotary(q.bfloat16(), offset + 3).float()
        key = rotary(k.bfloat16(), offset).float()
        assert abs((query @ key.T).item() - exact) < 0.15


def test_dropout_reaches_alibi() -> None:
    layer = ALiBiAttention(D, HEADS, dropout=0.5)
    x = make_tokens()
    assert not torch.allclose(layer(x), layer(x))
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x))


@pytest.mark.usefixtures("unchecked")
def test_what_would_go_wrong_in_silence_is_refused() -> None:
    with pytest.raises(ValueError, match="d_model must be even"):
        SinusoidalPositions(7)
    with pytest.raises(ValueError, match="d_k must be even"):
        RotaryAttention(12, 4)
    for positions in LearnedPositions(9, 8), RotaryEmbedding(8):
        with pytest.raises(ValueError, match=r"x must be .*length, 8\)"):
            positions(torch.zeros(5, 1))
