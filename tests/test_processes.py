"""attention_book.training.processes: ranks, failures, checkpoints in several processes."""

import hashlib
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from attention_book.data.split import make_split
from attention_book.io import (
    load_checkpoint,
    load_model,
    open_tensors,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from attention_book.training import (
    SINGLE_PROCESS,
    BatchLoader,
    ParallelStrategy,
    Trainer,
)
from attention_book.training.processes import (
    RANK_VARS,
    TIMEOUT,
    ErrorReporter,
    RankInfo,
    device_of_rank,
    exists_on_all_ranks,
    failures,
    get_rank_info,
    is_peer_failure,
    load_shards,
    named_tensors,
    newest_shards,
    process_group,
    rendezvous,
    resume,
    save,
    save_shards,
    sigterm_handler,
    steps_saved,
)
from tests.factories import make_examples
from tests.ranks import (
    SCRIPT,
    Plan,
    Reports,
    found_in,
    gap,
    run_plan,
    torchrun,
)
from tests.ranks_worker import CONFIG, TOKENIZERS, make_trainer


WAYS = ["full", "shards", "saved"]
CONTINUED: Plan = [
    [
        "all parallel 2",
        "parallel",
        2,
        ["checkpoint", "saved"],
        ["differ", "nothing"],
    ],
    [
        "all sharded 2",
        "sharded",
        2,
        ["checkpoint", "full", "shards"],
        ["files_by_step"],
    ],
    ["all none 0", "none", 0, ["continued", *WAYS], ["files_by_step"]],
    ["all parallel 3", "parallel", 3, ["continued", *WAYS]],
    ["all sharded 3", "sharded", 3, ["continued", *WAYS]],
]
ENDED: Plan = [
    *([f"kill-{r}", "parallel", 3, ["fail", "kill", r]] for r in "02"),
    ["kill-sharded", "sharded", 3, ["fail", "kill", "1"]],
    ["bug", "parallel", 2, ["fail", "bug", "1"]],
    ["one", "parallel", 3, ["fail", "error", "1"]],
    ["both", "parallel", 2, ["fail", "error", "01"]],
    ["stop", "parallel", 2, ["stop"]],
    ["cut-full", "sharded", 2, ["cut_short", "full"]],
    ["cut-kill", "sharded", 2, ["cut_short", "kill"]],
    ["seed", "parallel", 2, ["differ", "seed"]],
    ["accumulation_steps", "parallel", 3, ["differ", "accumulation_steps"]],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def reports(folder: Path) -> Reports:
    return run_plan(CONTINUED + ENDED, folder)


def shards_folder(out: Path) -> Path:
    return Path(f"{out}.shards")


@pytest.mark.parametrize("name", ["none 0", "parallel 3", "sharded 3"])
def test_any_number_of_processes_resumes_from_any_checkpoint(
    reports: Reports, name: str
) -> None:
    (alone,) = found_in(reports, "none 0", "continued")
    uncut = make_trainer()
    losses = [uncut.step() for _ in range(8)]
    for saved in "parallel 2", "sharded 2":
        for process in found_in(reports, saved, "checkpoint"):
            assert gap(process["losses"], losses[:5]) < 1e-5
    for process in found_in(reports, name, "continued"):
        assert list(process) == WAYS
        for way, found in process.items():
            assert found["first"] == 5
            assert gap(found["losses"], losses[5:]) < 1e-5
            assert found["numbers"] == alone[way]["numbers"]  # exactly


def test_files_while_training(reports: Reports) -> None:
    (alone,) = found_in(reports, "none 0", "files_by_step")
    assert alone["found"] == [["m"]] * 4
    shards = [
        f"shard-0000{i}-model-00001-of-00001.safetensors" for i in (1, 2)
    ]
    for process in found_in(reports, "sharded 2", "files_by_step"):
        first, *under_way, last = process["found"]
        assert first == last == ["m"]
        for number, found in enumerate(under_way, 1):
            step = f"m.shards/step-00000{number}"
            names = [f"{step}/{name}" for name in ("progress", *shards)]
            assert found == ["m", *names]


LOST = (
    "{out}: another process of this run ended, or all were told to; "
    "the same command goes on from step {step}"
)


def said_in(report: dict[str, Any]) -> list[str]:
    lines = [line for error in report["errors"] for line in error.split("\n")]
    said = [line.removeprefix("said: ") for line in lines if line]
    assert all("said: " in line for line in lines if line)
    return said


def assert_ended(report: dict[str, Any], n: int, *others: int) -> None:
    """All n have failed: by an error, told to stop, or as is said."""
    codes = [code for code in report["codes"] if code not in others]
    assert len(report["codes"]) == n
    assert len(codes) == n - len(others)
    assert set(codes) <= {1, 128 + signal.SIGTERM}


@pytest.mark.parametrize("name", ["kill-0", "kill-2", "kill-sharded"])
def test_one_is_killed_and_all_end_with_one_line(
    folder: Path, reports: Reports, name: str
) -> None:
    report = reports[name]
    assert_ended(report, 3, -signal.SIGKILL)
    line = LOST.format(out=folder / name / "model", step=2)
    assert said_in(report) == [line]


def test_an_error_of_one_ends_all_and_is_reported_once(
    reports: Reports,
) -> None:
    for name, n in ("one", 3), ("both", 2):
        assert_ended(reports[name], n)
        assert said_in(reports[name]) == ["wrong in error"]
    for name, n, line in (
        (
            "seed",
            2,
            "corpus, config and model must be the same in all process",
        ),
        (
            "accumulation_steps",
            3,
            "accumulation_steps must be a multiple of the number of ",
        ),
    ):
        assert_ended(reports[name], n)
        (said,) = said_in(reports[name])
        assert said.startswith(line)
    assert said.endswith("processes, 3, got 4")
    assert found_in(reports, "parallel 2", "differ") == [{}, {}]


def test_a_bug_keeps_its_traceback(reports: Reports) -> None:
    report = reports["bug"]
    assert_ended(report, 2, 70)
    other, wrong = report["errors"]
    assert "Traceback" in wrong
    assert wrong.endswith("TypeError: a bug\n")
    assert other.startswith("said: ")
    assert other.count("\n") == 1


def test_told_to_stop_while_waiting(folder: Path, reports: Reports) -> None:
    report = reports["stop"]
    assert report["codes"] == [128 + signal.SIGTERM] * 2
    line = LOST.format(out=folder / "stop/model", step=0)
    assert said_in(report) == [line]


@pytest.mark.parametrize("how", ["full", "kill"])
def test_half_written_shards_are_no_checkpoint(
    folder: Path, reports: Reports, how: str
) -> None:
    report = reports[f"cut-{how}"]
    out = folder / f"cut-{how}/model"
    assert_ended(report, 2, *([-signal.SIGKILL] if how == "kill" else []))
    (said,) = said_in(report)
    step = f"{out}.shards/step-000002"
    full = f"{step}: could not be written: no space left"
    assert said == (full if how == "full" else LOST.format(out=out, step=1))
    assert any("step-000002.part" in path for path in report["left"])
    found = newest_shards(out)
    assert found == (1, shards_folder(out) / "step-000001")
    trainer = make_trainer()
    resume(out, trainer)
    assert len(trainer.losses) == 1
    save(out, trainer, TOKENIZERS)
    assert not shards_folder(out).exists()
    assert steps_saved(out) == 1


@pytest.fixture(scope="module")
def shards(folder: Path, reports: Reports) -> Path:
    found_in(reports, "sharded 2", "checkpoint")
    return folder / "all/shards.shards/step-000005"


def assert_refused(step: Path, trainer: Trainer, message: str) -> None:
    before = {k: t.clone() for k, t in named_tensors(trainer).items()}
    with pytest.raises((ValueError, OSError), match=message):
        load_shards(step, trainer)
    assert trainer.losses == []
    for name, tensor in named_tensors(trainer).items():
        assert torch.equal(tensor, before[name])


def test_altered_or_foreign_shards_are_refused(
    shards: Path, tmp_path: Path
) -> None:
    step = tmp_path / "step"
    shutil.copytree(shards, step)
    trainer = make_trainer()
    shard = step / "shard-00002-model-00001-of-00001.safetensors"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert_refused(step, trainer, f"^{shard}: altered$")
    shard.unlink()
    assert_refused(step, trainer, "shard-00002")
    shard.write_bytes(content)
    other = make_trainer(config=replace(CONFIG, seed=1))
    wanted = f"^{step}/progress: made with training seed = 0"
    assert_refused(step, other, wanted)
    fewer = BatchLoader(make_examples(16, seed=2), CONFIG)
    other = Trainer(trainer.model, fewer, CONFIG)
    assert_refused(step, other, "made with corpus digest")
    (step / "progress").write_bytes(b"x")
    assert_refused(step, trainer, "wanted a whole safetensors file")
    shutil.copytree(shards, step, dirs_exist_ok=True)
    load_shards(step, trainer)
    assert len(trainer.losses) == 5


def test_hostile_shards_are_refused(shards: Path, tmp_path: Path) -> None:
    step = tmp_path / "step"
    shutil.copytree(shards, step)
    trainer = make_trainer()
    shard = step / "shard-00002-model-00001-of-00001.safetensors"
    progress, metadata = read_tensors(step / "progress")
    with open_tensors(shard) as file:
        texts = dict(file.metadata)
    tensors = load_file(shard)
    digests = json.loads(metadata["digests"])

    def write(changes: dict[str, torch.Tensor], **others: str) -> None:
        """Change tensors of a shard; the digests fit."""
        save_file(tensors | changes, shard, texts)
        digest = hashlib.sha256(shard.read_bytes()).hexdigest()
        new = json.dumps(digests | {shard.name: digest} | others)
        write_tensors(step / "progress", progress, metadata | {"digests": new})

    name = next(name for name in tensors if name.endswith("exp_avg_sq"))
    write({name: torch.full_like(tensors[name], torch.nan)})
    assert_refused(step, trainer, f"^{shard}: wanted finite numbers in ")
    write({"extra": torch.ones(2)})
    assert_refused(step, trainer, f"^{shard}: wanted no tensor 'extra'")
    write({}, **{"../x": "0"})
    assert_refused(
        step, trainer, r"/progress: wanted shard '\.\./x', got none"
    )
    write({})
    _, written = read_tensors(step / "progress")
    more = progress | {"extra": torch.ones(2)}
    write_tensors(step / "progress", more, written)
    assert_refused(step, trainer, f"^{step}/progress: wanted no tensor 'extra")
    write({})
    load_shards(step, trainer)
    assert len(trainer.losses) == 5


def test_nobody_writes_a_shard_before_the_folder_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m"
    beside = shards_folder(out) / "step-000000.part"
    beside.mkdir(parents=True)
    (beside / "left-by-a-killed-run").touch()
    met: list[list[Path]] = []
    monkeypatch.setattr(
        dist, "barrier", lambda: met.append([*beside.iterdir()])
    )
    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        save_shards(out, make_trainer())
    finally:
        dist.destroy_process_group()
    assert met == [[]]


def test_the_latest_checkpoint_counts(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    shutil.copytree(shards, shards_folder(out) / shards.name)
    trainer = make_trainer()
    save_checkpoint(out, trainer, TOKENIZERS)  # a full one, of step 0
    resume(out, trainer)
    assert len(trainer.losses) == steps_saved(out) == 5
    trainer.step()
    save_checkpoint(out, trainer, TOKENIZERS)  # shards of step 5 still lie
    resumed = make_trainer()
    resume(out, resumed)
    assert resumed.losses == trainer.losses
    assert len(resumed.losses) == steps_saved(out) == 6


@pytest.mark.parametrize("way", ["full", "saved"])
def test_the_file_of_several_processes_is_that_of_one(
    folder: Path, reports: Reports, way: str
) -> None:
    found_in(reports, "parallel 2", "checkpoint")
    tensors, metadata = read_tensors(folder / "all" / way)
    trainer = make_trainer()
    load_checkpoint(folder / "all" / way, trainer)
    own = folder / "all" / f"{way}-alone"
    save_checkpoint(own, trainer, TOKENIZERS)
    tensors_again, metadata_again = read_tensors(own)
    assert metadata_again == metadata
    assert tensors_again.keys() == tensors.keys()
    assert all(torch.equal(tensors_again[k], tensors[k]) for k in tensors)
    assert load_model(own).model.config == trainer.model.config


def test_the_steps_that_are_saved(tmp_path: Path) -> None:
    out = tmp_path / "model"
    assert steps_saved(out) == 0
    assert newest_shards(out) is None
    for name in "step-000004.part", "step-x", "other":
        (shards_folder(out) / name).mkdir(parents=True)
    assert newest_shards(out) is None
    out.write_bytes(b"no checkpoint")
    assert steps_saved(out) == 0
    write_tensors(out, {"x": torch.zeros(2)}, {})
    assert steps_saved(out) == 0
    write_tensors(out, {"losses": torch.zeros(6)}, {})
    for steps in 5, 1_000_007, 12:
        (shards_folder(out) / f"step-{steps:06}").mkdir()
        newest = newest_shards(out)
        assert newest is not None
        assert steps_saved(out) == max(6, newest[0])
    assert newest == (1_000_007, shards_folder(out) / "step-1000007")


GIVEN = {
    "RANK": "3",
    "WORLD_SIZE": "6",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}


def test_the_rank_that_torchrun_gives() -> None:
    assert get_rank_info(GIVEN) == RankInfo(3, 6, 1, 2)
    assert get_rank_info({"MASTER_ADDR": "elsewhere", "PATH": "x"}) is None


@pytest.mark.parametrize("name", GIVEN)
def test_a_rank_of_which_something_is_missing(name: str) -> None:
    others = ", ".join(other for other in GIVEN if other != name)
    message = (
        f"^{name}: wanted what torchrun sets, together with {others}, "
        "got nothing$"
    )
    for broken in (
        {k: v for k, v in GIVEN.items() if k != name},
        GIVEN | {name: ""},
    ):
        with pytest.raises(ValueError, match=message):
            get_rank_info(broken)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({name: got}, f"{name} must be a whole number, got '{got}'")
            for name, got in zip(
                RANK_VARS, ("x", "-1", "1.5", " 2"), strict=True
            )
        ),
        ({"RANK": "6"}, "RANK must be less than WORLD_SIZE, 6, got 6"),
        (
            {"LOCAL_RANK": "2"},
            "LOCAL_RANK must be less than LOCAL_WORLD_SIZE, 2, got 2",
        ),
        ({"WORLD_SIZE": "0"}, "RANK must be less than WORLD_SIZE, 0, got 3"),
    ],
)
def test_a_rank_that_makes_no_sense(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        get_rank_info(GIVEN | changes)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this machine had two GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device=None: (9, 0)
    )


