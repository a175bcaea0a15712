"""The model that learns in the reader's browser, beside the chapter's in PyTorch."""

import base64
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import without_heads
from literate.chapter import defined_in
from tests.node import run_node


pytestmark = pytest.mark.slow  # starts Node
SCRIPT = """
import { readFileSync } from "node:fs";
const live = (name) => import(new URL(name, process.argv[1]));
const { AdamW, AttentionOnly, crossEntropy, train } = await live("training.js");
const { initialise, makeRepeats, measure, seeded } = await live("repeats.js");
const { Matrix } = await live("tensors.js");

const unpack = (text) => new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const pack = ({ data }) => Buffer.from(data.buffer).toString("base64");
const each = (tensors, pack) =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, pack(tensor)]));
const { state, ids, length, periods, silent, batches } = JSON.parse(readFileSync(0));
const build = () => new AttentionOnly(each(state, ({ rows, columns, data }) =>
  new Matrix(rows, columns, unpack(data))));

const model = build(), optimizer = new AdamW(model.tensors), steps = [];
for (const n of [1, 2, 3]) {
  const logits = model.forward(Uint8Array.from(ids), length);
  const { loss, dLogits } = crossEntropy(logits, ids, length);
  model.backward(dLogits);
  const grads = each(model.tensors, ({ grad }) => pack(grad));
  optimizer.step();
  steps.push({ logits: pack(logits), loss, grads, after: each(model.tensors, pack) });
}
const measures = silent.map((heads) => {
  const model = build();
  heads.forEach((numbers, i) => { model.layers[i].silent = new Set(numbers) });
  return measure(model, { ids: Uint8Array.from(batches[0]), periods });
});
const learner = build(), its = new AdamW(learner.tensors);
const losses = batches.map((ids) => train(learner, its, { ids: Uint8Array.from(ids) }));
const repeats = makeRepeats(200, seeded(7));
console.log(JSON.stringify({
  steps, measures, losses, repeats: { ids: [...repeats.ids], periods: repeats.periods },
  begins: each(initialise(seeded(7)), pack),
  draws: [7, 7, 8].map((seed) => Array.from({ length: 1000 }, seeded(seed))),
}));
"""
SILENT = [
    [[], []],
    [[0, 1], []],
    [[1], []],
    [[], [0]],
    [[0], [1]],
    [[], [0, 1]],
]
LENGTH = 22  # of the rows whose gradients are compared, not that of the table


def pack(x: Tensor) -> dict[str, Any]:
    rows = x.detach().reshape(-1, x.shape[-1]).contiguous()
    data = base64.b64encode(rows.numpy().tobytes()).decode()
    return {"rows": rows.shape[0], "columns": rows.shape[1], "data": data}


def unpack(data: str, like: Tensor) -> Tensor:
    x = torch.frombuffer(bytearray(base64.b64decode(data)), dtype=torch.float)
    return x.view_as(like)


