# Made from docs/chapters/40-cli.md (609b8024bf80). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import shlex
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from attention_book import processes
from attention_book.checkpoints.models import load_model
from attention_book.cli.app import app, make_console, print_error
from attention_book.cli.corpora import (
    CORPUS_HELP,
    load_corpus,
    train_tokenizers,
)
from attention_book.cli.options import (
    DeviceName,
    PrecisionName,
    refuse_folder,
)
from attention_book.losses import chunked_translation_loss
from attention_book.runtime import get_compute_config
from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.loading import BatchLoader, encode_pairs
from attention_book.training.loop import Trainer, validation_loss
from attention_book.training.parallel import ParallelStrategy
from attention_book.transformer import PRESETS, Transformer, TransformerConfig


__all__ = ["train"]


@app.command()
def train(
    out: Annotated[Path, Argument(help="Where to keep the model.")],
    corpus: Annotated[str, Option(help=CORPUS_HELP)] = "grammar",
    max_steps: Annotated[
        int, Option(help="Updates of the parameters.")
    ] = TrainingConfig.max_steps,
    batch_tokens: Annotated[
        int, Option(help="Most tokens a batch, on either side.")
    ] = TrainingConfig.batch_tokens,
    accumulation_steps: Annotated[
        int, Option(help="Batches a step: gradient accumulation.")
    ] = TrainingConfig.accumulation_steps,
    learning_rate: Annotated[
        float, Option(help="Peak learning rate.")
    ] = TrainingConfig.learning_rate,
    warmup_steps: Annotated[
        int, Option(help="Steps to the peak.")
    ] = TrainingConfig.warmup_steps,
    schedule: Annotated[
        Schedule, Option(help="How the rate falls after it.")
    ] = TrainingConfig.schedule,
    label_smoothing: Annotated[
        float, Option(help="Share of the target that all tokens get.")
    ] = TrainingConfig.label_smoothing,
    seed: Annotated[
        int, Option(help="Of initialisation, order and dropout.")
    ] = TrainingConfig.seed,
    size: Annotated[
        str, Option(help=f"Of the model: {', '.join(PRESETS)}.")
    ] = "small",
    d_model: Annotated[
        int | None, Option(help="Width.", show_default="of --size")
    ] = None,
    n_heads: Annotated[
        int | None, Option(help="Heads.", show_default="of --size")
    ] = None,
    n_layers: Annotated[
        int | None, Option(help="Layers a side.", show_default="of --size")
    ] = None,
    dropout: Annotated[
        float | None, Option(help="Dropout rate.", show_default="of --size")
    ] = None,
    vocab_size: Annotated[
        int, Option(help="Most subwords (real corpora).", min=259)
    ] = 8000,
    save_every: Annotated[
        int, Option(help="Steps from checkpoint to checkpoint.", min=1)
    ] = 200,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    compiled: Annotated[
        bool, Option("--compile", help="Compile the step (torch.compile).")
    ] = False,
    sharded: Annotated[
        bool, Option("--sharded", help="Under torchrun: shard it (FSDP).")
    ] = False,
) -> None:
    """Train a translator, or resume one that was cut off."""
    if sharded and compiled:
        raise ValueError("give --sharded or --compile, not both")
    if size not in PRESETS:
        raise ValueError(f"size must be {', '.join(PRESETS)}, got {size!r}")
    shape: dict[str, Any] = {
        "d_model": d_model,
        "n_heads": n_heads,
        "n_layers": n_layers,
        "dropout": dropout,
        "d_ff": d_model and 4 * d_model,
    }
    given = {name: x for name, x in shape.items() if x is not None}
    group = processes.process_group(
        out, device, sharded=sharded, report=print_error
    )
    with group as (strategy, device_name):
        compute = get_compute_config(device_name, precision)
        config = TrainingConfig(
            max_steps=max_steps,
            batch_tokens=batch_tokens,
            accumulation_steps=accumulation_steps,
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            schedule=schedule,
            label_smoothing=label_smoothing,
            precision=compute.precision,
            seed=seed,
        )
        echo = typer.echo if strategy.rank == 0 else _silent
        echo(compute)
        _train(
            out,
            (corpus, vocab_size),
            PRESETS[size] | given,
            config,
            compute.device,
            strategy,
            compiled=compiled,
            save_every=save_every,
            echo=echo,
        )