@pytest.mark.usefixtures("two_gpus")
def test_each_process_has_a_gpu_of_its_own() -> None:
    for wanted in "auto", "cuda":
        for rank in 0, 1:
            device = device_of_rank(wanted, rank, 2)
            assert device == torch.device("cuda", rank)
    assert device_of_rank("cpu", 4, 5) == torch.device("cpu")
    with pytest.raises(
        ValueError,
        match=r"^3 processes on this machine: device: wanted cuda:2, but "
        r"torch .* finds 2 of cuda",
    ):
        device_of_rank("auto", 0, 3)
    with pytest.raises(
        ValueError,
        match=r"^device: processes that share the work take auto, cpu or "
        r"cuda, and each its own, got 'cuda:1'$",
    ):
        device_of_rank("cuda:1", 0, 2)


def test_a_device_that_can_not_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of_rank("auto", 0, 2) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"take auto, cpu or .* got 'mps'"):
        device_of_rank("mps", 0, 2)
    with pytest.raises(ValueError, match="device: wanted cuda, but "):
        device_of_rank("cuda", 0, 2)


@pytest.fixture
def two_reporters() -> tuple[list[str], ErrorReporter, ErrorReporter]:
    said: list[str] = []
    store = dist.HashStore()
    return (
        said,
        ErrorReporter(store, said.append),
        ErrorReporter(store, said.append),
    )


