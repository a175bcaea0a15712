"""What your machine can do, in one table: nox -s bench

The roofline in each precision, attention by kernel and length, a training step
of the paper's base model with its share of the roof (MFU), greedy decoding
with and without recorded steps, ViT-S/16, and the base shape beside Marian. On the CPU the sizes are small;
on a GPU, large. --device cpu measures the CPU beside a GPU. What is found goes
to results/ under the device's name, as JSON.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.corpus import END, START
from attention_book.decoding import IncrementalDecoder, write
from attention_book.gpu import (
    BACKENDS,
    Engine,
    Roof,
    StaticDecoder,
    choose,
    computing,
    deploy,
    measure_roof,
    seconds,
    transformer_flops,
    wait,
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
from benchmarks.training import BASE, LONGEST, book, marian
from benchmarks.training import make_batch as padded

N_WORDS = 37_000


def engines(device: str) -> Iterator[Engine]:
    """The device in each precision that it has and that is worth a row."""
    for precision in ("fp32", "tf32", "bf16"):
        try:
            yield choose(device, precision)
        except ValueError:
            continue


def roofs(device: str) -> dict[str, Roof]:
    found = {}
    for engine in engines(device):
        roof = measure_roof(engine, 8192 if engine.records else 1024)
        found[engine.precision] = roof
        print(
            f"roof, {engine.precision}: {roof.flops / 1e12:8.2f} TFLOP/s, "
            f"{roof.n_bytes / 1e9:7.0f} GB/s, corner at {roof.ridge:.0f}"
        )
    return found


def attention(device: str, roof: Roof) -> dict[str, float]:
    """Causal attention, 8 heads of 64: seconds of each kernel and length."""
    engine = choose(device, "bf16" if choose(device).records else "fp32")
    lengths = (1024, 4096, 16_384) if engine.records else (512, 1024, 2048)
    found = {}
    for n in lengths:
        x = torch.randn(1, 8, n, 64, device=engine.device, dtype=engine.dtype)
        runs: dict[str, Callable[[], object]] = {
            "ours": lambda x=x: fused_attention(x, x, x, is_causal=True),
            "SDPA": lambda x=x: F.scaled_dot_product_attention(
                x, x, x, is_causal=True
            ),
        }
        for kernel in BACKENDS:
            try:
                one = choose(device, engine.precision, kernel)
            except ValueError:
                continue
            if kernel != "math" or n <= 4096:
                runs[kernel] = partial(by_kernel, one, x)
        times = side_by_side(runs, 10, partial(wait, engine))
        for name, took in times.items():
            speed = 2 * 8 * n * n * 64 / took  # half of it is hidden
            found[f"{name}, {n}"] = took
            print(
                f"causal attention, {n:6} tokens, {name:9} {took * 1e3:9.3f} "
                f"ms {speed / roof.flops:6.1%} of the roof"
            )
    return found


def by_kernel(engine: Engine, x: Tensor) -> None:
    with computing(engine):
        fused_attention(x, x, x, is_causal=True)


def a_batch(rows: int, n: int, device: torch.device) -> Batch:
    words = torch.randint(END + 2, N_WORDS, (rows, n)).tolist()
    examples = [(row, [START, *row[:-1], END]) for row in words]
    return make_batch(examples, device)


def training(device: str, roofs: dict[str, Roof]) -> dict[str, Any]:
    """A step of the base model: tokens a second, MFU, peak memory."""
    found = {}
    for engine in engines(device):
        rows = 256 if engine.records else 8
        batch = a_batch(rows, 64, engine.device)
        for compiled in (False, True) if engine.records else (False,):
            torch.manual_seed(0)
            model = Transformer.base(N_WORDS).to(engine.device)
            loss_of: Any = translation_loss
            if compiled:
                loss_of = torch.compile(loss_of, fullgraph=True)
            step = make_step(model, batch, engine, loss_of)
            took = seconds(step, engine, 5)
            flops = rows * 3 * transformer_flops(model.config, 64, 64)
            share = flops / took / roofs[engine.precision].flops
            name = f"{engine.precision}{', compiled' * compiled}"
            found[name] = {"seconds": took, "mfu": share}
            text = f"MFU {share:.1%}"
            if engine.records:
                found[name]["peak_mib"] = peak(engine, step)
                text += f", peak {found[name]['peak_mib']:.0f} MiB"
            print(
                f"training, base model, {rows} x 64, {name:15} "
                f"{took * 1e3:8.1f} ms, {rows * 128 / took:9.0f} tokens/s, "
                f"{text}"
            )
    return found


def make_step(
    model: Transformer, batch: Batch, engine: Engine, loss_of: Any
) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with computing(engine):
            with engine.autocast():
                loss = loss_of(model, batch, 0.1)
            loss.backward()
        optimizer.step()

    return step


def peak(engine: Engine, step: Callable[[], None]) -> float:
    """MiB that a step needs at most, as the device counts them."""
    torch.cuda.reset_peak_memory_stats(engine.device)
    step()
    return torch.cuda.max_memory_allocated(engine.device) / 2**20


def decoding(device: str) -> dict[str, float]:
    """Words a second of the base model, 64 words read and 64 written."""
    engine = choose(device)
    torch.manual_seed(0)
    model = Transformer.base(N_WORDS)
    plain, static = (
        IncrementalDecoder(model, engine),
        StaticDecoder(model, engine),
    )
    found = {}
    for rows in (1, 32, 256) if engine.records else (1, 8):
        source = torch.randint(END + 2, N_WORDS, (rows, 64))
        lengths = torch.full((rows,), 64)
        runs = {
            "word by word": partial(
                write, plain, source, lengths, max_words=64
            ),
            "recorded": partial(static.write, source, lengths, max_words=64),
        }
        times = side_by_side(runs, 5, partial(wait, engine))
        for name, took in times.items():
            found[f"{name}, {rows}"] = rows * 64 / took
            print(
                f"decoding, base model, batch {rows:3}, {name:12} "
                f"{rows * 64 / took:9.0f} words/s ({engine.precision})"
            )
    return found


def beside(device: str) -> dict[str, float]:
    """The base shape beside Hugging Face's Marian, where that is installed.

    Training as in benchmarks.training, decoding as in benchmarks.decoding:
    seconds of each, in the device's best precision.
    """
    engine, rows = choose(device), 128 if choose(device).records else 4
    s = BASE._replace(batch=rows)
    batch = Batch(*(part.to(engine.device) for part in padded(rows)))
    steps: dict[str, Callable[[], object]] = {}
    writers: dict[str, Callable[[], object]] = {}
    source = batch.source.clamp(min=END + 2)  # all of one length
    ways = {"ours": book, "Marian": marian}
    for name in ways if find_spec("transformers") else ():
        torch.manual_seed(0)
        model, loss_of = ways[name](s)
        model.to(engine.device).train()
        steps[name] = make_step(
            model, batch, engine, lambda _, b, __, f=loss_of: f(b)
        )
        there: Any = deploy(model, engine)
        if name == "ours":
            lengths = torch.full((rows,), LONGEST)
            how: Any = partial(write, IncrementalDecoder(there, engine))
            if engine.records:
                how = StaticDecoder(there, engine).write
            writers[name] = partial(how, source, lengths, max_words=64)
        else:
            writers[name] = partial(
                there.generate,
                input_ids=source,
                attention_mask=torch.ones_like(source),
                do_sample=False,
                num_beams=1,
                min_new_tokens=64,
                max_new_tokens=64,
            )
    found = {}
    for what, runs in {"training": steps, "decoding": writers}.items():
        times = side_by_side(runs, 5, partial(wait, engine))
        found |= {f"{what}, {name}": took for name, took in times.items()}
        if times:
            report(f"{what} of the base shape, batch {rows}", times)
    return found


def vision(device: str) -> dict[str, float]:
    """Images a second of ViT-S/16 at 224 by 224, forward."""
    found = {}
    for engine in engines(device):
        rows = 256 if engine.records else 8
        torch.manual_seed(0)
        model = ViT.small().eval().to(engine.device)
        images = torch.randn(rows, 3, 224, 224, device=engine.device)

        def run(model: Any = model, x: Tensor = images, e: Engine = engine):
            with torch.no_grad(), computing(e), e.autocast():
                model(x)

        took = seconds(run, engine, 5)
        found[engine.precision] = rows / took
        print(
            f"ViT-S/16, forward, batch {rows}, {engine.precision}: "
            f"{rows / took:.0f} images/s"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What your machine can do")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    engine = choose(options.device)
    introduce(engine)
    print(engine)
    roof = roofs(options.device)
    best = roof.get("bf16" if engine.records else "fp32", roof["fp32"])
    found = {
        "attention": attention(options.device, best),
        "training": training(options.device, roof),
        "decoding": decoding(options.device),
        "vision": vision(options.device),
        "beside": beside(options.device),
    }
    keep(
        device_name(engine, short=True),
        ["nox -s bench"],
        {},
        engine,
        roof={name: r._asdict() for name, r in roof.items()},
        **found,
    )


if __name__ == "__main__":
    main()
