# Made from docs/source/cli.md (c7f3d1ff7627). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command train.

Explained in the chapter "The command line".
"""

import json
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from attention_book.cli.app import app, make_console, print_error
from attention_book.cli.memory import check_memory
from attention_book.cli.options import DeviceName, PrecisionName
from attention_book.compute import get_compute_config
from attention_book.data.sources import (
    CORPUS_HELP,
    load_corpus,
    train_tokenizers,
)
from attention_book.io.checkpoints import load_model
from attention_book.io.files import lock, parse_json, printable
from attention_book.io.progress import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.io.tensors import open_tensors
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.chunked_loss import chunked_translation_loss
from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.distributed import (
    check_agreement,
    load_trainer,
    process_group,
    save_trainer,
)
from attention_book.training.loading import TranslationBatches, encode_pairs
from attention_book.training.loop import Trainer
from attention_book.training.parallel import (
    ParallelStrategy,
)
from attention_book.training.validation import validation_loss


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
        int,
        Option(
            help="Of initialisation, order, dropout.", min=0, max=2**32 - 1
        ),
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
        int | None,
        Option(
            help="Most subwords (real corpora).", min=259, show_default="8000"
        ),
    ] = None,
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
    blocking: Annotated[
        bool, Option("--wait", help="Wait for another run that writes OUT.")
    ] = False,
) -> None:
    """Train a translator, or resume one that was cut off."""
    if sharded and compiled:
        raise ValueError("give --sharded or --compile, not both")
    if vocab_size and corpus == "grammar":
        raise ValueError(
            "--vocab-size is for real corpora: the words of grammar are its "
            f"vocabulary, got {vocab_size}"
        )
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
    with process_group(device, sharded=sharded) as (strategy, device_name):
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
        is_first = strategy.rank == 0  # which alone prints
        echo = typer.echo if is_first else (lambda *_, **__: None)
        echo(compute)
        with _lock(out, blocking) if strategy.rank == 0 else nullcontext():
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


_ADVICE = "; use the options it began with, or a new file"


class _Options(NamedTuple):
    """With what a training began, so far as only the command knows it."""

    corpus: str
    vocab_size: int


def _read_options(out: Path) -> _Options:
    """Return what a checkpoint has noted; it may be another's file."""
    with open_tensors(out) as file:
        options = parse_json(file.metadata.get("options", "{}"))
        corpus = printable(options.get("corpus", "another corpus"))
        return _Options(corpus, int(options.get("vocab_size", 0)))


def _read_tokenizers(out: Path) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of a translator; ValueError if it is none."""
    found = load_model(out).tokenizers
    if len(found) != 2:
        raise ValueError(f"{out}: wanted a translator, got another model")
    source, target = found
    return source, target


@contextmanager
def _lock(out: Path, blocking: bool) -> Iterator[None]:
    """Keep a file for this run, or wait for another run that keeps it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(out))
        except BlockingIOError as error:
            if not blocking:
                raise BlockingIOError(
                    f"{error}; give --wait to wait for it, or another file"
                ) from None
            print_error(f"{error}; waiting for it")
            stack.enter_context(lock(out, -1.0))
        yield


def _train(
    out: Path,
    source: tuple[str, int | None],
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
    name, vocab_size = source
    exists = out.exists()
    began = (
        _read_options(out) if exists else _Options(name, vocab_size or 8000)
    )
    if vocab_size and vocab_size != began.vocab_size:
        raise ValueError(
            f"{out}: made with vocab_size = {began.vocab_size or 'unknown'}, "
            f"wanted {vocab_size}{_ADVICE}"
        )
    corpus = load_corpus(name)
    tokenizers = (
        _read_tokenizers(out)
        if exists
        else train_tokenizers(corpus, name, began.vocab_size)
    )
    loss_fn: Any = chunked_translation_loss
    if compiled:  # once for all lengths
        loss_fn = torch.compile(loss_fn, fullgraph=True, dynamic=True)
    test = next(iter(corpus.tests.values()))[:500]
    make_batches = partial(TranslationBatches, config=config, device=device)
    try:
        sizes = {
            "source_vocab_size": len(tokenizers[0]),
            "target_vocab_size": len(tokenizers[1]),
            "share_embeddings": tokenizers[0] is tokenizers[1],
        }
        model_config = TransformerConfig(**shape | sizes)
        check_memory(model_config, device, strategy)
        torch.manual_seed(config.seed)
        model = Transformer(model_config).to(device)
        batches = make_batches(encode_pairs(corpus.train, *tokenizers))
        held_out = make_batches(encode_pairs(test, *tokenizers))
        trainer = Trainer(model, batches, config, loss_fn, strategy)
        check_agreement(strategy, (exists, fingerprint(trainer)))
        if exists:
            load_trainer(trainer, partial(load_checkpoint, out))
            echo(f"{out}: going on from step {len(trainer.losses)}")
    except ValueError as error:
        if not exists:
            raise
        text = str(error)
        if "unknown words" in text or "corpus digest" in text:
            text = f"made with {began.corpus}, wanted {name} as it is"
            text += f" ({printable(error, 100)})"
        where = "" if str(out) in text else f"{out}: "
        raise ValueError(f"{where}{text}{_ADVICE}") from None
    options = {"options": json.dumps(began._asdict())}
    write = partial(
        save_checkpoint, out, tokenizers=tokenizers, options=options
    )
    save = partial(save_trainer, trainer, write)
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
    held_out: TranslationBatches,
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


def _tokens_per_batch(batches: TranslationBatches) -> float:
    """Return how many tokens of both sides a batch holds, on average."""
    pairs = batches.examples
    total = sum(len(source) + len(target) - 1 for source, target in pairs)
    return total / len(batches)
