"""attention_book.training.distributed: processes begin, agree, save and end."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from typer.testing import CliRunner

from attention_book.data.split import make_split
from attention_book.io.progress import load_checkpoint
from attention_book.io.tensors import read_tensors
from attention_book.training import SINGLE_PROCESS
from attention_book.training.distributed import (
    check_agreement,
    device_of_rank,
    process_group,
)
from tests.ranks import SCRIPT, Found, gap, run_jobs, torchrun
from tests.ranks_worker import KINDS, load, make_trainer, save


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def two(folder: Path) -> Found:
    jobs = ["saved,plain", "saved,tied", "agree"]
    return run_jobs(folder, 2, "parallel+sharded", *jobs)


@pytest.fixture(scope="module")
def saved(folder: Path, two: Found) -> list[Path]:
    found = sorted(folder.glob("*-[05]"))
    assert len(found) == 2 * 2 * 2
    return found


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


@pytest.mark.slow
@pytest.mark.usefixtures("two")
def test_any_number_of_processes_resumes_from_any_checkpoint(
    folder: Path, saved: list[Path]
) -> None:
    for kind in KINDS:
        save(folder / f"one-{kind}-0", make_trainer(**KINDS[kind]))
    for process in run_jobs(folder, 3, "parallel+sharded", "resumed"):
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
        assert again.keys() == tensors.keys()
        assert all(torch.equal(again[k], tensors[k]) for k in tensors)


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
        pytest.param("bug", "TypeError: a bug", marks=pytest.mark.slow),
        pytest.param("error", "ValueError: wrong", marks=pytest.mark.slow),
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


@pytest.mark.slow
def test_a_checkpoint_that_was_cut_short_leaves_the_old_one(
    tmp_path: Path,
) -> None:
    run = torchrun(2, SCRIPT, tmp_path, "sharded", "cut_short")
    assert run.returncode != 0
    assert "SIGKILL" in run.stderr
    assert [*tmp_path.glob("model.*.part")]
    trainer = make_trainer()
    load(tmp_path / "model", trainer)
    assert len(trainer.losses) == 1


def test_a_lost_peer_is_told_from_a_bug(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in "RANK", "WORLD_SIZE":
        monkeypatch.setenv(name, "0" if name == "RANK" else "1")
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
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device=None: (9, 0)
    )
    for wanted in "auto", "cuda":
        for rank in 0, 1:
            device = device_of_rank(wanted, rank)
            assert device == torch.device("cuda", rank)
    assert device_of_rank("cpu", 4) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"wanted cuda:2, .* finds 2 of cuda"):
        device_of_rank("auto", 2)
    with pytest.raises(
        ValueError,
        match=r"^device: processes that share the work take auto, cpu or "
        r"cuda, and each its own, got 'cuda:1'$",
    ):
        device_of_rank("cuda:1", 0)


def test_a_device_that_can_not_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of_rank("auto", 0) == torch.device("cpu")
    with pytest.raises(ValueError, match=r"take auto, cpu or .* got 'mps'"):
        device_of_rank("mps", 0)
    with pytest.raises(ValueError, match="device: wanted cuda, but "):
        device_of_rank("cuda", 0)


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
    from attention_book.cli.app import app

    alone = tmp_path / "alone"
    out = tmp_path / "model"
    found = CliRunner().invoke(app, command(alone))
    assert found.exit_code == 0, found.output
    options = command(out, "--sharded")
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


@pytest.mark.slow
def test_options_that_do_not_fit(
    tmp_path: Path, command: Callable[..., list[str]]
) -> None:
    out = tmp_path / "model"
    options = command(out, "--accumulation-steps", "3")
    run = torchrun(2, "-m", "attention_book", *options)
    assert run.returncode != 0
    wanted = (
        "accumulation_steps must be a multiple of the number of processes, "
        "2, got 3"
    )
    assert f"attention-book: {wanted}\n" in run.stderr
    assert wanted in run.stderr.partition("Root Cause")[2]
    assert not out.exists()