def test_one_process_reports_for_all(
    two_reporters: tuple[list[str], ErrorReporter, ErrorReporter],
) -> None:
    said, one, other = two_reporters
    one.report("this")
    other.report("this")
    other.report("that")
    one.report_lost_peer("over")
    other.report_lost_peer("over")
    assert said == ["this", "that"]


def test_the_end_is_reported_once(
    two_reporters: tuple[list[str], ErrorReporter, ErrorReporter],
) -> None:
    said, one, other = two_reporters
    other.report_lost_peer("over")
    one.report_lost_peer("over")
    one.report("this")  # comes late, but is the cause
    assert said == ["over", "this"]


def test_who_stops_a_run_need_not_be_told(
    two_reporters: tuple[list[str], ErrorReporter, ErrorReporter],
) -> None:
    said, one, other = two_reporters
    one.silence()
    other.report_lost_peer("over")
    assert said == []
    other.report("this")
    assert said == ["this"]


def test_a_reporter_whose_store_is_gone() -> None:
    class Gone:
        def add(self, key: str, n: int) -> int:
            raise RuntimeError("connection refused")

    said: list[str] = []
    ErrorReporter(Gone(), said.append).report_lost_peer("over")
    ErrorReporter(Gone(), said.append).report("this")
    assert said == ["over", "this"]


