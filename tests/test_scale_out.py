"""attention_book.training.scale_out: several processes against one."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from attention_book.models.transformer import Transformer
from attention_book.training import (
    SINGLE_PROCESS,
    BatchLoader,
    ModelWithLoss,
    Trainer,
    TrainingConfig,
    make_batch,
    translation_loss,
    validation_loss,
)
from attention_book.training.scale_out import DataParallel
from tests.factories import make_config, make_examples, make_transformer
from tests.ranks import Plan, Reports, found_in, gap, run_plan


KINDS = ["plain", "tied", "rotary"]
STRATEGIES = [
    ("parallel", 2),
    ("parallel", 3),
    ("sharded", 2),
    ("sharded", 3),
]
PLAN: Plan = [
    ["all none 0", "none", 0, ["compare", *KINDS], ["distribute", "6"]],
    [
        "all parallel 2",
        "parallel",
        2,
        ["compare", *KINDS],
        ["distribute", "6"],
        ["half"],
    ],
    [
        "all parallel 3",
        "parallel",
        3,
        ["compare", *KINDS],
        ["distribute", "6"],
    ],
    ["all sharded 2", "sharded", 2, ["compare", *KINDS], ["half"]],
    ["all sharded 3", "sharded", 3, ["compare", "plain"]],
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return run_plan(PLAN, tmp_path_factory.mktemp("ranks"))


def key_biases(name: str, n: int) -> list[int]:
    """Where keys have their biases: they change no weight of attention.

    So their gradient is noise of rounding, which Adam divides by itself.
    """
    if not name.endswith("kv_proj.bias"):
        return []
    return list(range(n // 2))


def assert_same_numbers(
    one: dict[str, list[float]], other: dict[str, list[float]]
) -> None:
    """The same up to rounding, but for the biases of keys."""
    assert one.keys() == other.keys()
    for name in one:
        plain = name.removeprefix("model.")
        skip = set(key_biases(plain, len(one[name])))
        kept = [i for i in range(len(one[name])) if i not in skip]
        pairs = [
            [values[i] for i in kept] for values in (one[name], other[name])
        ]
        assert gap(*pairs) < 1e-5, name


@pytest.mark.parametrize(("kind", "n"), STRATEGIES)
def test_however_many_processes_it_is_the_same_training(
    reports: Reports, kind: str, n: int
) -> None:
    (alone,) = found_in(reports, "none 0", "compare")
    processes = found_in(reports, f"{kind} {n}", "compare")
    assert len(processes) == n
    for name in processes[0]:
        wanted = alone[name]
        for found in (process[name] for process in processes):
            assert wanted["gradients"].keys() == found["gradients"].keys()
            for parameter, gradient in wanted["gradients"].items():
                assert gap(gradient, found["gradients"][parameter]) < 1e-6
                assert max(map(abs, gradient)) > 0
            assert gap(wanted["losses"], found["losses"]) < 1e-5
            assert abs(wanted["validation"] - found["validation"]) < 1e-5
            assert abs(wanted["after"] - found["after"]) < 1e-5
            assert_same_numbers(wanted["numbers"], found["numbers"])


def test_who_shards_holds_a_part_and_who_copies_the_whole(
    reports: Reports,
) -> None:
    (alone,) = found_in(reports, "none 0", "compare")
    for kind, n in STRATEGIES:
        processes = found_in(reports, f"{kind} {n}", "compare")
        for name in processes[0]:
            whole = alone[name]["n_local"]
            local = [process[name]["n_local"] for process in processes]
            if kind == "parallel":
                assert local == [whole] * n
            else:  # not all splits evenly, and the step numbers are not split
                assert sum(local) >= whole
                assert max(local) < 1.1 * whole / n


@pytest.mark.parametrize("kind", ["parallel", "sharded"])
def test_the_scale_of_fp16_is_saved(reports: Reports, kind: str) -> None:
    for process in found_in(reports, f"{kind} 2", "half"):
        assert process["scale"] == 512
        one, other = process["next"]
        assert one == other < process["losses"][0]


def test_each_batch_goes_to_exactly_one_process(reports: Reports) -> None:
    (alone,) = found_in(reports, "none 0", "distribute")
    batches = alone["seen"]
    assert len(batches) == 6 * alone["n"]  # six epochs
    counted = Counter(first for batch in batches for first in batch)
    assert counted == dict.fromkeys(range(3, 34), 6)
    for size in 2, 3:
        processes = found_in(reports, f"parallel {size}", "distribute")
        for rank, process in enumerate(processes):
            assert process["seen"] == batches[rank::size]


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


def test_validation_counts_tokens_and_not_batches() -> None:
    config = TrainingConfig(batch_tokens=21)
    torch.manual_seed(1)
    model = Transformer(make_config(dropout=0.3))
    held_out = make_examples(7)
    trainer = Trainer(model, BatchLoader(make_examples(), config), config)
    one_by_one = [
        validation_loss(trainer, BatchLoader([example], config))
        for example in held_out
    ]
    weights = [len(target) - 1 for _, target in held_out]
    sums = [loss * n for loss, n in zip(one_by_one, weights, strict=True)]
    for training in True, False:
        model.train(training)
        found = validation_loss(trainer, BatchLoader(held_out, config))
        assert model.training == training
        assert found == pytest.approx(sum(sums) / sum(weights), rel=1e-5)
