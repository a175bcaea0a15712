"""attention_book.attention.functional against PyTorch, plain loops and its own promises."""

import itertools
import math
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_book.attention import fused
from attention_book.attention.functional import (
    AdditiveAttention,
    causal_mask,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.fused import fused_attention
from tests.factories import Largest


BATCH = 2
HEADS = 3
QUERIES = 5
KEYS = 7
D_K = 11
D_V = 13
SHAPE = (BATCH, HEADS, QUERIES, KEYS)
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


def inputs(
    dtype: torch.dtype = torch.float32, queries: int = QUERIES
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = (queries, D_K), (KEYS, D_K), (KEYS, D_V)
    query, key, value = (
        torch.randn(BATCH, HEADS, *size, generator=generator)
        .to(dtype)
        .requires_grad_()
        for size in sizes
    )
    return query, key, value


def make_masks() -> dict[str, Tensor | None]:
    generator = torch.Generator().manual_seed(1)
    random = torch.rand(SHAPE, generator=generator) < 0.6
    empty = random.clone()
    empty[0, :, 2] = False
    empty[1, 0] = False
    return {
        "none": None,
        "causal": causal_mask(QUERIES, KEYS),
        "padding": padding_mask(torch.tensor([KEYS, 4]), KEYS),
        "keys only": torch.arange(KEYS) < 4,
        "one for all": torch.tensor(True),
        "empty rows": empty,
        "nothing": torch.tensor(False),
    }


MASKS = make_masks()
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def results(
    attention: Callable[..., object],
    dtype: torch.dtype = torch.float32,
    queries: int = QUERIES,
    **options: object,
) -> list[Tensor]:
    """Output and the gradients of query, key and value, in fp32."""
    arguments = inputs(dtype, queries)
    output = attention(*arguments, **options)
    output = output[0] if isinstance(output, tuple) else output
    assert isinstance(output, Tensor)
    assert output.dtype == dtype
    weight = torch.arange(output.numel()).reshape(output.shape).cos()
    (output.float() * weight).sum().backward()
    parts = output.detach(), *(x.grad for x in arguments)
    return [part.float() for part in parts if part is not None]


def close(a: list[Tensor], b: list[Tensor], tolerance: float) -> None:
    for x, y in zip(a, b, strict=True):
        assert not x.isnan().any()
        torch.testing.assert_close(x, y, atol=tolerance, rtol=tolerance)


@each_mask
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_plain_fused_and_pytorch_agree(
    mask: Tensor | None, dtype: torch.dtype
) -> None:
    plain = results(scaled_dot_product_attention, dtype, mask=mask)
    ours = results(fused_attention, dtype, mask=mask)
    full = None if mask is None else mask.expand(SHAPE)
    theirs = results(F.scaled_dot_product_attention, dtype, attn_mask=full)
    close(plain, theirs, TOLERANCE[dtype])
    close(ours, theirs, TOLERANCE[dtype])


@pytest.mark.parametrize(
    "backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
)
def test_both_cpu_kernels_agree_on_empty_rows(backend: SDPBackend) -> None:
    def square(attention: Callable[..., object]) -> Callable[..., object]:
        # The flash kernel wants values as wide as keys.
        return lambda q, k, v, mask: attention(q, k, v[..., :D_K], mask)

    mask = MASKS["empty rows"]
    plain = square(scaled_dot_product_attention)
    expected = results(plain, mask=mask)
    with sdpa_kernel(backend):
        found = results(square(fused_attention), mask=mask)
    close(found, expected, 1e-5)


def test_scaled_attention_is_the_formula() -> None:
    query, key, value = (x.detach() for x in inputs())
    output, weights = scaled_dot_product_attention(query, key, value)
    for index in itertools.product(*map(range, SHAPE[:-1])):
        q = query[index].tolist()
        keys = key[index[:2]].tolist()
        dots = [sum(x * y for x, y in zip(q, k, strict=True)) for k in keys]
        exponentials = [math.exp(dot / math.sqrt(D_K)) for dot in dots]
        expected = torch.tensor(exponentials) / sum(exponentials)
        torch.testing.assert_close(weights[index], expected)
    torch.testing.assert_close(output, weights @ value)


@each_mask
@pytest.mark.parametrize("queries", [1, QUERIES, KEYS, KEYS + 4])
@pytest.mark.parametrize("block_size", [256, 3, 1])
def test_is_causal_aligns_the_last_query_with_the_last_key(
    mask: Tensor | None,
    queries: int,
    block_size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fused, "_BLOCK_SIZE", block_size)
    both = causal = causal_mask(queries, KEYS)
    if mask is not None:
        if queries != QUERIES and mask.ndim > 1:
            mask = mask[..., -1:, :].expand(*mask.shape[:-2], queries, KEYS)
        both = causal & mask
    found = results(
        fused_attention, queries=queries, mask=mask, is_causal=True
    )
    plain = scaled_dot_product_attention
    close(found, results(plain, queries=queries, mask=both), 1e-5)


@pytest.mark.parametrize("kind", ["left", "holes", "none"])
def test_causality_with_padding_builds_no_square(kind: str) -> None:
    keys = 900  # three blocks of queries and a part
    x = torch.randn(2, 1, keys, 8, generator=torch.Generator().manual_seed(0))
    right = padding_mask(torch.tensor([keys, 600]), keys)
    mask = {
        "left": right.flip(-1),
        "holes": right & (torch.arange(keys) % 3 > 0),
        "none": None,
    }[kind]
    query = x[:, :, 7:] if mask is None else x
    with torch.no_grad(), Largest() as largest:
        found = fused_attention(query, x, x, mask, is_causal=True)
    assert largest.elements <= 2 * 256 * keys
    both = causal_mask(query.shape[-2], keys)
    both = both if mask is None else both & mask
    expected, _ = scaled_dot_product_attention(query, x, x, both)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("unchecked")
def test_causality_with_padding_compiles_for_any_length() -> None:
    torch.compiler.reset()

    def padded(x: Tensor, lengths: Tensor) -> Tensor:
        mask = padding_mask(lengths, x.shape[-2])
        return fused_attention(x, x, x, mask, is_causal=True)

    compiled = torch.compile(
        padded, backend="eager", fullgraph=True, dynamic=True
    )
    for length, stance in (5, "default"), (300, "fail_on_recompile"):
        x = torch.randn(2, 3, length, 8)
        lengths = torch.tensor([length, 2])
        with torch.compiler.set_stance(stance):
            found = compiled(x, lengths)
        torch.testing.assert_close(found, padded(x, lengths))


def test_the_future_does_not_leak() -> None:
    _, key, value = (x.detach() for x in inputs())
    other = key.clone()
    other[:, :, 4:] += 1
    mask = causal_mask(KEYS)
    for attention in (
        lambda k: fused_attention(key, k, value, is_causal=True),
        lambda k: scaled_dot_product_attention(key, k, value, mask)[0],
    ):
        before = attention(key)
        after = attention(other)
        assert torch.equal(before[:, :, :4], after[:, :, :4])
        assert not torch.equal(before[:, :, 4:], after[:, :, 4:])


@each_mask
def test_weights_sum_to_one_or_to_nothing(mask: Tensor | None) -> None:
    generator = torch.Generator().manual_seed(2)
    weights = masked_softmax(
        50 * torch.randn(SHAPE, generator=generator), mask
    )
    full = torch.ones(SHAPE).bool() if mask is None else mask.expand(SHAPE)
    assert (weights[~full] == 0).all()
    expected = full.any(dim=-1).float()
    torch.testing.assert_close(weights.sum(dim=-1), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_masked_softmax_survives_large_scores(dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max / 4
    scores = torch.tensor([[largest, -largest, largest]], dtype=dtype)
    mask = torch.tensor([False, True, False])
    expected = torch.tensor([[0, 1, 0]], dtype=dtype)
    assert torch.equal(masked_softmax(scores, mask), expected)


def test_no_argument_is_changed() -> None:
    arguments = [*(x.detach() for x in inputs()), MASKS["empty rows"]]
    before = [x.clone() for x in arguments]
    scaled_dot_product_attention(*arguments)
    fused_attention(*arguments, is_causal=True)
    assert all(map(torch.equal, arguments, before))


def test_additive_attention_is_the_formula() -> None:
    torch.manual_seed(0)
    additive = AdditiveAttention(d_query=3, d_key=D_K, d_attn=17)
    n_parameters = sum(p.numel() for p in additive.parameters())
    assert n_parameters == 17 * 3 + 17 * D_K + 17 + 17
    q = torch.randn(BATCH, QUERIES, 3)
    k = torch.randn(BATCH, KEYS, D_K)
    v = torch.randn(BATCH, KEYS, D_V)
    mask = padding_mask(torch.tensor([KEYS, 4]), KEYS)[:, 0]
    output, weights = additive(q, k, v, mask)
    W_q = additive.q_proj.weight
    W_k = additive.k_proj.weight
    b = additive.k_proj.bias
    v_a = additive.score.weight[0]
    for n, i in itertools.product(range(BATCH), range(QUERIES)):
        seen = KEYS if n == 0 else 4
        scores = [
            v_a @ torch.tanh(W_q @ q[n, i] + W_k @ k[n, j] + b)
            for j in range(seen)
        ]
        expected = torch.stack(scores).softmax(dim=0)
        torch.testing.assert_close(weights[n, i, :seen], expected)
        torch.testing.assert_close(output[n, i], expected @ v[n, :seen])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts KiB")
def test_fused_attention_holds_no_matrix_of_scores() -> None:
    """Ask the operating system how much a process of its own grew."""
    program = """
import resource, torch
from attention_book import fused_attention
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
small = torch.randn(1, 1, 64, 64)
fused_attention(small, small, small, is_causal=True)
before = peak()
for shape in (1, 1, 8192, 64), (8192, 64), (1, 8192, 64):
    x = torch.randn(shape)
    fused_attention(x, x, x, is_causal=True)
print(peak() - before)
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(result.stdout) < 64  # MiB; the scores alone would take 256


def test_permuting_the_keys_changes_nothing() -> None:
    query, key, value = inputs()
    order = torch.randperm(KEYS, generator=torch.Generator().manual_seed(0))
    a = fused_attention(query, key, value)
    b = fused_attention(query, key[:, :, order], value[:, :, order])
    torch.testing.assert_close(a, b)


def test_causal_mask_is_pytorchs_upside_down() -> None:
    theirs = nn.Transformer.generate_square_subsequent_mask(KEYS)
    assert torch.equal(causal_mask(KEYS), theirs == 0)
    assert causal_mask(KEYS, device=torch.device("meta")).is_meta


def test_lengths_may_be_anything_from_none_to_all() -> None:
    found = padding_mask(torch.tensor([0, 1, 4]), 4)[:, 0, 0]
    assert found.sum(dim=-1).tolist() == [0, 1, 4]
    assert padding_mask(torch.tensor([], dtype=torch.long), 4).shape[0] == 0
    assert padding_mask(torch.tensor([0, 0]), 0).shape == (2, 1, 1, 0)
    assert causal_mask(0, 3).shape == (0, 3)


@pytest.mark.usefixtures("unchecked")
def test_autocast_may_mix_dtypes() -> None:
    query, key, value = (x.detach() for x in inputs())
    with torch.autocast("cpu", torch.bfloat16):
        output = fused_attention(query, key.bfloat16(), value)
    expected = fused_attention(query, key, value)
    torch.testing.assert_close(output.float(), expected, atol=3e-2, rtol=0)


@pytest.mark.parametrize("axes", [0, 1, 3])
@pytest.mark.parametrize("kind", ["none", "causal", "keys only"])
def test_any_number_of_batch_axes(axes: int, kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    lead = (2, 3, 2)[:axes]
    q = torch.randn(*lead, QUERIES, D_K, generator=generator)
    k, v = torch.randn(2, *lead, KEYS, D_K, generator=generator)
    expected, _ = scaled_dot_product_attention(q, k, v, MASKS[kind])
    found = fused_attention(q, k, v, MASKS[kind])
    torch.testing.assert_close(found, expected)


def test_shapes_are_checked_in_the_tests() -> None:
    query, key, value = inputs()
    with pytest.raises(TypeCheckError):
        scaled_dot_product_attention(query, key[..., 1:], value)


@each_mask
@pytest.mark.parametrize("groups", [1, 2])
def test_one_head_of_keys_may_serve_several_of_queries(
    groups: int, mask: Tensor | None
) -> None:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(BATCH, 6, QUERIES, D_K, generator=generator)
    k, v = torch.randn(2, BATCH, groups, KEYS, D_K, generator=generator)
    if mask is not None and mask.ndim == 4:
        mask = mask[:, :1]
    output = fused_attention(q, k, v, mask, enable_gqa=True)
    k, v = (x.repeat_interleave(6 // groups, dim=1) for x in (k, v))
    expected, _ = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(output, expected)


@pytest.mark.usefixtures("unchecked")
def test_heads_are_not_grouped_unasked() -> None:
    q = torch.zeros(BATCH, 6, 5, 3)
    k = torch.zeros(BATCH, 2, 5, 3)
    with pytest.raises(ValueError, match="query and key must agree in batch"):
        fused_attention(q, k, k)
    assert fused_attention(q, k, k, enable_gqa=True).shape == q.shape


def test_dropout_drops_weights_and_keeps_their_mean() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 1, 64, 8)
    value = torch.eye(64)[None, None]  # the output is the weights themselves
    kept = fused_attention(x, x, value)
    dropped = fused_attention(x, x, value, dropout=0.25)
    is_zero = dropped == 0
    assert 0.2 < is_zero.float().mean() < 0.3
    torch.testing.assert_close(dropped, (kept / 0.75).masked_fill(is_zero, 0))