def test_lost_peers_are_told_from_bugs() -> None:
    gloo = "[/x/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection c"
    assert is_peer_failure(RuntimeError(gloo))
    assert is_peer_failure(dist.DistBackendError("NCCL error"))
    assert is_peer_failure(dist.DistNetworkError("failed to recv"))
    assert not is_peer_failure(RuntimeError("mat1 and mat2"))


def test_the_sigterm_handler_leaves_all_as_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM), threading.active_count()
    with sigterm_handler(lambda: None):
        assert signal.getsignal(signal.SIGTERM) != before[0]
        thread = threading.enumerate()[-1]
    thread.join(5)
    now = signal.getsignal(signal.SIGTERM), threading.active_count()
    assert now == before
    assert signal.set_wakeup_fd(-1) == -1


def test_alone_nothing_changes(tmp_path: Path) -> None:
    said: list[object] = []
    with process_group(tmp_path / "x", "cuda:7", report=said.append) as (
        strategy,
        device,
    ):
        assert (strategy, device) == (SINGLE_PROCESS, "cuda:7")
    with (
        pytest.raises(ValueError, match="a reason"),
        process_group(tmp_path / "x", report=said.append),
    ):
        raise ValueError("a reason")
    with (
        pytest.raises(
            ValueError, match=r"^sharded: wanted torchrun, got one process$"
        ),
        process_group(tmp_path / "x", sharded=True, report=said.append),
    ):
        pass
    assert said == []


