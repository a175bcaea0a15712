"""FlashAttention in Triton's interpreter, against a plain loop in fp64."""

import os
import re
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_book import (
    FlashAttention,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    flash_attention,
    padding_mask,
    replace_attention,
)
from attention_book.attention import flash, flash_op
from benchmarks import flash as benchmark
from literate.chapter import ROOT


needs_triton = pytest.mark.skipif(
    find_spec("triton") is None and sys.platform != "linux",
    reason="there is no Triton but for Linux",
)
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 6e-3}
SMALL = {"TILE_Q": 16, "TILE_K": 32}


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles at small lengths, and of two sizes."""
    monkeypatch.setattr(flash_op, "_tiles", lambda *_, **__: SMALL)


def inputs(
    queries: int = 19,
    keys: int = 19,
    d: int = 16,
    kv_heads: int = 1,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(2, heads, n, d, generator=generator).to(dtype)
        for heads, n in ((2, queries), (kv_heads, keys), (kv_heads, keys))
    )
    return query, key, value


def by_loop(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    """One query after another, each of the keys that it sees."""
    batch, heads, queries, d = query.shape
    kv_heads, keys = key.shape[1:3]
    rows = []
    for b in range(batch):
        seen = keys if lengths is None else int(lengths[b])
        for h in range(heads):
            of = b, h * kv_heads // heads
            for i in range(queries):
                end = min(seen, i + keys - queries + 1) if is_causal else seen
                end = max(end, 0)
                scores = key[of][:end] @ query[b, h, i] / d**0.5
                rows.append(scores.softmax(dim=0) @ value[of][:end])
    return torch.stack(rows).view(query.shape)


def with_gradients(
    attention: Any, given: tuple[Tensor, ...], *args: Any, **options: Any
) -> list[Tensor]:
    """Output and the gradients of query, key and value, in fp64."""
    q, k, v = (x.clone().requires_grad_() for x in given)
    output = attention(q, k, v, *args, **options)
    assert output.dtype == q.dtype
    weight = torch.arange(output.numel(), device=q.device).cos()
    weight = weight.view(output.shape).to(q.dtype)
    gradients = torch.autograd.grad(output, (q, k, v), weight)
    return [x.detach().double() for x in (output, *gradients)]


CASES: dict[str, dict[str, Any]] = {
    "as many keys as queries": {},
    "causal": {"is_causal": True, "kv_heads": 2},
    "causal, fewer queries": {"is_causal": True, "queries": 21, "keys": 53},
    "causal, more queries": {"is_causal": True, "queries": 53, "keys": 21},
    "a single query": {"is_causal": True, "queries": 1, "keys": 35},
    "padding": {"keys": 37, "lengths": (33, 5)},
    "nothing but padding": {"lengths": (19, 0)},
    "padding, causal": {"is_causal": True, "keys": 37, "lengths": (35, 9)},
    "an odd width": {"d": 24},
    "the largest width": {"d": 128, "is_causal": True},
    "a whole tile": {"queries": 32, "keys": 64, "is_causal": True},
    "bf16": {"dtype": torch.bfloat16, "is_causal": True},
    "fp16": {"dtype": torch.float16, "keys": 37, "lengths": (36, 2)},
}


@needs_triton
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.usefixtures("small_tiles")
def test_output_and_gradients_are_those_of_a_loop(
    case: dict[str, Any],
) -> None:
    case = dict(case)
    is_causal = case.pop("is_causal", False)
    lengths = case.pop("lengths", None)
    lengths = lengths if lengths is None else torch.tensor(lengths)
    given = inputs(**case)
    found = with_gradients(
        flash_attention, given, lengths, is_causal=is_causal
    )
    exact = tuple(x.double() for x in given)
    wanted = with_gradients(by_loop, exact, lengths, is_causal=is_causal)
    tolerance = TOLERANCE[given[0].dtype]
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


@needs_triton
@pytest.mark.usefixtures("small_tiles")
def test_a_query_without_a_key_gets_zeros_and_gives_none() -> None:
    given = inputs(queries=21, keys=5)  # causal: the first 16 see nothing
    output, dq, dk, dv = with_gradients(
        flash_attention, given, torch.tensor([5, 0]), is_causal=True
    )
    for x in (output, dq):
        assert (x[0, :, :16] == 0).all()
        assert (x[0, :, 16:] != 0).any()
        assert (x[1] == 0).all()
    assert (dk[1] == 0).all()
    assert (dv[1] == 0).all()


@needs_triton
@pytest.mark.usefixtures("small_tiles")
def test_the_future_and_the_padding_do_not_leak() -> None:
    query, key, value = inputs(queries=20, keys=20)
    lengths = torch.tensor([20, 12])
    before = flash_attention(query, key, value, lengths, is_causal=True)
    key[:, :, 15:], value[:, :, 15:] = 1e4, -1e4
    key[1, :, 12:] = value[1, :, 12:] = float("nan")  # never read
    after = flash_attention(query, key, value, lengths, is_causal=True)
    assert torch.equal(before[0, :, :15], after[0, :, :15])
    assert torch.equal(before[1], after[1])


@needs_triton
def test_any_axes_and_any_strides() -> None:
    query, key, value = inputs(queries=6, keys=7, kv_heads=2)
    expected = flash_attention(query, key, value)
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query,)]
    found = flash_attention(*turned, key, value)
    assert torch.equal(found, expected)
    found = flash_attention(query[None], key[None], value[None])
    assert torch.equal(found, expected[None])
    found = flash_attention(query[0, 1], key[0, 1], value[0, 1])
    torch.testing.assert_close(found, expected[0, 1])
    nothing = flash_attention(query[:0], key[:0], value[:0])
    assert nothing.shape == (0, 2, 6, 16)
    no_keys = flash_attention(query, key[:, :, :0], value[:, :, :0])
    assert (no_keys == 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": torch.zeros(2, 3, 5, 8)}, "query and key must agree"),
        ({"value": torch.zeros(2, 2, 4, 8)}, "key and value must agree"),
        ({"value": torch.zeros(2, 2, 5, 9)}, r"of one width.*got \[8, 9\]"),
        ({"query": torch.zeros(2, 2, 3, 8).double()}, "of one of .*float64"),
        ({"lengths": torch.tensor([6, 1])}, "lengths must be from 0 to 5"),
        ({"lengths": torch.tensor([5])}, "one for each of 2 sequences"),
        ({"lengths": torch.ones(2).bool()}, "mask, which is for fused_att"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(
    change: dict[str, Any], message: str
) -> None:
    x = torch.zeros(2, 2, 5, 8)
    with pytest.raises(ValueError, match=message):
        flash_attention(**{"query": x, "key": x, "value": x, **change})


def test_wide_heads_are_refused() -> None:
    x = torch.zeros(1, 3, 129)
    with pytest.raises(ValueError, match="at most 128"):
        flash_attention(x, x, x)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.zeros(1, 3, 8)
    monkeypatch.setattr(flash_op, "_IS_INTERPRETED", False)
    monkeypatch.setattr(flash_op, "triton", flash_op)  # any at all
    with pytest.raises(ValueError, match="wants a GPU, or TRITON_INTERPRET"):
        flash_attention(x, x, x)
    monkeypatch.setattr(flash_op, "triton", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs Triton, .*Linux"):
        flash_attention(x, x, x)


@pytest.mark.slow
def test_without_triton_all_can_be_imported() -> None:
    program = """