def _silent(*_: object, **__: object) -> None:
    """Print nothing: the first process prints it."""


def _train(
    out: Path,
    source: tuple[str, int],
    shape: dict[str, Any],
    config: TrainingConfig,
    device: torch.device,
    strategy: ParallelStrategy,
    *,
    compiled: bool,
    save_every: int,
    echo: Callable[..., None],
) -> None:
    """Make what is needed, resume where a checkpoint is, and train."""
    refuse_folder(out)
    name, vocab_size = source
    corpus = load_corpus(name)
    exists = processes.exists_on_all_ranks(out, strategy, device)
    tokenizers = (
        load_model(out).tokenizers
        if exists
        else train_tokenizers(corpus, name, vocab_size)
    )
    loss_fn: Any = chunked_translation_loss
    if compiled:  # once for all lengths
        loss_fn = torch.compile(loss_fn, fullgraph=True, dynamic=True)
    test = next(iter(corpus.tests.values()))[:500]
    make_batches = partial(BatchLoader, config=config, device=device)
    try:
        sizes = {
            "source_vocab_size": len(tokenizers[0]),
            "target_vocab_size": len(tokenizers[1]),
            "share_embeddings": tokenizers[0] is tokenizers[1],
        }
        torch.manual_seed(config.seed)
        model = Transformer(TransformerConfig(**shape | sizes)).to(device)
        batches = make_batches(encode_pairs(corpus.train, *tokenizers))
        held_out = make_batches(encode_pairs(test, *tokenizers))
        trainer = Trainer(model, batches, config, loss_fn, strategy)
        processes.check_agreement(trainer)
        if exists:
            processes.resume(out, trainer)
            echo(f"{out}: going on from step {len(trainer.losses)}")
    except ValueError as error:
        advice = "; use the options it began with, or a new file" * exists
        raise ValueError(f"{error}{advice}") from None
    save = partial(processes.save, out, trainer, tokenizers)
    save()  # that it can be written shows now, and not after an hour
    try:
        average = _tokens_per_batch(batches)
        _run_steps(trainer, held_out, average, save, save_every)
    except KeyboardInterrupt:
        echo(f"{out}: stopped; the same command goes on", err=True)
        raise
    command = ["attention-book", "evaluate", "--model", str(out)]
    command += [] if name == "grammar" else ["--corpus", name]
    echo(f"{out}: done; try: {shlex.join(command)}")


def _run_steps(
    trainer: Trainer,
    held_out: BatchLoader,
    tokens_per_batch: float,
    save: Callable[[], None],
    save_every: int,
) -> None:
    """Take the steps that are left, and show how it goes."""
    console = make_console()
    max_steps = trainer.config.max_steps
    console.quiet = trainer.strategy.rank > 0  # the first one shows it
    columns = ("{task.description}", "{task.completed} of {task.total} steps")
    shown = [*map(TextColumn, columns), BarColumn(), TimeRemainingColumn()]
    quiet = console.quiet or not console.is_terminal
    with Progress(
        *shown, console=console, transient=True, disable=quiet
    ) as progress:
        bar = progress.add_task("", total=max_steps)
        first = len(trainer.losses)
        tokens_per_step = trainer.config.accumulation_steps * tokens_per_batch
        began = time.perf_counter()
        while (done := len(trainer.losses) + 1) <= max_steps:
            loss = trainer.step()
            elapsed = time.perf_counter() - began
            speed = (done - first) * tokens_per_step / elapsed
            text = f"loss {loss:.4f}  {speed:,.0f} tokens/s"
            progress.update(bar, completed=done, description=text)
            if done % save_every == 0 or done == max_steps:
                save()
                unseen = validation_loss(trainer, held_out)
                console.print(f"step {done:,}  {text}  unseen {unseen:.4f}")


def _tokens_per_batch(batches: BatchLoader) -> float:
    """Return how many tokens of both sides a batch holds, on average."""
    pairs = batches.examples
    total = sum(len(source) + len(target) - 1 for source, target in pairs)
    return total / len(batches)
