"""attention_book.training.parallel: several processes against one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from attention_book.training import (
    SINGLE_PROCESS,
    TrainingConfig,
    make_batch,
    translation_loss,
)
from attention_book.training.parallel import DataParallel, ModelWithLoss
from tests.factories import make_examples, make_transformer
from tests.ranks import Found, gap, run_jobs
from tests.ranks_worker import KINDS, compare, distribute


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def two(folder: Path) -> Found:
    jobs = "compare", "half", "distribute"
    return run_jobs(folder, 2, "parallel+sharded", *jobs)


@pytest.fixture(scope="module")
def three(folder: Path) -> Found:
    return run_jobs(folder, 3, "parallel+sharded", "compare")


def assert_same_numbers(
    one: dict[str, list[float]], other: dict[str, list[float]]
) -> None:
    """The same up to rounding, but for the biases of keys.

    These change no weight of attention. So their gradient is noise of
    rounding, which Adam divides by itself.
    """
    assert one.keys() == other.keys()
    for name, values in one.items():
        is_bias = "kv_proj.bias" in name and not name.endswith(".grad")
        first = len(values) // 2 if is_bias else 0
        assert gap(values[first:], other[name][first:]) < 1e-5, name


@pytest.mark.parametrize("kind", ["parallel", "sharded"])
@pytest.mark.parametrize(
    "processes", ["two", pytest.param("three", marks=pytest.mark.slow)]
)
def test_however_many_processes_it_is_the_same_training(
    kind: str, processes: str, request: pytest.FixtureRequest
) -> None:
    alone = compare(SINGLE_PROCESS, Path())
    found = request.getfixturevalue(processes)
    for process in (each[f"{kind} compare"] for each in found):
        assert process.keys() == KINDS.keys()
        for name, got in process.items():
            wanted = alone[name]
            assert gap(wanted["losses"], got["losses"]) < 1e-5
            assert abs(wanted["validation"] - got["validation"]) < 1e-5
            assert abs(wanted["after"] - got["after"]) < 1e-5
            for when in "first", "numbers":
                assert_same_numbers(wanted[when], got[when])
            share = 1 if kind == "parallel" else len(found)
            assert got["n_local"] < 1.1 * wanted["n_local"] / share


@pytest.mark.parametrize("kind", ["parallel", "sharded"])
def test_the_scale_of_fp16_is_saved(two: Found, kind: str) -> None:
    for process in two:
        found = process[f"{kind} half"]
        assert found["scale"] == 512
        one, other = found["next"]
        assert one == other < found["losses"][0]


def test_each_batch_goes_to_exactly_one_process(two: Found) -> None:
    alone = distribute(SINGLE_PROCESS, Path())
    batches = alone["seen"]
    assert len(batches) == 6 * alone["n"]  # six epochs
    counted = Counter(first for batch in batches for first in batch)
    assert counted == dict.fromkeys(range(3, 34), 6)
    for rank, process in enumerate(two):
        assert process["parallel distribute"]["seen"] == batches[rank::2]


def test_accumulation_steps_must_come_out_even() -> None:
    class Pair(DataParallel):
        def __init__(self) -> None:
            self.rank = 0
            self.size = 2

    with pytest.raises(
        ValueError,
        match=r"^accumulation_steps must be a multiple of the number of "
        r"processes, 2, got 3$",
    ):
        Pair().check(TrainingConfig(accumulation_steps=3))
    Pair().check(TrainingConfig(accumulation_steps=4))
    SINGLE_PROCESS.check(TrainingConfig(accumulation_steps=3))


@pytest.fixture
def alone_in_a_group() -> Iterator[None]:
    dist.init_process_group(
        "gloo", store=dist.HashStore(), rank=0, world_size=1
    )
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("alone_in_a_group", "unchecked")
@pytest.mark.parametrize("by", ["autocast", "FSDP", "nobody"])
def test_who_converts_the_weights_decides_how_long_they_stay(by: str) -> None:
    """FSDP drops what it gathered, also in bf16; autocast drops nothing."""
    model = make_transformer(d_model=8, n_heads=2, d_ff=24, n_layers=3)
    layers = (*model.encoder.layers, *model.decoder.layers)
    weights = [
        parameter
        for layer in layers
        for parameter in layer.parameters()
        if parameter.ndim == 2
    ]
    shapes = {sides for w in weights for sides in (w.shape, w.T.shape)}
    n = sum(weight.numel() for weight in weights)
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype == torch.bfloat16 and tensor.shape in shapes:
            storage = tensor.untyped_storage()
            kept[storage._cdata] = storage
        return tensor

    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if by == "FSDP" else None
    )
    model_with_loss = ModelWithLoss(model, translation_loss)
    mesh = init_device_mesh("cpu", (1,))
    for module in (*layers, model_with_loss):  # as FSDP's wrap does
        fully_shard(module, mesh=mesh, mp_policy=policy)
    batch = make_batch(make_examples(4), torch.device("cpu"))
    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=by == "autocast"),
    ):
        model_with_loss(batch)
    alive = sum(storage.nbytes() for storage in kept.values())
    assert alive == (2 * n if by == "autocast" else 0)
    assert bool(kept) == (by != "nobody")


@pytest.mark.usefixtures("alone_in_a_group")
def test_a_sum_lies_where_the_number_lay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # NCCL carries nothing that lies on the CPU. Here meta stands for a GPU:
    # what has been moved there can't come back, and says so.
    with monkeypatch.context() as patch:
        patch.setattr(dist, "all_reduce", lambda tensor: None)
        strategy = DataParallel("meta")
        assert strategy.reduce(torch.zeros(2, device="meta")).is_meta
        with pytest.raises(NotImplementedError, match="meta tensor"):
            strategy.reduce(torch.ones(2))
    number = torch.ones(2, dtype=torch.float64)
    total = DataParallel("cpu").reduce(number)
    assert total.dtype == torch.float64
    assert torch.equal(total, number)
    total += 1
    assert torch.equal(number, torch.ones(2, dtype=torch.float64))
