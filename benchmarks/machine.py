"""What your machine can do, in one table: nox -s bench

The roofline in each precision, attention by kernel and length, a training step
of the paper's base model with its utilisation of the roofline, greedy decoding
with and without captured steps, ViT-S/16, and the base shape beside Marian. On
the CPU the sizes are small; on a GPU, large. --device cpu measures the CPU
beside a GPU. What is found goes to results/ under the device's name, as JSON.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.corpus import BOS, EOS
from attention_book.fast_decoding import (
    IncrementalDecoder,
    StaticDecoder,
    fast_generate,
)
from attention_book.gpu import (
    Roofline,
    measure_roofline,
    median_time,
    synchronize,
    transformer_flops,
)
from attention_book.runtime import (
    ComputeConfig,
    Kernel,
    compute_context,
    get_compute_config,
    inference_copy,
)
from attention_book.scoring import fused_attention
from attention_book.training import Batch, make_batch, translation_loss
from attention_book.transformer import Transformer
from attention_book.vit import ViT
from benchmarks.sidebyside import (
    device_name,
    introduce,
    keep,
    report,
    side_by_side,
)
from benchmarks.training import BASE, MAX_LENGTH, book, marian
from benchmarks.training import make_batch as padded


VOCAB_SIZE = 37_000


def compute_configs(device: str) -> Iterator[ComputeConfig]:
    """The device in each precision that it has and that is worth a row."""
    for precision in ("fp32", "tf32", "bf16"):
        try:
            yield get_compute_config(device, precision)
        except ValueError:
            continue


def measure_rooflines(device: str) -> dict[str, Roofline]:
    found = {}
    for compute in compute_configs(device):
        width = 8192 if compute.uses_cuda_graphs else 1024
        roofline = measure_roofline(compute, width)
        found[compute.precision] = roofline
        print(
            f"roofline, {compute.precision}: "
            f"{roofline.flops / 1e12:8.2f} TFLOP/s, "
            f"{roofline.n_bytes / 1e9:7.0f} GB/s, "
            f"ridge point at {roofline.ridge:.0f}"
        )
    return found


def attention(device: str, roofline: Roofline) -> dict[str, float]:
    """Causal attention, 8 heads of 64: seconds of each kernel and length."""
    compute = get_compute_config(
        device,
        "bf16" if get_compute_config(device).uses_cuda_graphs else "fp32",
    )
    lengths = (
        (1024, 4096, 16_384) if compute.uses_cuda_graphs else (512, 1024, 2048)
    )
    found = {}
    for n in lengths:
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
        times = side_by_side(runs, 10, partial(synchronize, compute))
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


def make_full_batch(rows: int, n: int, device: torch.device) -> Batch:
    token_ids = torch.randint(EOS + 2, VOCAB_SIZE, (rows, n)).tolist()
    examples = [(row, [BOS, *row[:-1], EOS]) for row in token_ids]
    return make_batch(examples, device)


def training(device: str, rooflines: dict[str, Roofline]) -> dict[str, Any]:
    """A step of the base model: tokens a second, utilisation, peak memory."""
    found = {}
    for compute in compute_configs(device):
        rows = 256 if compute.uses_cuda_graphs else 8
        batch = make_full_batch(rows, 64, compute.device)
        for compiled in (
            (False, True) if compute.uses_cuda_graphs else (False,)
        ):
            torch.manual_seed(0)
            model = Transformer.base(VOCAB_SIZE).to(compute.device)
            loss_fn: Any = translation_loss
            if compiled:
                loss_fn = torch.compile(loss_fn, fullgraph=True)
            step = make_step(model, batch, compute, loss_fn)
            took = median_time(step, compute, 5)
            flops = rows * 3 * transformer_flops(model.config, 64, 64)
            utilisation = flops / took / rooflines[compute.precision].flops
            name = f"{compute.precision}{', compiled' * compiled}"
            found[name] = {"seconds": took, "utilisation": utilisation}
            text = f"utilisation {utilisation:.1%}"
            if compute.uses_cuda_graphs:
                found[name]["peak_mib"] = peak_mib(compute, step)
                text += f", peak {found[name]['peak_mib']:.0f} MiB"
            print(
                f"training, base model, {rows} x 64, {name:15} "
                f"{took * 1e3:8.1f} ms, {rows * 128 / took:9.0f} tokens/s, "
                f"{text}"
            )
    return found


def make_step(
    model: Transformer, batch: Batch, compute: ComputeConfig, loss_fn: Any
) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with compute_context(compute):
            with compute.autocast():
                loss = loss_fn(model, batch, 0.1)
            loss.backward()
        optimizer.step()

    return step


def peak_mib(compute: ComputeConfig, step: Callable[[], None]) -> float:
    """MiB that a step needs at most, as the device counts them."""
    torch.cuda.reset_peak_memory_stats(compute.device)
    step()
    return torch.cuda.max_memory_allocated(compute.device) / 2**20


def decoding(device: str) -> dict[str, float]:
    """Tokens a second of the base model, 64 read and 64 generated."""
    compute = get_compute_config(device)
    torch.manual_seed(0)
    model = Transformer.base(VOCAB_SIZE)
    plain = IncrementalDecoder(model, compute)
    static = StaticDecoder(model, compute)
    found = {}
    for rows in (1, 32, 256) if compute.uses_cuda_graphs else (1, 8):
        source = torch.randint(EOS + 2, VOCAB_SIZE, (rows, 64))
        lengths = torch.full((rows,), 64)
        runs = {
            "step by step": partial(
                fast_generate, plain, source, lengths, max_length=64
            ),
            "captured": partial(
                static.generate, source, lengths, max_length=64
            ),
        }
        times = side_by_side(runs, 5, partial(synchronize, compute))
        for name, took in times.items():
            found[f"{name}, {rows}"] = rows * 64 / took
            print(
                f"decoding, base model, batch {rows:3}, {name:12} "
                f"{rows * 64 / took:9.0f} tokens/s ({compute.precision})"
            )
    return found


def beside(device: str) -> dict[str, float]:
    """The base shape beside Hugging Face's Marian, where that is installed.

    Training as in benchmarks.training, decoding as in benchmarks.decoding:
    seconds of each, in the device's best precision.
    """
    compute = get_compute_config(device)
    rows = 128 if get_compute_config(device).uses_cuda_graphs else 4
    s = BASE._replace(batch=rows)
    batch = Batch(*(part.to(compute.device) for part in padded(rows)))
    steps: dict[str, Callable[[], object]] = {}
    decoders: dict[str, Callable[[], object]] = {}
    source = batch.source.clamp(min=EOS + 2)  # all of one length
    ways = {"ours": book, "Marian": marian}
    for name in ways if find_spec("transformers") else ():
        torch.manual_seed(0)
        model, loss_fn = ways[name](s)
        model.to(compute.device).train()
        steps[name] = make_step(
            model, batch, compute, lambda _, b, __, f=loss_fn: f(b)
        )
        there: Any = inference_copy(model, compute)
        if name == "ours":
            lengths = torch.full((rows,), MAX_LENGTH)
            how: Any = partial(
                fast_generate, IncrementalDecoder(there, compute)
            )
            if compute.uses_cuda_graphs:
                how = StaticDecoder(there, compute).generate
            decoders[name] = partial(how, source, lengths, max_length=64)
        else:
            decoders[name] = partial(
                there.generate,
                input_ids=source,
                attention_mask=torch.ones_like(source),
                do_sample=False,
                num_beams=1,
                min_new_tokens=64,
                max_new_tokens=64,
            )
    found = {}
    for what, runs in {"training": steps, "decoding": decoders}.items():
        times = side_by_side(runs, 5, partial(synchronize, compute))
        found |= {f"{what}, {name}": took for name, took in times.items()}
        if times:
            report(f"{what} of the base shape, batch {rows}", times)
    return found


def vision(device: str) -> dict[str, float]:
    """Images a second of ViT-S/16 at 224 by 224, forward."""
    found = {}
    for compute in compute_configs(device):
        rows = 256 if compute.uses_cuda_graphs else 8
        torch.manual_seed(0)
        model = ViT.small().eval().to(compute.device)
        images = torch.randn(rows, 3, 224, 224, device=compute.device)

        def run(
            model: Any = model, x: Tensor = images, e: ComputeConfig = compute
        ):
            with torch.no_grad(), compute_context(e), e.autocast():
                model(x)

        took = median_time(run, compute, 5)
        found[compute.precision] = rows / took
        print(
            f"ViT-S/16, forward, batch {rows}, {compute.precision}: "
            f"{rows / took:.0f} images/s"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What your machine can do")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    compute = get_compute_config(options.device)
    introduce(compute)
    print(compute)
    rooflines = measure_rooflines(options.device)
    best = rooflines.get(
        "bf16" if compute.uses_cuda_graphs else "fp32", rooflines["fp32"]
    )
    found = {
        "attention": attention(options.device, best),
        "training": training(options.device, rooflines),
        "decoding": decoding(options.device),
        "vision": vision(options.device),
        "beside": beside(options.device),
    }
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
