"""What your machine can do, in one table: nox -s bench

The roofline in each precision, attention by kernel and length, a training step
of the paper's base model, greedy decoding with and without captured steps,
ViT-S/16, and the base shape beside Marian. A training step is the Trainer's:
it makes the batch, carries it to the device, clips and updates. Its utilisation
is of the measured roofline; the MFU is of the peak that the maker gives, where
that is known. On the CPU the sizes are small; on a GPU, large. --device cpu
measures the CPU beside a GPU; --dry-run only shows that all runs. What is found
goes to results/ under the device's name, as JSON.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    generate,
)
from attention_book.attention.fused import fused_attention
from attention_book.compute import (
    ComputeConfig,
    Kernel,
    Precision,
    compute_context,
    get_compute_config,
    inference_copy,
)
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.models.config import ViTConfig
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.models.vit import ViT
from attention_book.profiling.roofline import Roofline, transformer_flops
from attention_book.profiling.timing import measure_roofline, median_time
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.training.chunked_loss import chunked_translation_loss
from attention_book.training.loading import Batch, Example, make_batch
from benchmarks.sidebyside import (
    device_name,
    introduce,
    keep,
    report,
    side_by_side,
)
from benchmarks.training import BASE, Shape, book, marian
from benchmarks.training import VOCAB_SIZE as SHAPE_VOCAB_SIZE


VOCAB_SIZE = 37_000
BASE_MODEL = TransformerConfig(
    source_vocab_size=VOCAB_SIZE,
    target_vocab_size=VOCAB_SIZE,
    share_embeddings=True,
)
VIT_SMALL = ViTConfig(d_model=384, n_heads=6, d_ff=1536)


class Sizes(NamedTuple):
    """How large is what is measured."""

    product_width: int  # of a square matrix
    attention_lengths: tuple[int, ...]
    training_rows: int
    decoding_rows: tuple[int, ...]
    vision_rows: int
    rows_beside: int
    length: int = 64  # of sentences, in tokens
    rounds: int = 5
    model: TransformerConfig = BASE_MODEL
    vit: ViTConfig = VIT_SMALL
    shape: Shape = BASE  # beside Marian's


ON_GPU = Sizes(8192, (1024, 4096, 16_384), 256, (1, 32, 256), 256, 128)
ON_CPU = Sizes(1024, (512, 1024, 2048), 8, (1, 8), 8, 4)
DRY_RUN = Sizes(
    *(16, (8,), 2, (2,), 1, 2),
    length=5,
    rounds=1,
    model=replace(BASE_MODEL, d_model=16, n_heads=2, d_ff=32, n_layers=1),
    vit=ViTConfig(image_size=32, d_model=16, n_heads=2, d_ff=32, n_layers=1),
    shape=Shape(16, 2, 32, 1, 2),
)


# Trillions of operations a second in dense products, by NVIDIA's data sheets,
# where those with sparsity are twice as many. The first name that fits counts.
PEAKS: dict[str, dict[Precision, float]] = {
    "B200": {"bf16": 2250, "fp16": 2250, "tf32": 1100, "fp32": 75},
    "H200 NVL": {"bf16": 835, "fp16": 835, "tf32": 418, "fp32": 60},
    "H200": {"bf16": 989, "fp16": 989, "tf32": 494, "fp32": 67},
    "H100 NVL": {"bf16": 835, "fp16": 835, "tf32": 418, "fp32": 60},
    "H100 PCIe": {"bf16": 756, "fp16": 756, "tf32": 378, "fp32": 51},
    "H100": {"bf16": 989, "fp16": 989, "tf32": 494, "fp32": 67},
    "A100": {"bf16": 312, "fp16": 312, "tf32": 156, "fp32": 19.5},
    "L4": {"bf16": 121, "fp16": 121, "tf32": 60, "fp32": 30.3},
    "T4": {"fp16": 65, "fp32": 8.1},
}


def peak_flops(device_name: str, precision: Precision) -> float | None:
    """Operations a second that the maker promises; None if unknown here."""
    if "MIG" in device_name:  # a part of a card
        return None
    for name, peaks in PEAKS.items():
        if re.search(rf"\b{name}\b", device_name):
            peak = peaks.get(precision)
            return peak and peak * 1e12
    return None


def compute_configs(device: str) -> Iterator[ComputeConfig]:
    """The device in each precision that it has and that is worth a row."""
    for precision in ("fp32", "tf32", "bf16"):
        try:
            yield get_compute_config(device, precision)
        except ValueError:
            continue


def measure_rooflines(device: str, sizes: Sizes) -> dict[str, Roofline]:
    found = {}
    for compute in compute_configs(device):
        roofline = measure_roofline(compute, sizes.product_width)
        found[compute.precision] = roofline
        print(
            f"roofline, {compute.precision}: "
            f"{roofline.flops / 1e12:8.2f} TFLOP/s, "
            f"{roofline.n_bytes / 1e9:7.0f} GB/s, "
            f"ridge point at {roofline.ridge:.0f}"
        )
    return found


def attention(
    device: str, sizes: Sizes, roofline: Roofline
) -> dict[str, float]:
    """Causal attention, 8 heads of 64: seconds of each kernel and length."""
    compute = get_compute_config(
        device,
        "bf16" if get_compute_config(device).uses_cuda_graphs else "fp32",
    )
    found = {}
    for n in sizes.attention_lengths:
        x = torch.randn(
            1, 8, n, 64, device=compute.device, dtype=compute.dtype
        )
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda x=x: fused_attention(x, x, x, is_causal=True),
            "SDPA": lambda x=x: F.scaled_dot_product_attention(
                x, x, x, is_causal=True
            ),
        }
        for kernel in get_args(Kernel)[1:]:  # all but auto
            try:
                one = get_compute_config(device, compute.precision, kernel)
            except ValueError:
                continue
            if kernel != "math" or n <= 4096:
                runs[kernel] = partial(by_kernel, one, x)
        times = side_by_side(runs, 2 * sizes.rounds, compute)
        for name, took in times.items():
            speed = 2 * 8 * n * n * 64 / took  # half of it is hidden
            found[f"{name}, {n}"] = took
            print(
                f"causal attention, {n:6} tokens, {name:9} {took * 1e3:9.3f} "
                f"ms {speed / roofline.flops:6.1%} of the roofline"
            )
    return found


def by_kernel(compute: ComputeConfig, x: Tensor) -> None:
    with compute_context(compute):
        fused_attention(x, x, x, is_causal=True)


def make_examples(rows: int, n: int, vocab_size: int) -> list[Example]:
    """Pairs of n tokens on either side: neither has padding."""
    token_ids = torch.randint(EOS + 2, vocab_size, (rows, n)).tolist()
    return [(row, [BOS, *row[:-1], EOS]) for row in token_ids]


def make_trainer(
    sizes: Sizes, compute: ComputeConfig, *, compiled: bool
) -> Trainer:
    """Train the model on batches of training_rows pairs, without end."""
    torch.manual_seed(0)
    rows, n = sizes.training_rows, sizes.length
    examples = make_examples(4 * rows, n, sizes.model.target_vocab_size)
    config = TrainingConfig(
        max_steps=10**9,
        batch_tokens=rows * (n + 1),
        learning_rate=1e-4,
        label_smoothing=0.1,
        precision=compute.precision,
    )
    loss_fn: Any = chunked_translation_loss
    if compiled:
        loss_fn = torch.compile(loss_fn, fullgraph=True, dynamic=True)
    model = Transformer(sizes.model).to(compute.device)
    batches = TranslationBatches(examples, config, compute.device)
    return Trainer(model, batches, config, loss_fn)


def training(
    device: str, sizes: Sizes, rooflines: dict[str, Roofline]
) -> dict[str, Any]:
    """A step of the Trainer: tokens a second, utilisation, peak memory.

    It is all that a step is, from making a batch to the update.
    """
    found: dict[str, Any] = {}
    rows, n = sizes.training_rows, sizes.length
    flops = rows * 3 * transformer_flops(sizes.model, n, n)
    for compute in compute_configs(device):
        peak = peak_flops(device_name(compute), compute.precision)
        for compiled in (False, True)[: 1 + compute.uses_cuda_graphs]:
            step = make_trainer(sizes, compute, compiled=compiled).step
            took = median_time(step, compute, sizes.rounds)
            of_roofline = flops / took / rooflines[compute.precision].flops
            row = {"seconds": took, "utilisation": of_roofline}
            text = f"{of_roofline:.1%} of the roofline, "
            if peak is None:
                text += "no MFU: the maker's peak is not known here"
            else:
                row["mfu"] = flops / took / peak
                text += f"MFU {row['mfu']:.1%}"
            if compute.uses_cuda_graphs:
                row["peak_mib"] = peak_mib(compute, step)
                text += f", peak {row['peak_mib']:.0f} MiB"
            name = f"{compute.precision}{', compiled' * compiled}"
            found[name] = row
            print(
                f"training, base model, {rows} x {n}, {name:15} "
                f"{took * 1e3:8.1f} ms, {2 * rows * n / took:9.0f} tokens/s, "
                f"{text}"
            )
    return found


def peak_mib(compute: ComputeConfig, step: Callable[[], object]) -> float:
    """MiB that a step needs at most, as the device counts them."""
    torch.cuda.reset_peak_memory_stats(compute.device)
    step()
    return torch.cuda.max_memory_allocated(compute.device) / 2**20


def decoding(device: str, sizes: Sizes) -> dict[str, float]:
    """Tokens a second of the base model, as many read as generated."""
    compute = get_compute_config(device)
    torch.manual_seed(0)
    model = Transformer(sizes.model)
    plain = IncrementalDecoder(model, compute)
    static = CUDAGraphDecoder(model, compute)
    n = sizes.length
    found = {}
    for rows in sizes.decoding_rows:
        source = torch.randint(EOS + 2, VOCAB_SIZE, (rows, n))
        lengths = torch.full((rows,), n)
        runs = {
            "step by step": partial(
                generate, plain, source, lengths, max_length=n
            ),
            "captured": partial(
                generate, static, source, lengths, max_length=n
            ),
        }
        with compute_context(compute):
            times = side_by_side(runs, sizes.rounds, compute)
        for name, took in times.items():
            found[f"{name}, {rows}"] = rows * n / took
            print(
                f"decoding, base model, batch {rows:3}, {name:18} "
                f"{rows * n / took:9.0f} tokens/s ({compute.precision})"
            )
    return found


def make_step(
    model: nn.Module,
    examples: Sequence[Example],
    compute: ComputeConfig,
    loss_fn: Callable[[Batch], Tensor],
) -> Callable[[], None]:
    """What takes a whole training step, that of any library's model."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        batch = make_batch(examples, compute.device)
        optimizer.zero_grad()
        with compute_context(compute):
            with compute.autocast():
                loss = loss_fn(batch)
            torch.autograd.backward(loss)
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def beside(device: str, sizes: Sizes) -> dict[str, float]:
    """The base shape beside Hugging Face's Marian, where that is installed.

    Seconds of a training step and of decoding, in the device's best
    precision.
    """
    compute = get_compute_config(device)
    rows, n = sizes.rows_beside, sizes.length
    examples = [
        example
        for length in torch.linspace((n + 1) // 2, n, rows).round().tolist()
        for example in make_examples(1, int(length), SHAPE_VOCAB_SIZE)
    ]
    source = torch.randint(EOS + 2, SHAPE_VOCAB_SIZE, (rows, n))
    source = source.to(compute.device)
    steps: dict[str, Callable[[], object]] = {}
    decoders: dict[str, Callable[[], object]] = {}
    ways = {"ours": book, "Marian": marian}
    for name in ways if find_spec("transformers") else ():
        torch.manual_seed(0)
        model, loss_fn = ways[name](sizes.shape)
        model.to(compute.device).train()
        steps[name] = make_step(model, examples, compute, loss_fn)
        there: Any = inference_copy(model, compute)
        if name == "ours":
            lengths = torch.full((rows,), n)
            kind = (
                CUDAGraphDecoder
                if compute.uses_cuda_graphs
                else IncrementalDecoder
            )
            decoders[name] = partial(
                generate, kind(there, compute), source, lengths, max_length=n
            )
        else:
            decoders[name] = partial(
                there.generate,
                input_ids=source,
                attention_mask=torch.ones_like(source),
                do_sample=False,
                num_beams=1,
                min_new_tokens=n,
                max_new_tokens=n,
            )
    found = {}
    for what, runs in {"training": steps, "decoding": decoders}.items():
        times = side_by_side(runs, sizes.rounds, compute)
        found |= {f"{what}, {name}": took for name, took in times.items()}
        if times:
            report(f"{what} of the base shape, batch {rows}", times)
    return found


def vision(device: str, sizes: Sizes) -> dict[str, float]:
    """Images a second of ViT-S/16 at 224 by 224, forward."""
    found = {}
    rows = sizes.vision_rows
    config = sizes.vit
    for compute in compute_configs(device):
        torch.manual_seed(0)
        model = ViT(config).eval().to(compute.device)
        shape = (rows, 3, config.image_size, config.image_size)
        images = torch.randn(shape, device=compute.device)

        def run(
            model: Any = model, x: Tensor = images, e: ComputeConfig = compute
        ):
            with torch.no_grad(), compute_context(e), e.autocast():
                model(x)

        took = median_time(run, compute, sizes.rounds)
        found[compute.precision] = rows / took
        print(
            f"ViT-S/16, forward, batch {rows}, {compute.precision}: "
            f"{rows / took:.0f} images/s"
        )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What your machine can do")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(arguments)
    device = options.device
    compute = get_compute_config(device)
    sizes = ON_GPU if compute.uses_cuda_graphs else ON_CPU
    if options.dry_run:
        sizes = DRY_RUN
    introduce(compute)
    print(compute)
    rooflines = measure_rooflines(device, sizes)
    best = rooflines.get(
        "bf16" if compute.uses_cuda_graphs else "fp32", rooflines["fp32"]
    )
    found = {
        "attention": attention(device, sizes, best),
        "training": training(device, sizes, rooflines),
        "decoding": decoding(device, sizes),
        "vision": vision(device, sizes),
        "beside": beside(device, sizes),
    }
    if options.dry_run:
        print("a dry run: the numbers mean nothing, and none is kept")
        return
    keep(
        device_name(compute, short=True),
        ["nox -s bench"],
        {},
        compute,
        rooflines={name: r._asdict() for name, r in rooflines.items()},
        **found,
    )


if __name__ == "__main__":
    main()