class Exited(BaseException):
    """Stands for the end of the process: nothing in it runs any more."""


class FakeGroup:
    """A process group in which other processes are waited for.

    Attributes:
        log: What was done to it, and to the process.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
        self.log: list[Any] = []
        self.hangs = threading.Event()  # once set, an abort returns
        self.hangs.set()
        store = dist.HashStore()
        info = RankInfo(0, 2, 0, 2)
        cpu = torch.device("cpu")
        for where, name, fake in (
            (failures, "get_rank_info", lambda environment: info),
            (failures, "rendezvous", lambda *_, **__: iter([(store, 0, 2)])),
            (failures, "device_of_rank", lambda *_: cpu),
            (failures, "_init_process_group", lambda *_: SINGLE_PROCESS),
            (failures, "_ABORT_TIMEOUT", 0.1),
            (dist, "is_initialized", lambda: True),
            (dist, "get_backend", lambda: backend),
            (dist, "destroy_process_group", partial(self.log.append, "end")),
            (os, "_exit", self.exit),
        ):
            monkeypatch.setattr(where, name, fake)
        monkeypatch.setattr(type(dist.group), "WORLD", self, raising=False)

    def abort(self) -> None:
        self.log.append("abort")
        self.hangs.wait(10)

    def exit(self, status: int) -> None:
        self.log.append(status)
        raise Exited


def test_processes_meet_at_the_store_they_came_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not at one that PyTorch would make of what the environment says."""
    meet = create_autospec(dist.init_process_group)
    monkeypatch.setattr(dist, "init_process_group", meet)
    monkeypatch.setattr(rendezvous, "DataParallel", lambda _: SINGLE_PROCESS)
    store, cpu = dist.HashStore(), torch.device("cpu")
    info = RankInfo(1, 4, 0, 2)
    rendezvous._init_process_group(cpu, info, store, sharded=False)
    meet.assert_called_once_with(
        "gloo",
        store=store,
        rank=1,
        world_size=4,
        timeout=TIMEOUT,
        device_id=None,
    )


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch) -> FakeGroup:
    return FakeGroup(monkeypatch, "nccl")


@pytest.mark.parametrize(
    ("error", "said", "status"),
    [
        (ValueError("wrong"), ["wrong"], 1),
        (dist.DistBackendError("NCCL error"), [LOST], 1),
        (KeyboardInterrupt(), [], 130),
        (TypeError("a bug"), [], 1),
    ],
)
def test_who_fails_with_nccl_aborts_and_ends_at_once(
    nccl: FakeGroup,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    said: list[str],
    status: int,
) -> None:
    found: list[object] = []
    with (
        pytest.raises(Exited),
        process_group(tmp_path / "m", report=found.append),
    ):
        raise error
    assert nccl.log == ["abort", status]  # and the group is not destroyed
    assert found == [x.format(out=tmp_path / "m", step=0) for x in said]
    traceback = capsys.readouterr().err
    assert traceback.endswith("TypeError: a bug\n" * (str(error) == "a bug"))
    assert ("Traceback" in traceback) == (str(error) == "a bug")


def test_an_abort_that_hangs_is_not_waited_for(
    nccl: FakeGroup, tmp_path: Path
) -> None:
    nccl.hangs.clear()
    start = time.monotonic()
    with (
        pytest.raises(Exited),
        process_group(tmp_path / "m", report=str),
    ):
        raise ValueError("wrong")
    assert time.monotonic() - start < 5
    assert nccl.log == ["abort", 1]
    nccl.hangs.set()