import sys
sys.modules["triton"] = None
import torch
from attention_book import FlashAttention, flash_attention
layer = FlashAttention(8, 2).to("meta")
assert layer(torch.empty(2, 3, 8, device="meta")).shape == (2, 3, 8)
"""
    command = [sys.executable, "-W", "error", "-c", program]
    subprocess.run(command, check=True, cwd=ROOT)


def test_on_meta_there_are_shapes_and_gradients() -> None:
    given = tuple(x.to("meta") for x in inputs(queries=5, keys=7))
    lengths = torch.zeros(2, dtype=torch.long, device="meta")
    found = with_gradients(flash_attention, given, lengths, is_causal=True)
    shapes = [(2, 2, 5, 16), (2, 2, 5, 16), (2, 1, 7, 16), (2, 1, 7, 16)]
    assert [tuple(x.shape) for x in found] == shapes


@needs_triton
@pytest.mark.usefixtures("unchecked")
def test_a_step_of_training_compiles() -> None:
    torch.compiler.reset()

    def step(x: Tensor) -> Tensor:
        return flash_attention(x, x[:, :1], x[:, :1], is_causal=True).sum()

    x = inputs(queries=5)[0].requires_grad_()
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    (found,) = torch.autograd.grad(compiled(x), x)
    (expected,) = torch.autograd.grad(step(x), x)
    torch.testing.assert_close(found, expected)


@needs_triton
@pytest.mark.usefixtures("unchecked")
def test_the_operators_keep_pytorchs_rules() -> None:
    """Nothing is mutated or aliased, fake and real outputs are alike."""
    given = [x.requires_grad_() for x in inputs(queries=3, keys=3, d=11)]
    lengths = torch.tensor([3, 2], dtype=torch.int32)
    rules = "test_schema", "test_autograd_registration", "test_faketensor"
    check = partial(torch.library.opcheck, test_utils=rules)
    check(flash_op._forward, (*given, lengths, True))
    output, lse = flash_op._forward(*given, lengths, True)
    detached = [x.detach() for x in (output, *given, lengths, output, lse)]
    check(flash_op._gradients, (*detached, True))


@needs_triton
def test_there_are_no_second_derivatives() -> None:
    x = inputs(queries=3)[0].requires_grad_()
    output = flash_attention(x, x, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    with pytest.raises((RuntimeError, NotImplementedError), match="autograd"):
        torch.autograd.grad(slope.square().sum(), x)


@needs_triton
@pytest.mark.parametrize("is_causal", [True, False])
def test_the_layer_is_multi_head_attention(is_causal: bool) -> None:
    torch.manual_seed(0)
    plain = MultiHeadAttention(24, 4, n_kv_heads=2).eval()
    ours = replace_attention(plain, FlashAttention)
    assert type(ours) is FlashAttention
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
    expected = plain(x, memory, is_causal=is_causal)
    torch.testing.assert_close(
        ours(x, memory, is_causal=is_causal), expected, atol=1e-5, rtol=1e-5
    )


def test_the_layer_leaves_to_pytorch_what_it_can_not_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flash, "flash_attention", None)
    torch.manual_seed(0)
    plain = MultiHeadAttention(24, 4, dropout=0.5)
    ours = FlashAttention(24, 4, dropout=0.5)
    ours.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 24)
    mask = padding_mask(torch.tensor([5, 2]), 5)
    for module in (plain, ours):
        module.train()
        torch.manual_seed(1)
        module.found = module(x)  # dropout
        module.eval()
        module.masked = module(x, mask=mask)
        module.weights = attention_weights(module, x)
    assert torch.equal(plain.found, ours.found)
    assert torch.equal(plain.masked, ours.masked)
    assert torch.equal(plain.weights, ours.weights)
    with pytest.raises(TypeError, match="NoneType"):
        ours(x, is_causal=True)


COMPILE = """
import itertools, torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from attention_book.attention import flash_op
from attention_book.attention.flash_kernel import forward_kernel

