"""Several processes against one: they begin, agree, train alike, save and end."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from typer.testing import CliRunner

from attention_book import TrainingConfig, translation_loss
from attention_book.data.split import make_split
from attention_book.io.progress import load_checkpoint
from attention_book.io.tensors import read_tensors
from attention_book.training.distributed import (
    check_agreement,
    device_of_rank,
    process_group,
)
from attention_book.training.loading import make_batch
from attention_book.training.parallel import (
    SINGLE_PROCESS,
    DataParallel,
    FullyShardedDataParallel,
)
from tests.factories import make_examples, make_transformer, pretend_gpu
from tests.ranks_worker import (
    KINDS,
    compare,
    distribute,
    load,
    make_trainer,
    save,
)


pytestmark = pytest.mark.slow  # each of them starts processes

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests/ranks_worker.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
Found = list[dict[str, Any]]  # what each process found in each job


def torchrun(n: int, *what: object) -> subprocess.CompletedProcess[str]:
    """Run something under torchrun, in n processes."""
    run = ["-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [sys.executable, *run, f"--nproc-per-node={n}", *map(str, what)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def run_jobs(folder: Path, n: int, kinds: str, *jobs: str) -> Found:
    """Return what each of n processes found, all being well."""
    done = torchrun(n, SCRIPT, folder, kinds, *jobs)
    assert done.returncode == 0, done.stderr
    return [
        json.loads((folder / f"{rank}.json").read_text("utf-8"))
        for rank in range(n)
    ]


def gap(one: list[float], other: list[float]) -> float:
    """Return the largest difference."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def two(folder: Path) -> Found:
    jobs = ["compare", "half", "distribute", "agree"]
    jobs += ["saved,plain", "saved,tied"]
    return run_jobs(folder, 2, "parallel+sharded", *jobs)


@pytest.fixture(scope="module")
def saved(folder: Path, two: Found) -> list[Path]:
    found = sorted(folder.glob("*-[05]"))
    assert len(found) == 2 * 2 * 2
    return found


@pytest.fixture(scope="module")
def three(folder: Path, saved: list[Path]) -> Found:
    for kind in KINDS:
        save(folder / f"one-{kind}-0", make_trainer(**KINDS[kind]))
    return run_jobs(folder, 3, "parallel+sharded", "compare", "resumed")


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


@cache
def train_alone() -> dict[str, Any]:
    return compare(SINGLE_PROCESS, Path())


@pytest.mark.parametrize("kind", ["parallel", "sharded"])
@pytest.mark.parametrize("processes", ["two", "three"])
def test_however_many_processes_it_is_the_same_training(
    kind: str, processes: str, request: pytest.FixtureRequest
) -> None:
    alone = train_alone()
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
    pair = DataParallel.__new__(DataParallel)
    pair.size = 2
    message = "^accumulation_steps must be a multiple .* processes, 2, got 3$"
    with pytest.raises(ValueError, match=message):
        pair.check(TrainingConfig(accumulation_steps=3))
    pair.check(TrainingConfig(accumulation_steps=4))
    SINGLE_PROCESS.check(TrainingConfig(accumulation_steps=3))


@pytest.mark.usefixtures("alone_in_a_group", "unchecked")
@pytest.mark.parametrize("enabled", [True, False])
def test_copies_in_bf16_stay_until_the_backward_pass(enabled: bool) -> None:
    """FSDP drops what it gathered; autocast drops nothing."""
    model = make_transformer(d_model=8, n_heads=2, d_ff=24, n_layers=3)
    layers = (*model.encoder.layers, *model.decoder.layers)
    parameters = [p for layer in layers for p in layer.parameters()]
    weights = [p for p in parameters if p.ndim == 2]
    shapes = {sides for w in weights for sides in (w.shape, w.T.shape)}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape in shapes:
            storage = tensor.untyped_storage()
            kept[storage._cdata] = storage
        return tensor

    n = sum(weight.numel() for weight in weights)
    loss_of = FullyShardedDataParallel().wrap(model, translation_loss)
    batch = make_batch(make_examples(4), torch.device("cpu"))
    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=enabled),
    ):
        loss = loss_of(batch)
    alive = sum(storage.nbytes() for storage in kept.values())
    assert alive == (2 * n if enabled else 0)
    assert kept
    loss.backward()


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


