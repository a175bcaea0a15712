"""attention_book.scale_out in real processes, against one process."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from typer.testing import CliRunner

from attention_book import command_line, scale_out
from attention_book.checkpoints import (
    load_checkpoint,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from attention_book.corpus import SPECIAL_TOKENS, WordTokenizer, make_split
from attention_book.processes import (
    ErrorReporter,
    RankInfo,
    exists_on_all_ranks,
    get_rank_info,
    joined,
    keep,
    listening,
    load_shards,
    newest_shards,
    resume,
    steps_saved,
)
from attention_book.processes.failures import is_peer_failure
from attention_book.processes.rendezvous import RANK_VARS
from attention_book.processes.shards import digest_of, shards_of, tensors_of
from attention_book.scale_out import (
    DataParallel,
    device_of_rank,
    validation_loss,
)
from attention_book.training import (
    SINGLE_PROCESS,
    ParallelStrategy,
    Trainer,
    TrainingConfig,
    validation_loss,
)
from attention_book.transformer import Transformer, TransformerConfig


ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests/ranks_example.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
SOURCE = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET = WordTokenizer([*SPECIAL_TOKENS, *"abcdefgh"])
WAYS = ["whole", "parts", "kept"]
TEAMS = [("parallel", 2), ("parallel", 3), ("sharded", 2), ("sharded", 3)]
KINDS = ["plain", "tied", "rotary"]
BEGUN: list[list[Any]] = [
    ["all parallel 2", "parallel", 2, ["compare", *KINDS], ["save", "kept"]],
    ["all sharded 2", "sharded", 2, ["save", "whole", "parts"]],
    ["all none 0", "none", 0, ["compare", *KINDS], ["continued", *WAYS]],
    ["all parallel 3", "parallel", 3, ["compare", *KINDS]],
    ["all sharded 3", "sharded", 3, ["compare", "plain"]],
]
BEGUN[0] += [["half"], ["deal", "6"], ["differ", "nothing"]]
BEGUN[1] += [["compare", *KINDS], ["half"], ["kept"]]
BEGUN[2] += [["kept"], ["deal", "6"]]
BEGUN[3] += [["continued", *WAYS], ["deal", "6"]]
BEGUN[4] += [["continued", *WAYS]]
ENDED: list[list[Any]] = [
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
PLAN = BEGUN + ENDED
Reports = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def reports(place: Path) -> Reports:
    """What came of each run of the plan."""
    (place / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    done = subprocess.run(
        [sys.executable, SCRIPT, place],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["name"] for report in found] == [name for name, *_ in PLAN]
    return {report["name"]: report for report in found}


def found_in(reports: Reports, name: str, job: str) -> list[dict[str, Any]]:
    """What each process found, all being well."""
    report = reports[f"all {name}"]
    assert set(report["codes"]) == {0}, report["errors"]
    assert set(report["errors"]) == {""}
    return [process[job] for process in report["found"]]


def gap(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


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


@pytest.mark.parametrize(("kind", "n"), TEAMS)
def test_however_many_processes_it_is_the_same_training(
    reports: Reports, kind: str, n: int
) -> None:
    (alone,) = found_in(reports, "none 0", "compare")
    strategy = found_in(reports, f"{kind} {n}", "compare")
    assert len(strategy) == n
    for name in strategy[0]:
        wanted = alone[name]
        for found in (process[name] for process in strategy):
            assert wanted["gradients"].keys() == found["gradients"].keys()
            for parameter, gradient in wanted["gradients"].items():
                assert gap(gradient, found["gradients"][parameter]) < 1e-6
                assert max(map(abs, gradient)) > 0
            assert gap(wanted["losses"], found["losses"]) < 1e-5
            assert abs(wanted["unseen"] - found["unseen"]) < 1e-5
            assert abs(wanted["after"] - found["after"]) < 1e-5
            assert_same_numbers(wanted["numbers"], found["numbers"])


def test_who_shards_holds_a_part_and_who_copies_the_whole(
    reports: Reports,
) -> None:
    (alone,) = found_in(reports, "none 0", "compare")
    for kind, n in TEAMS:
        strategy = found_in(reports, f"{kind} {n}", "compare")
        for name in strategy[0]:
            whole = alone[name]
            held = [process[name]["held"] for process in strategy]
            if kind == "parallel":
                assert held == [whole["held"]] * n
            else:  # not all can be cut evenly, and the steps are not cut
                assert sum(held) >= whole["held"]
                assert max(held) < 1.1 * whole["held"] / n


@pytest.mark.parametrize("name", ["none 0", "parallel 3", "sharded 3"])
def test_any_number_of_processes_goes_on_from_any_checkpoint(
    reports: Reports, name: str
) -> None:
    (alone,) = found_in(reports, "none 0", "continued")
    whole = Trainer(*a_recipe_of_the_script())
    losses = [whole.step() for _ in range(8)]
    for saved in "parallel 2", "sharded 2":
        for process in found_in(reports, saved, "save"):
            assert gap(process["losses"], losses[:5]) < 1e-5
    for process in found_in(reports, name, "continued"):
        assert list(process) == WAYS
        for way, found in process.items():
            assert found["start"] == 5
            assert gap(found["losses"], losses[5:]) < 1e-5
            assert found["numbers"] == alone[way]["numbers"]  # exactly


def a_recipe_of_the_script() -> tuple[Any, ...]:
    from tests.ranks_example import CONFIG, SIZES, some_examples

    torch.manual_seed(1)
    model = Transformer(TransformerConfig(**SIZES))
    return model, some_examples(), CONFIG


def test_what_lies_on_the_disk_while_training(reports: Reports) -> None:
    (alone,) = found_in(reports, "none 0", "kept")
    assert alone["found"] == [["m"]] * 4
    parts = [f"shard-0000{i}-model-00001-of-00001.safetensors" for i in (1, 2)]
    for process in found_in(reports, "sharded 2", "kept"):
        first, *under_way, last = process["found"]
        assert first == last == ["m"]
        for number, found in enumerate(under_way, 1):
            folder = f"m.shards/step-00000{number}"
            names = [f"{folder}/{name}" for name in ("progress", *parts)]
            assert found == ["m", *names]


@pytest.mark.parametrize("kind", ["parallel", "sharded"])
def test_the_scale_of_fp16_is_saved(reports: Reports, kind: str) -> None:
    for process in found_in(reports, f"{kind} 2", "half"):
        assert process["scale"] == 512
        one, other = process["next"]
        assert one == other < process["losses"][0]


def test_each_batch_goes_to_exactly_one_process(reports: Reports) -> None:
    (alone,) = found_in(reports, "none 0", "deal")
    batches = alone["seen"]
    assert len(batches) == 6 * alone["n"]  # six passes
    counted = Counter(word for batch in batches for word in batch)
    assert counted == dict.fromkeys(range(3, 34), 6)
    for size in 2, 3:
        strategy = found_in(reports, f"parallel {size}", "deal")
        for rank, process in enumerate(strategy):
            assert process["seen"] == batches[rank::size]


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
    place: Path, reports: Reports, name: str
) -> None:
    report = reports[name]
    assert_ended(report, 3, -signal.SIGKILL)
    line = LOST.format(out=place / name / "model", step=2)
    assert said_in(report) == [line]


def test_an_error_of_one_ends_all_and_is_said_once(reports: Reports) -> None:
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


def test_told_to_stop_while_waiting(place: Path, reports: Reports) -> None:
    report = reports["stop"]
    assert report["codes"] == [128 + signal.SIGTERM] * 2
    line = LOST.format(out=place / "stop/model", step=0)
    assert said_in(report) == [line]


@pytest.mark.parametrize("how", ["full", "kill"])
def test_a_half_written_part_is_no_checkpoint(
    place: Path, reports: Reports, how: str
) -> None:
    report = reports[f"cut-{how}"]
    out = place / f"cut-{how}/model"
    assert_ended(report, 2, *([-signal.SIGKILL] if how == "kill" else []))
    (said,) = said_in(report)
    folder = f"{out}.shards/step-000002"
    full = f"{folder}: could not be written: no space left"
    assert said == (full if how == "full" else LOST.format(out=out, step=1))
    assert any("step-000002.part" in path for path in report["left"])
    found = newest_shards(out)
    assert found == (1, shards_of(out) / "step-000001")
    trainer = Trainer(*a_recipe_of_the_script())
    resume(out, trainer)
    assert len(trainer.losses) == 1
    keep(out, trainer, SOURCE, TARGET)
    assert not shards_of(out).exists()
    assert steps_saved(out) == 1


@pytest.fixture(scope="module")
def parts(place: Path, reports: Reports) -> Path:
    found_in(reports, "sharded 2", "save")
    return place / "all/parts.shards/step-000005"


def copy_of(folder: Path, place: Path) -> Path:
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


def assert_refused(folder: Path, trainer: Trainer, message: str) -> None:
    before = {k: t.clone() for k, t in tensors_of(trainer).items()}
    with pytest.raises((ValueError, OSError), match=message):
        load_shards(folder, trainer)
    assert trainer.losses == []
    for name, tensor in tensors_of(trainer).items():
        assert torch.equal(tensor, before[name])


def test_altered_or_foreign_parts_are_refused(
    parts: Path, tmp_path: Path
) -> None:
    folder = copy_of(parts, tmp_path)
    model, examples, config = a_recipe_of_the_script()
    trainer = Trainer(model, examples, config)
    shard = folder / "shard-00002-model-00001-of-00001.safetensors"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert_refused(folder, trainer, f"^{shard}: altered$")
    shard.unlink()
    assert_refused(folder, trainer, "shard-00002")
    shard.write_bytes(whole)
    other = Trainer(model, examples, replace(config, seed=1))
    assert_refused(folder, other, f"^{folder}: made with config seed = 0")
    other = Trainer(model, examples[1:], config)
    assert_refused(folder, other, "made with corpus digest")
    (folder / "progress").write_bytes(b"x")
    assert_refused(folder, trainer, "wanted a whole safetensors file")
    copy_of(parts, folder)
    load_shards(folder, trainer)
    assert len(trainer.losses) == 5


def test_the_file_of_a_team_is_the_file_of_one(
    place: Path, reports: Reports
) -> None:
    found_in(reports, "parallel 2", "save")
    for way in "whole", "kept":
        tensors, notes = read_tensors(place / "all" / way)
        trainer = Trainer(*a_recipe_of_the_script())
        load_checkpoint(place / "all" / way, trainer)
        own = place / "all" / f"{way}-alone"
        save_checkpoint(own, trainer, SOURCE, TARGET)
        again, notes_again = read_tensors(own)
        assert notes_again == notes
        assert again.keys() == tensors.keys()
        assert all(torch.equal(again[k], tensors[k]) for k in tensors)


def test_unseen_loss_is_held_out_loss() -> None:
    model, examples, config = a_recipe_of_the_script()
    trainer = Trainer(model, examples, config)
    for training in True, False:
        model.train(training)
        found = validation_loss(trainer, examples[:7])
        assert model.training == training
        wanted = validation_loss(model, examples[:7], config)
        assert found == pytest.approx(wanted, rel=1e-5)


def test_the_steps_that_are_saved(tmp_path: Path) -> None:
    out = tmp_path / "model"
    assert steps_saved(out) == 0
    assert newest_shards(out) is None
    for name in "step-000004.part", "step-x", "other":
        (shards_of(out) / name).mkdir(parents=True)
    assert newest_shards(out) is None
    out.write_bytes(b"no checkpoint")
    assert steps_saved(out) == 0
    write_tensors(out, {"x": torch.zeros(2)}, {})
    assert steps_saved(out) == 0
    write_tensors(out, {"losses": torch.zeros(6)}, {})
    for steps in 5, 1_000_007, 12:
        (shards_of(out) / f"step-{steps:06}").mkdir()
        assert steps_saved(out) == max(6, newest_shards(out)[0])  # type: ignore[index]
    assert newest_shards(out) == (1_000_007, shards_of(out) / "step-1000007")


GIVEN = {
    "RANK": "3",
    "WORLD_SIZE": "6",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}


def test_the_seat_that_torchrun_gives() -> None:
    assert get_rank_info(GIVEN) == RankInfo(3, 6, 1, 2)
    assert get_rank_info({"MASTER_ADDR": "elsewhere", "PATH": "x"}) is None


@pytest.mark.parametrize("name", GIVEN)
def test_a_seat_of_which_something_is_missing(name: str) -> None:
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
def test_a_seat_that_makes_no_sense(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        get_rank_info(GIVEN | changes)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this machine had two GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device=None: (9, 0)
    )


def test_each_process_has_a_gpu_of_its_own(gpus: None) -> None:
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
def two_voices() -> tuple[list[str], ErrorReporter, ErrorReporter]:
    said: list[str] = []
    store = dist.HashStore()
    return (
        said,
        ErrorReporter(store, said.append),
        ErrorReporter(store, said.append),
    )


def test_one_voice_speaks_for_all(
    two_voices: tuple[list[str], ErrorReporter, ErrorReporter],
) -> None:
    said, one, other = two_voices
    one.complain("this")
    other.complain("this")
    other.complain("that")
    one.mourn("over")
    other.mourn("over")
    assert said == ["this", "that"]


def test_the_end_is_said_once(
    two_voices: tuple[list[str], ErrorReporter, ErrorReporter],
) -> None:
    said, one, other = two_voices
    other.mourn("over")
    one.mourn("over")
    one.complain("this")  # comes late, but is the cause
    assert said == ["over", "this"]


def test_a_voice_whose_store_is_gone() -> None:
    class Gone:
        def add(self, key: str, n: int) -> int:
            raise RuntimeError("connection refused")

    said: list[str] = []
    ErrorReporter(Gone(), said.append).mourn("over")
    ErrorReporter(Gone(), said.append).complain("this")
    assert said == ["over", "this"]


def test_losses_are_told_from_bugs() -> None:
    gloo = "[/x/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection c"
    assert is_peer_failure(RuntimeError(gloo))
    assert is_peer_failure(dist.DistBackendError("NCCL error"))
    assert is_peer_failure(dist.DistNetworkError("failed to recv"))
    assert not is_peer_failure(RuntimeError("mat1 and mat2"))


def test_listening_leaves_all_as_it_was() -> None:
    before = signal.getsignal(signal.SIGTERM), threading.active_count()
    with listening(lambda: None):
        assert signal.getsignal(signal.SIGTERM) != before[0]
        thread = threading.enumerate()[-1]
    thread.join(5)
    now = signal.getsignal(signal.SIGTERM), threading.active_count()
    assert now == before
    assert signal.set_wakeup_fd(-1) == -1


def test_alone_nothing_changes(tmp_path: Path) -> None:
    said: list[object] = []
    with joined(tmp_path / "x", "cuda:7", say=said.append) as (
        strategy,
        device,
    ):
        assert (strategy, device) == (SINGLE_PROCESS, "cuda:7")
    with (
        pytest.raises(ValueError, match="a reason"),
        joined(tmp_path / "x", say=said.append),
    ):
        raise ValueError("a reason")
    with (
        pytest.raises(
            ValueError, match=r"^sharded: wanted torchrun, got one process$"
        ),
        joined(tmp_path / "x", sharded=True, say=said.append),
    ):
        pass
    assert said == []


def test_a_file_that_not_all_can_see(tmp_path: Path) -> None:
    class Three(ParallelStrategy):
        size = 3
        others = 0

        def sum(self, number: torch.Tensor) -> torch.Tensor:
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
    options = "--d-model 16 --layers 1 --heads 2 --subwords 300 --tokens 300"
    options += " --steps 6 --save-every 2 --accumulation_steps 6 --device cpu"

    def whole(out: Path, *more: str) -> list[str]:
        start = ["train", str(out), "--corpus", str(tmp_path / "corpus.tsv")]
        return [*start, *options.split(), *more]

    return whole


def torchrun(n: int, *what: object) -> subprocess.CompletedProcess[str]:
    """What torchrun runs, in n processes."""
    run = ["-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [sys.executable, *run, f"--nproc-per-node={n}", *map(str, what)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("sharded", "sizes"), [(False, (2, 3)), (True, (3, 2))]
)
def test_a_run_loses_a_process_and_the_same_command_goes_on(
    tmp_path: Path,
    command: Callable[..., list[str]],
    sharded: bool,
    sizes: tuple[int, int],
) -> None:
    alone = tmp_path / "alone"
    out = tmp_path / "model"
    found = CliRunner().invoke(command_line.app, command(alone))
    assert found.exit_code == 0, found.output
    options = command(out, *(["--sharded"] if sharded else []))
    killed = torchrun(sizes[0], SCRIPT, "train", 1, 3, *options)
    assert killed.returncode != 0
    line = "attention-book: " + LOST.format(out=out, step=2)
    ours = [line for line in killed.stderr.split("\n") if str(out) in line]
    assert ours == [line]
    assert "attention_book" not in killed.stderr  # no traceback of ours
    assert killed.stdout.count("step 2 ") == 1
    assert shards_of(out).exists() == sharded
    run = torchrun(sizes[1], "-m", "attention_book.command_line", *options)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(f"{out}: going on from step 2\n") == 1
    assert run.stdout.count(f"{out}: done; try: ") == 1
    assert "attention-book:" not in run.stderr
    assert not shards_of(out).exists()
    wanted, got = (read_tensors(path)[0]["losses"] for path in (alone, out))
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    unseen = [
        re.findall(r"unseen (\S+)", o) for o in (found.output, run.stdout)
    ]
    assert unseen[0][-2:] == unseen[1]


def test_options_that_do_not_fit(
    tmp_path: Path, command: Callable[..., list[str]]
) -> None:
    out = tmp_path / "model"
    runner = CliRunner()
    for more, message in (
        (["--sharded"], "sharded: wanted torchrun, got one process"),
    ):
        found = runner.invoke(command_line.app, command(out, *more))
        assert str(found.exception) == message
    broken = CliRunner(env={"RANK": "0"})
    found = broken.invoke(command_line.app, command(out))
    assert str(found.exception).startswith("WORLD_SIZE: wanted what torchrun")
    run = torchrun(
        2,
        "-m",
        "attention_book.command_line",
        *command(out, "--accumulation_steps", "3"),
    )
    assert run.returncode != 0
    wanted = "accumulation_steps must be a multiple of the number of processes, 2, got"
    assert run.stderr.count(f"attention-book: {wanted} 3\n") == 1
    assert not out.exists()


def test_a_team_counts_its_batches() -> None:
    class Pair(DataParallel):
        def __init__(self) -> None:
            self.rank = 0
            self.size = 2

    with pytest.raises(
        ValueError,
        match=r"^accumulation_steps must be a multiple of the number of processes, "
        r"2, got 3$",
    ):
        Pair().check(TrainingConfig(accumulation_steps=3))
    Pair().check(TrainingConfig(accumulation_steps=4))
    SINGLE_PROCESS.check(TrainingConfig(accumulation_steps=3))


def test_digests_are_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert digest_of(path).startswith("ba7816bf8f01cfea")
    assert scale_out.NOTES not in {"x"}