KERNELS = {
    forward_kernel: (6, (5,)),
    flash_op._backward_kernel: (10, (5, 6, 7)),
}
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
for capability, (name, d), (kernel, (n, in_fp32)) in itertools.product(
    (80, 90), (("bf16", 64), ("bf16", 128), ("fp32", 16)), KERNELS.items()
):
    types = [f"*{name}"] * n
    types[3] = "*i32"
    for i in in_fp32:
        types[i] = "*fp32"
    sizes = "i32", "i32", "i32", "i32", "fp32"
    tiles = flash_op._tiles(d, TYPES[name], kernel is not forward_kernel)
    run = {key: tiles.pop(key) for key in ("num_warps", "num_stages")}
    constants = {"D": d, "CAUSAL": True, **tiles}
    signature = {"tensors": tuple(types), "sizes": sizes}
    source = ASTSource(
        kernel,
        signature | dict.fromkeys(constants, "constexpr"),
        constants,
        {(0, i): [["tt.divisibility", 16]] for i in range(n)},
    )
    target = GPUTarget("cuda", capability, 32)
    compiled = triton.compile(source, target=target, options=run)
    assert compiled.metadata.shared < 160 * 1024
    products = "wgmma.mma_async" if capability == 90 else "mma.sync"
    assert (products in compiled.asm["ptx"]) == (name == "bf16")
    assert "acq_rel" not in compiled.asm["ptx"]  # additions are not fences
"""


@pytest.mark.slow
@needs_triton
@pytest.mark.usefixtures("unchecked")
def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.main(["--dry-run"])
    said = capsys.readouterr().out
    for name in ("ours", "flash", "math"):
        assert re.search(
            rf"^training, width 16, 8 tokens, {name} +[\d.]+ ms", said, re.M
        )


@pytest.mark.slow
@needs_triton
def test_the_kernels_compile_for_gpus_that_are_not_here(
    tmp_path: Any,
) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-c", COMPILE]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


def test_the_mask_that_is_not_built_is_the_causal_mask() -> None:
    """by_loop's own rule, against the book's mask."""
    query, key, value = (x.double() for x in inputs(queries=4, keys=6))
    scores = query @ key.mT / 4
    scores = scores.masked_fill(~causal_mask(4, 6), -torch.inf)
    expected = scores.softmax(dim=-1) @ value
    found = by_loop(query, key, value, is_causal=True)
    torch.testing.assert_close(found, expected)