def test_nccl_ends_well_as_any_other(nccl: FakeGroup, tmp_path: Path) -> None:
    with process_group(tmp_path / "m", report=str):
        assert nccl.log == []
    assert nccl.log == ["end"]


def test_gloo_is_not_aborted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gloo = FakeGroup(monkeypatch, "gloo")
    for error, wanted in (
        (ValueError("wrong"), SystemExit),
        (TypeError("a bug"), TypeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):
        with (
            pytest.raises(wanted),
            process_group(tmp_path / "m", report=str),
        ):
            raise error
    assert gloo.log == []


def test_a_file_that_not_all_can_see(tmp_path: Path) -> None:
    class Three(ParallelStrategy):
        size = 3
        others = 0

        def reduce(self, number: torch.Tensor) -> torch.Tensor:
            return number + self.others

    strategy = Three()
    out = tmp_path / "model"
    cpu = torch.device("cpu")
    assert not exists_on_all_ranks(out, strategy, cpu)
    out.touch()
    for strategy.others in 0, 1:
        n = strategy.others + 1
        with pytest.raises(
            ValueError, match=f"^{out}: only {n} of 3 processes see this file"
        ):
            exists_on_all_ranks(out, strategy, cpu)
    strategy.others = 2
    assert exists_on_all_ranks(out, strategy, cpu)


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., list[str]]:
    """The command's train, on a corpus of its own; more options follow."""
    pairs = make_split(n_train=200, n_test=5).train
    text = "\n".join("\t".join(pair) for pair in pairs)
    (tmp_path / "corpus.tsv").write_text(text, "utf-8")
    options = "--d-model 16 --n-layers 1 --n-heads 2 --vocab-size 300"
    options += " --batch-tokens 300 --max-steps 6 --save-every 2"
    options += " --accumulation-steps 6 --device cpu"

    def arguments(out: Path, *more: str) -> list[str]:
        train = ["train", str(out), "--corpus", str(tmp_path / "corpus.tsv")]
        return [*train, *options.split(), *more]

    return arguments


def test_a_run_loses_a_process_and_the_same_command_resumes(
    tmp_path: Path, command: Callable[..., list[str]]
) -> None:
    """With shards under torchrun; copies, and more ways to end, are above."""
    from attention_book import cli

    alone = tmp_path / "alone"
    out = tmp_path / "model"
    found = CliRunner().invoke(cli.app, command(alone))
    assert found.exit_code == 0, found.output
    options = command(out, "--sharded")
    killed = torchrun(3, SCRIPT, "train", 1, 3, *options)
    assert killed.returncode != 0
    line = "attention-book: " + LOST.format(out=out, step=2)
    ours = [line for line in killed.stderr.split("\n") if str(out) in line]
    assert ours == [line]
    assert "attention_book" not in killed.stderr  # no traceback of ours
    assert killed.stdout.count("step 2 ") == 1
    assert shards_folder(out).exists()
    run = torchrun(2, "-m", "attention_book.cli", *options)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(f"{out}: going on from step 2\n") == 1
    assert run.stdout.count(f"{out}: done; try: ") == 1
    assert "attention-book:" not in run.stderr
    assert not shards_folder(out).exists()
    wanted, got = (read_tensors(path)[0]["losses"] for path in (alone, out))
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    unseen = [
        re.findall(r"unseen (\S+)", o) for o in (found.output, run.stdout)
    ]
    assert unseen[0][-2:] == unseen[1]


def test_options_that_do_not_fit(
    tmp_path: Path, command: Callable[..., list[str]]
) -> None:
    from attention_book import cli

    out = tmp_path / "model"
    found = CliRunner().invoke(cli.app, command(out, "--sharded"))
    message = "sharded: wanted torchrun, got one process"
    assert str(found.exception) == message
    broken = CliRunner(env={"RANK": "0"})
    found = broken.invoke(cli.app, command(out))
    assert str(found.exception).startswith("WORLD_SIZE: wanted what torchrun")
    options = command(out, "--accumulation-steps", "3")
    run = torchrun(2, "-m", "attention_book.cli", *options)
    assert run.returncode != 0
    wanted = (
        "accumulation_steps must be a multiple of the number of processes, "
        "2, got 3"
    )
    assert run.stderr.count(f"attention-book: {wanted}\n") == 1
    assert not out.exists()