def next_token_loss(model: nn.Module, ids: Tensor) -> Tensor:
    logits = model(ids)[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    names = ("torch", "trace", "nn", "AttentionOnly", "measure")
    return defined_in("docs/source/circuits.md", *names)


@pytest.fixture(scope="module")
def batches(cells: dict[str, Any]) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(5)
    return [cells["make_repeats"](6, generator) for _ in range(8)]


@pytest.fixture(scope="module")
def model(
    cells: dict[str, Any], batches: list[tuple[Tensor, Tensor]]
) -> nn.Module:
    """It has begun to learn the first rows by heart, and none of it is 0 or 1."""
    torch.manual_seed(3)
    model: nn.Module = cells["AttentionOnly"](2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(12):
        optimizer.zero_grad()
        next_token_loss(model, batches[0][0]).backward()
        optimizer.step()
    return model


@pytest.fixture(scope="module")
def ids() -> Tensor:
    """Rows for the gradients; some tokens come often, one never."""
    generator = torch.Generator().manual_seed(4)
    return torch.randint(0, 31, (3, LENGTH), generator=generator)


@pytest.fixture(scope="module")
def found(
    model: nn.Module, ids: Tensor, batches: list[tuple[Tensor, Tensor]]
) -> dict[str, Any]:
    """What the scripts make of them."""
    given = {
        "state": {name: pack(x) for name, x in model.state_dict().items()},
        "ids": ids.flatten().tolist(),
        "length": LENGTH,
        "periods": (~batches[0][1]).sum(dim=1).tolist(),
        "silent": SILENT,
        "batches": [rows.flatten().tolist() for rows, _ in batches],
    }
    return run_node(SCRIPT, given)


def copy_of(model: nn.Module, cells: dict[str, Any]) -> nn.Module:
    copy: nn.Module = cells["AttentionOnly"](2)
    copy.load_state_dict(model.state_dict())
    return copy


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_those_of_autograd(
    dtype: torch.dtype,
    model: nn.Module,
    cells: dict[str, Any],
    ids: Tensor,
    found: dict[str, Any],
) -> None:
    """Of every parameter, beside the largest of its own, in three steps."""
    for step, before in zip(
        found["steps"], [None, *found["steps"]], strict=False
    ):
        copy = copy_of(model, cells)
        if before:
            for name, x in copy.state_dict().items():
                x.copy_(unpack(before["after"][name], x))
        copy = copy.to(dtype)
        logits = copy(ids)
        assert (unpack(step["logits"], logits) - logits).abs().max() < 1e-4
        loss = next_token_loss(copy, ids)
        assert step["loss"] == pytest.approx(loss.item(), abs=1e-5)
        loss.backward()
        assert step["grads"].keys() == copy.state_dict().keys()
        for name, parameter in copy.named_parameters():
            wanted = parameter.grad
            assert wanted is not None
            largest = wanted.abs().max()
            assert 1e-4 < largest < 1, name
            apart = (unpack(step["grads"][name], wanted) - wanted).abs().max()
            assert apart < 1e-4 * largest, name


def test_steps_are_those_of_adamw(
    model: nn.Module, cells: dict[str, Any], found: dict[str, Any]
) -> None:
    """From the same gradients, as the sign of those near 0 is chance."""
    copy = copy_of(model, cells)
    optimizer = torch.optim.AdamW(copy.parameters(), lr=3e-3)
    for step in found["steps"]:
        for name, parameter in copy.named_parameters():
            parameter.grad = unpack(step["grads"][name], parameter)
        optimizer.step()
        for name, parameter in copy.named_parameters():
            after = unpack(step["after"][name], parameter)
            assert (after - parameter).abs().max() < 2e-6, name


def test_training_goes_the_same_way(
    model: nn.Module,
    cells: dict[str, Any],
    batches: list[tuple[Tensor, Tensor]],
    found: dict[str, Any],
) -> None:
    copy = copy_of(model, cells)
    optimizer = torch.optim.AdamW(copy.parameters(), lr=3e-3)
    losses = []
    for rows, _ in batches:
        loss = next_token_loss(copy, rows)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert max(losses) - min(losses) > 0.5
    assert found["losses"] == pytest.approx(losses, abs=1e-3)


@pytest.mark.parametrize("n", range(len(SILENT)))
def test_measures_are_those_of_the_chapter(
    n: int,
    model: nn.Module,
    cells: dict[str, Any],
    batches: list[tuple[Tensor, Tensor]],
    found: dict[str, Any],
) -> None:
    heads = {f"layers.{i}": numbers for i, numbers in enumerate(SILENT[n])}
    heads = {name: numbers for name, numbers in heads.items() if numbers}
    changed = without_heads(model, heads) if heads else model
    accuracy, previous, prefix = cells["measure"](changed, *batches[0])
    measured = found["measures"][n]
    assert measured["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    assert (torch.tensor(measured["previous"]) - previous).abs().max() < 1e-5
    assert (torch.tensor(measured["prefix"]) - prefix).abs().max() < 1e-5


def test_the_measures_differ(found: dict[str, Any]) -> None:
    """Else equal ones would prove little."""
    accuracies = [measured["accuracy"] for measured in found["measures"]]
    assert len(set(accuracies)) > 3
    assert max(accuracies) > 0.5


def test_rows_repeat(found: dict[str, Any]) -> None:
    rows = torch.tensor(found["repeats"]["ids"]).view(-1, 32)
    periods = found["repeats"]["periods"]
    assert set(periods) == set(range(8, 17))
    assert rows.unique().tolist() == list(range(32))
    for row, period in zip(rows.tolist(), periods, strict=True):
        assert len(set(row)) == period
        assert row[period:] == row[:-period]
    assert len(rows.unique(dim=0)) == len(rows)


def test_parameters_begin_as_in_pytorch(
    cells: dict[str, Any], found: dict[str, Any]
) -> None:
    torch.manual_seed(1)
    for name, wanted in cells["AttentionOnly"](2).state_dict().items():
        x = unpack(found["begins"].pop(name), wanted)
        if wanted.unique().numel() == 1:
            assert torch.equal(x, wanted), name
            continue
        few = 6 / x.numel() ** 0.5  # so many standard errors, roughly
        assert abs(x.mean() / x.std()) < few, name
        assert abs(x.std() / wanted.std() - 1) < few, name
        widest = wanted.abs().max()
        assert abs(x.abs().max() / widest - 1) < 0.3, name
        kurtosis = ((x / x.std()) ** 4).mean()  # 3 if normal, 1.8 if uniform
        assert (kurtosis > 2.4) == (
            name in ("tokens.weight", "positions.table")
        )
    assert found["begins"] == {}


def test_a_seed_decides(found: dict[str, Any]) -> None:
    first, again, other = found["draws"]
    assert first == again
    assert not set(first) & set(other)
    assert 0 <= min(first) < 0.01 < 0.99 < max(first) < 1
    assert abs(sum(first) / 1000 - 0.5) < 0.05