@cache
def uncut(kind: str) -> list[float]:
    trainer = make_trainer(**KINDS[kind])
    return [trainer.step() for _ in range(7)]


def test_one_process_resumes_from_the_checkpoint_of_several(
    saved: list[Path], two: Found
) -> None:
    for process in two:
        for way in "parallel", "sharded":  # of the last kind
            assert gap(process[f"{way} saved"], uncut("tied")[:5]) < 1e-5
    for out in saved:
        _, kind, steps = out.name.split("-")
        trainer = make_trainer(**KINDS[kind])
        load_checkpoint(out, trainer)
        assert len(trainer.losses) == int(steps)
        for _ in range(2):
            trainer.step()
        assert gap(trainer.losses, uncut(kind)[: int(steps) + 2]) < 1e-5


def test_any_number_of_processes_resumes_from_any_checkpoint(
    saved: list[Path], three: Found
) -> None:
    for process in three:
        for way in "parallel", "sharded":
            found = process[f"{way} resumed"]
            assert len(found) == len(saved) + len(KINDS)
            for name, got in found.items():
                _, kind, steps = name.split("-")
                assert got["first"] == int(steps)
                wanted = uncut(kind)[int(steps) :][:2]
                assert gap(got["losses"], wanted) < 1e-5


@pytest.mark.parametrize("kind", ["plain", "tied"])
def test_the_file_of_several_processes_is_that_of_one(
    folder: Path, two: Found, tmp_path: Path, kind: str
) -> None:
    for name in "DataParallel", "FullyShardedDataParallel":
        path = folder / f"{name}-{kind}-5"
        tensors, metadata = read_tensors(path)
        trainer = make_trainer(**KINDS[kind])
        load_checkpoint(path, trainer)
        save(tmp_path / "own", trainer)
        again, metadata_again = read_tensors(tmp_path / "own")
        assert metadata_again == metadata
        torch.testing.assert_close(again, tensors, atol=0, rtol=0)


def test_processes_that_do_not_agree_say_so(two: Found) -> None:
    for process in two:
        for found in process["parallel agree"], process["sharded agree"]:
            (message,) = found  # of the second question
            assert message.startswith("corpus, config, model and checkpoint")
    check_agreement(SINGLE_PROCESS, "anything")


GOES_ON = "another process of this run has ended; the same command goes on"


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("kill", "Signal 9 (SIGKILL) received by PID"),
        ("bug", "TypeError: a bug"),
    ],
)
def test_when_one_fails_all_end_and_torchrun_says_why(
    tmp_path: Path, how: str, cause: str
) -> None:
    run = torchrun(2, SCRIPT, tmp_path, "sharded", f"fail,{how}")
    assert run.returncode != 0
    root_cause = run.stderr.partition("Root Cause")[2]
    assert cause in root_cause
    assert re.search(r"rank\s+: 1 ", root_cause)
    trainer = make_trainer()
    load(tmp_path / "model", trainer)
    assert len(trainer.losses) == 2
    wanted = make_trainer()
    assert gap(trainer.losses, [wanted.step(), wanted.step()]) < 1e-5


def test_a_lost_peer_is_told_from_a_bug(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error"))
    monkeypatch.setattr(dist, "init_process_group", lambda *_, **__: None)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "get_world_size", lambda: 1)
    gloo = "[/x/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection c"
    for lost in RuntimeError(gloo), dist.DistBackendError("NCCL error"):
        with (
            pytest.raises(ConnectionError, match=GOES_ON),
            process_group("cpu"),
        ):
            raise lost
    assert not (tmp_path / "error").exists()
    with (
        pytest.raises(RuntimeError, match="mat1 and mat2"),
        process_group("cpu"),
    ):
        raise RuntimeError("mat1 and mat2")
    assert "mat1 and mat2" in (tmp_path / "error").read_text()


