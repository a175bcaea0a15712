"""Training on a GPU: as on the CPU, and without waiting for it more than once.

None of this was run on a card by us; on the CPU all runs but what is about
CUDA alone.
"""

import copy
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from attention_book import Trainer, TrainingConfig, TranslationBatches
from attention_book.compute import get_compute_config
from attention_book.data.digits import Digits
from attention_book.profiling.timing import measure_roofline, median_time
from attention_book.training.chunked_loss import (
    chunked_translation_loss,
)
from attention_book.training.classifiers import ImageBatches
from attention_book.training.loading import make_batch
from tests.factories import make_examples, make_transformer


CONFIG = TrainingConfig(
    max_steps=8, batch_tokens=40, warmup_steps=2, accumulation_steps=2
)


@contextmanager
def count_waits(counts: list[int]) -> Iterator[None]:
    """Append how often the CPU waits for the GPU."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
    said = [str(warning.message) for warning in found]
    counts.append(sum("synchronizing CUDA" in text for text in said))


def make_trainer(device: torch.device) -> Trainer:
    model = make_transformer().to(device)
    batches = TranslationBatches(make_examples(17), CONFIG, device)
    return Trainer(model, batches, CONFIG, chunked_translation_loss)


def test_the_losses_are_those_of_the_cpu(device: torch.device) -> None:
    there, here = make_trainer(device), make_trainer(torch.device("cpu"))
    for _ in range(5):
        assert there.step() == pytest.approx(here.step(), abs=2e-3)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_a_step_waits_once(device: torch.device) -> None:
    trainer = make_trainer(device)
    for _ in range(2):  # kernels are loaded, memory is taken
        trainer.step()
    counts: list[int] = []
    with count_waits(counts):
        trainer.step()
    assert counts == [1]


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_making_batches_waits_for_nothing(device: torch.device) -> None:
    images = torch.rand(50, 1, 8, 8, device=device)
    labels = torch.arange(50, device=device)
    batches = ImageBatches(Digits(images, labels), batch_size=16)
    examples = make_examples(6)
    batches[0]
    make_batch(examples, device)
    counts: list[int] = []
    with count_waits(counts):
        for number in range(1, 8):  # into the next epoch
            batches[number]
        make_batch(examples, device)
    assert counts == [0]


def test_a_batch_arrives_as_it_was(device: torch.device) -> None:
    examples = make_examples(6)
    there = make_batch(examples, device)
    here = make_batch(examples, torch.device("cpu"))
    assert there.source.device.type == device.type
    assert torch.equal(there.source.cpu(), here.source)
    assert torch.equal(there.target_lengths.cpu(), here.target_lengths)
    for one, other in (
        (there.source_layout, here.source_layout),
        (there.target_layout, here.target_layout),
    ):
        assert torch.equal(one.mask.cpu(), other.mask)
        assert torch.equal(one.indices.cpu(), other.indices)


def test_times_are_those_of_the_clock(device: torch.device) -> None:
    compute = get_compute_config(device, "fp32")
    x = torch.randn(512, 512, device=device)
    median_time(lambda: x @ x, compute, 1, 3)
    before = time.perf_counter()
    found = 200 * median_time(lambda: x @ x, compute, 1, 200)
    assert 0.2 < found / (time.perf_counter() - before) < 1.05


def test_the_roofline_is_that_of_a_machine(device: torch.device) -> None:
    compute = get_compute_config(device, "fp32")
    roofline = measure_roofline(compute, width=256)
    assert 1e8 < roofline.n_bytes < 1e14
    assert 1e8 < roofline.flops < 1e16


def test_training_goes_on_where_it_stopped(device: torch.device) -> None:
    """What was made ahead is not missed, nor in the way."""
    whole = make_trainer(device)
    for _ in range(2):
        whole.step()
    cut = make_trainer(device)
    cut.model.load_state_dict(copy.deepcopy(whole.model.state_dict()))
    cut.optimizer.load_state_dict(copy.deepcopy(whole.optimizer.state_dict()))
    cut.load_state_dict(whole.state_dict())
    for _ in range(3):
        assert cut.step() == pytest.approx(whole.step(), abs=1e-5)


FAILING = """
import sys
import torch
from attention_book.training.distributed import process_group
with process_group("cuda") as (s, device):
    s.reduce(torch.zeros(1, device=device)).item()
    if s.rank == 0:
        x = torch.zeros(1, device=device)  # a collective is under way
        torch.distributed.all_reduce(x, async_op=True)
        raise ValueError("wrong here")
    s.reduce(torch.zeros(1, device=device)).item()
    s.reduce(torch.zeros(1, device=device)).item()  # waits for the first
"""


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_a_failure_ends_all_processes(
    device: torch.device, tmp_path: Path
) -> None:
    """As many processes as there are cards, joined by NCCL."""
    for name in ("jaxtyping", "safetensors"):
        if getattr(sys.modules.get(name), "__spec__", None) is None:
            pytest.skip(f"{name} is not installed")
    script = tmp_path / "script.py"
    script.write_text(FAILING)
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    n = f"--nproc-per-node={torch.cuda.device_count()}"
    run = subprocess.run(
        [*start, n, str(script)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,  # not the ten minutes of NCCL's watchdog
    )
    assert run.returncode != 0
    assert "wrong here" in run.stderr.partition("Root Cause")[2]
