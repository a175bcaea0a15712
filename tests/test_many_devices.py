"""Sharing one layer, one step, one sequence: real processes against one."""

import copy
import re

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.multiprocessing import ProcessRaisedException
from typer.testing import CliRunner

from attention_book import (
    EncoderLayer,
    MultiHeadAttention,
    RingAttention,
    ring_attention,
    translation_loss,
)
from attention_book.attention.pieces import pass_on
from attention_book.training.loading import make_batch
from attention_book.training.parallel import (
    FullyShardedDataParallel,
    recompute_layers,
)
from experiments.local_processes import CommTraffic, run_processes
from tests.factories import make_examples, make_transformer


SIZE = 3  # processes
LENGTH = 5  # of a piece


def draw(
    length: int, n_kv: int, d_v: int, dtype: torch.dtype = torch.float64
) -> tuple[torch.Tensor, ...]:
    """Queries of 2 × 3 heads, keys and values, and a gradient of the output."""
    shapes = [(7, n_kv, 6 // n_kv, length, 4)]
    shapes += [(7, n_kv, 1, length, d) for d in (4, d_v)]
    shapes += [(7, n_kv, 6 // n_kv, length, d_v)]
    generator = torch.Generator().manual_seed(length)
    return tuple(
        torch.randn(shape, dtype=dtype, generator=generator)
        for shape in shapes
    )


def attend_to_all(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool
) -> torch.Tensor:
    """The oracle: PyTorch's attention."""
    k = k.expand(*q.shape[:-2], *k.shape[-2:])
    v = v.expand(*q.shape[:-2], *v.shape[-2:])
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def differentiate(attend, tensors, is_causal):  # type: ignore[no-untyped-def]
    """The output, and the gradients of queries, keys and values."""
    *inputs, d_output = tensors
    inputs = [x.clone().requires_grad_() for x in inputs]
    output = attend(*inputs, is_causal=is_causal)
    output.backward(d_output)
    return [output.detach(), *(x.grad for x in inputs)]


def ring_in_processes():  # type: ignore[no-untyped-def]
    """How far the ring is from attention in one process, in each case."""
    rank = dist.get_rank()
    found = {}
    for name, dtype in ("double", torch.float64), ("bf16", torch.bfloat16):
        for is_causal in False, True:
            for n_kv, d_v in (6, 4), (2, 3), (1, 5):
                whole = draw(LENGTH * SIZE, n_kv, d_v, dtype)
                wide = [x.double() for x in whole]
                wanted = differentiate(attend_to_all, wide, is_causal)
                mine = [x.chunk(SIZE, dim=-2)[rank] for x in whole]
                got = differentiate(ring_attention, mine, is_causal)
                gaps = [
                    (x - y.chunk(SIZE, dim=-2)[rank]).abs().max().item()
                    for x, y in zip(got, wanted, strict=True)
                ]
                assert {x.dtype for x in got} == {dtype}
                found[f"{name} {is_causal} {n_kv}"] = gaps
    return found


@pytest.mark.slow
def test_the_ring_equals_attention_with_its_gradients() -> None:
    found = run_processes(
        SIZE, ring_in_processes, draw, attend_to_all, differentiate
    )
    for process in found:
        assert len(process) == 12
        for case, gaps in process.items():
            assert max(gaps) < (1e-12 if "double" in case else 0.1), case


def ring_sees_the_past():  # type: ignore[no-untyped-def]
    """The output of each process's piece, before and after a later change."""
    rank = dist.get_rank()
    outputs = []
    for change in 0.0, 1.0:
        q, k, v, _ = draw(LENGTH * SIZE, 2, 3)
        for x in q, k, v:
            x[..., LENGTH + 2 :, :] += change
        mine = [x.chunk(SIZE, dim=-2)[rank] for x in (q, k, v)]
        outputs.append(ring_attention(*mine, is_causal=True))
    before, after = outputs
    return (before == after).all(-1).all(0).flatten(0, 1).all(0).tolist()


def test_no_future_leaks_around_the_ring() -> None:
    found = run_processes(SIZE, ring_sees_the_past, draw)
    seen = [same for process in found for same in process]
    assert seen == [True] * (LENGTH + 2) + [False] * (2 * LENGTH - 2)


@pytest.mark.usefixtures("alone_in_a_group")
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_derivative_of_the_ring(is_causal: bool) -> None:
    inputs = [x[:1].requires_grad_() for x in draw(3, 2, 5)[:3]]
    torch.autograd.gradcheck(
        lambda *x: ring_attention(*x, is_causal=is_causal), inputs
    )


@pytest.mark.usefixtures("alone_in_a_group")
@pytest.mark.parametrize("n_kv_heads", [6, 3, 1])
def test_a_layer_takes_the_ring(n_kv_heads: int) -> None:
    torch.manual_seed(0)
    plain = MultiHeadAttention(12, 6, n_kv_heads=n_kv_heads)
    ring = RingAttention(12, 6, n_kv_heads=n_kv_heads)
    ring.load_state_dict(plain.state_dict())
    x = torch.randn(5, 7, 12)
    for is_causal in False, True:
        wanted = plain(x, is_causal=is_causal)
        torch.testing.assert_close(ring(x, is_causal=is_causal), wanted)
    torch.testing.assert_close(ring(x, x[:, :3]), plain(x, x[:, :3]))
    layer = EncoderLayer(12, 6, 5, self_attention=RingAttention)
    assert layer(x[0]).shape == (7, 12)
    message = "^wanted neither mask nor dropout in RingAttention$"
    with pytest.raises(ValueError, match=message):
        ring(x, mask=torch.ones(7, 7, dtype=torch.bool))
    with pytest.raises(ValueError, match=message):
        RingAttention(12, 6, dropout=0.1)(x)


def test_a_causal_ring_wants_as_many_queries_as_keys() -> None:
    x = torch.zeros(1, 3, 4)
    with pytest.raises(ValueError, match=r"queries as keys, got 3 and 2$"):
        ring_attention(x, x[:, :2], x[:, :2], is_causal=True)


def send_each_way():  # type: ignore[no-untyped-def]
    """What is counted of each kind of communication."""
    rank = dist.get_rank()
    x = torch.full((6, 2), float(rank))  # 48 bytes
    part = torch.empty(2, 2)
    found = {}

    def note(name, act):
        with CommTraffic() as sent:
            act()
        found[name] = sent.n_calls, sent.n_bytes

    note("sum", lambda: dist.all_reduce(x))
    note("scatter", lambda: dist.reduce_scatter_tensor(part, x))
    note("gather", lambda: dist.all_gather_into_tensor(x, part))
    note("barrier", dist.barrier)
    note("product", lambda: x @ x.T)
    note("ring", lambda: pass_on(x, part.T))
    (arrived,) = pass_on(torch.tensor([[rank, 0], [1, 2]]).T)
    return found, arrived.tolist()


def test_what_is_sent_is_counted() -> None:
    for rank, (found, arrived) in enumerate(
        run_processes(SIZE, send_each_way)
    ):
        assert found == {
            "sum": (1, pytest.approx(2 * 2 / 3 * 48)),
            "scatter": (1, pytest.approx(2 / 3 * 48)),
            "gather": (1, pytest.approx(2 / 3 * 48)),
            "barrier": (0, 0),
            "product": (0, 0),
            "ring": (2, 48 + 16),
        }
        assert arrived == [[(rank - 1) % SIZE, 1], [0, 2]]


def fail():  # type: ignore[no-untyped-def]
    if dist.get_rank() == 1:
        raise TypeError("a bug")


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(ProcessRaisedException, match="TypeError: a bug"):
        run_processes(2, fail)


def test_layers_computed_again_give_the_same_gradients() -> None:
    plain = make_transformer(d_model=8, n_heads=2, n_layers=2, dropout=0.3)
    again = copy.deepcopy(plain)
    layers = [*again.encoder.layers, *again.decoder.layers]
    calls = []
    for layer in layers:
        layer.feed_forward.register_forward_hook(lambda *_: calls.append(1))
    recompute_layers(layers)
    batch = make_batch(make_examples(4), torch.device("cpu"))
    losses = []
    for model in plain, again:
        torch.manual_seed(0)
        loss = translation_loss(model.train(), batch)
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == losses[1]
    assert len(calls) == 2 * len(layers)
    for one, other in zip(plain.parameters(), again.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    assert again.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.usefixtures("alone_in_a_group", "unchecked")
def test_what_is_gathered_may_be_bf16() -> None:
    plain = make_transformer(d_model=8, n_heads=2, n_layers=2)
    batch = make_batch(make_examples(4), torch.device("cpu"))
    wanted = translation_loss(plain, batch)
    seen = set()
    for given in None, torch.bfloat16:
        model = copy.deepcopy(plain)
        loss_of = FullyShardedDataParallel(gather_dtype=given).wrap(
            model, translation_loss
        )
        model.encoder.layers[0].register_forward_hook(
            lambda layer, _, y: seen.add((layer.training, y.dtype))
        )
        loss = loss_of(batch)
        gap = abs(loss.item() - wanted.item())
        assert gap < 1e-6 if given is None else 0 < gap < 0.05
        loss.backward()
        assert {p.grad.dtype for p in model.parameters()} == {torch.float32}
    assert {dtype for _, dtype in seen} == {torch.float32, torch.bfloat16}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recompute", "--compile"], "^give --compile, or .* not both$"),
        (["--gather-bf16"], "^--gather-bf16 wants --sharded$"),
    ],
)
def test_the_command_refuses(options: list[str], message: str) -> None:
    from attention_book.cli.app import app

    run = CliRunner().invoke(app, ["train", "model", *options])
    assert isinstance(run.exception, ValueError)
    assert re.search(message, str(run.exception))