def test_alone_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    with process_group("cuda:7") as (strategy, device):
        assert (strategy, device) == (SINGLE_PROCESS, "cuda:7")
    with pytest.raises(ValueError, match="a reason"), process_group():
        raise ValueError("a reason")
    message = r"^sharded: wanted torchrun, got one process$"
    with pytest.raises(ValueError, match=message), process_group(sharded=True):
        pass
    monkeypatch.setenv("RANK", "0")
    message = "WORLD_SIZE expected, but not set"
    with pytest.raises(ValueError, match=message), process_group("cpu"):
        pass


def test_each_process_has_a_gpu_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend_gpu(monkeypatch, (9, 0), n=2)
    for wanted in "auto", "cuda":
        for rank in 0, 1:
            device = device_of_rank(wanted, rank)
            assert device == torch.device("cuda", rank)
    assert device_of_rank("cpu", 4) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"wanted cuda:2, .* finds 2 of cuda"):
        device_of_rank("auto", 2)
    message = r"^device: processes .* take auto, cpu or cuda, .* got 'cuda:1'$"
    with pytest.raises(ValueError, match=message):
        device_of_rank("cuda:1", 0)


def test_a_device_that_can_not_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of_rank("auto", 0) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"take auto, cpu or .* got 'mps'"):
        device_of_rank("mps", 0)
    with pytest.raises(ValueError, match="device: wanted cuda, but "):
        device_of_rank("cuda", 0)


OPTIONS = (
    "--d-model 16 --n-layers 1 --n-heads 2 --vocab-size 300 --device cpu "
    "--batch-tokens 300 --max-steps 6 --save-every 2 --accumulation-steps 6"
)


def test_a_run_loses_a_process_and_the_same_command_resumes(
    tmp_path: Path, unchecked: None
) -> None:
    from attention_book.cli.app import app

    corpus = tmp_path / "corpus.tsv"
    pairs = make_split(n_train=200, n_test=5).train
    corpus.write_text("\n".join("\t".join(pair) for pair in pairs), "utf-8")
    options = ["--corpus", str(corpus), *OPTIONS.split()]
    alone = tmp_path / "alone"
    out = tmp_path / "model"
    found = CliRunner().invoke(app, ["train", str(alone), *options])
    assert found.exit_code == 0, found.output
    options = ["train", str(out), "--sharded", "--recompute", *options]
    killed = torchrun(2, SCRIPT, "train", 1, 3, *options)
    assert killed.returncode != 0
    ours = [x for x in killed.stderr.split("\n") if "attention-book:" in x]
    assert all(GOES_ON in line for line in ours)  # or it was ended first
    assert killed.stdout.count("step 2 ") == 1
    run = torchrun(2, "-m", "attention_book", *options)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(f"{out}: going on from step 2\n") == 1
    assert run.stdout.count(f"{out}: done; try: ") == 1
    assert "attention-book:" not in run.stderr
    wanted, got = (read_tensors(path)[0]["losses"] for path in (alone, out))
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    unseen = [
        re.findall(r"unseen (\S+)", o) for o in (found.output, run.stdout)
    ]
    assert unseen[0][-2:] == unseen[1]


def test_the_command_sends_bf16(tmp_path: Path, unchecked: None) -> None:
    from attention_book.cli.app import app

    corpus = tmp_path / "corpus.tsv"
    pairs = make_split(n_train=200, n_test=5).train
    corpus.write_text("\n".join("\t".join(pair) for pair in pairs), "utf-8")
    options = ["--corpus", str(corpus), *OPTIONS.split()]
    found = CliRunner().invoke(app, ["train", str(tmp_path / "1"), *options])
    assert found.exit_code == 0, found.output
    options = ["train", str(tmp_path / "2"), "--sharded", *options]
    run = torchrun(2, "-m", "attention_book", *options, "--gather-bf16")
    assert run.returncode == 0, run.stderr
    wanted, got = (read_tensors(tmp_path / x)[0]["losses"] for x in "12")
    assert not torch.equal(got, wanted)
    torch.testing.assert_close(got, wanted, atol=0.05, rtol=0)
