# Made from docs/chapters/40-cli.md (2c86950289a1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from attention_book import scale_out
from attention_book.checkpoints.models import load_model
from attention_book.cli.app import (
    DeviceName,
    PrecisionName,
    app,
    complain,
    make_console,
    refuse_folder,
)
from attention_book.cli.corpora import (
    CORPUS_HELP,
    load_corpus,
    train_tokenizers,
)
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.runtime import ComputeConfig, get_compute_config
from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.loading import Example, encode_pairs
from attention_book.training.loop import Trainer
from attention_book.training.losses import Loss, translation_loss
from attention_book.training.parallel import ParallelStrategy
from attention_book.transformer import Transformer, TransformerConfig


Out = Annotated[Path, Argument(help="Where to keep the model.")]
CorpusName = Annotated[str, Option(help=CORPUS_HELP)]
Steps = Annotated[int, Option(help="How many steps to take.")]
MaxTokens = Annotated[int, Option(help="Most tokens a batch, on either side.")]
Accumulate = Annotated[int, Option(help="BatchLoader a step.")]
Rate = Annotated[float, Option(help="Peak learning rate.")]
WarmUp = Annotated[int, Option(help="Steps to the peak.")]
Falling = Annotated[Schedule, Option(help="How the rate falls after it.")]
Smoothing = Annotated[float, Option(help="Label label_smoothing.")]
Seed = Annotated[int, Option(help="Decides all chance.")]
Width = Annotated[int, Option(help="Width of the model.")]
Heads = Annotated[int, Option(help="Heads in each layer.")]
Layers = Annotated[int, Option(help="Layers on each side.")]
Dropout = Annotated[float, Option(help="Share to drop out.")]
MostWords = Annotated[
    int, Option(help="Most subwords to learn (real corpora).", min=259)
]
SaveEvery = Annotated[
    int, Option(help="Steps from checkpoint to checkpoint.", min=1)
]
Compiled = Annotated[
    bool, Option("--compile", help="Compile the step (torch.compile).")
]
FullyShardedDataParallel = Annotated[
    bool, Option("--sharded", help="Under torchrun: cut the model up (FSDP).")
]


@app.command()
def train(
    out: Out,
    corpus: CorpusName = "grammar",
    steps: Steps = 2200,
    tokens: MaxTokens = 1400,
    accumulation_steps: Accumulate = 1,
    rate: Rate = 1.5e-3,
    warmup_steps: WarmUp = 100,
    schedule: Falling = "cosine",
    label_smoothing: Smoothing = 0.0,
    seed: Seed = 0,
    d_model: Width = 128,
    heads: Heads = 4,
    layers: Layers = 2,
    dropout: Dropout = 0.1,
    subwords: MostWords = 8000,
    save_every: SaveEvery = 200,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    compiled: Compiled = False,
    sharded: FullyShardedDataParallel = False,
) -> None:
    """Train a translator, or go on with one that was cut off."""
    if sharded and compiled:
        raise ValueError("give --sharded or --compile, not both")
    shape: Numbers = {"d_model": d_model, "n_heads": heads}
    shape |= {"n_layers": layers}
    shape |= {"d_ff": 4 * d_model, "dropout": dropout, "norm": "pre"}
    numbers: Numbers = {
        "max_steps": steps,
        "batch_tokens": tokens,
        "seed": seed,
    }
    numbers |= {
        "accumulation_steps": accumulation_steps,
        "learning_rate": rate,
    }
    numbers |= {"warmup_steps": warmup_steps, "schedule": schedule}
    numbers |= {"label_smoothing": label_smoothing}
    choices = TrainOptions(out, corpus, subwords, save_every, compiled)
    joined = scale_out.joined(out, device, sharded=sharded, say=complain)
    with joined as (strategy, own):
        compute = get_compute_config(own, precision)
        config = TrainingConfig(precision=compute.precision, **numbers)
        train_model(choices, config, shape, compute, strategy)


Numbers = dict[str, Any]


class TrainOptions(NamedTuple):
    """What train is asked to do, besides model and config."""

    out: Path
    corpus: str
    n_subwords: int
    save_every: int
    compiled: bool


def compile_loss() -> Loss:
    """Compile forward and backward pass, once for all lengths."""
    return torch.compile(translation_loss, fullgraph=True, dynamic=True)


def train_model(
    choices: TrainOptions,
    config: TrainingConfig,
    shape: Numbers,
    compute: ComputeConfig,
    strategy: ParallelStrategy,
) -> None:
    """Make what is needed, go on where a checkpoint is, and train."""
    out, name, n_subwords, save_every, compiled = choices
    refuse_folder(out)
    corpus = load_corpus(name)
    loss_fn = compile_loss() if compiled else translation_loss
    if old := scale_out.exists_on_all_ranks(out, strategy, compute.device):
        _, *words = load_model(out)
    else:
        words = train_tokenizers(corpus, name, n_subwords)
    say = typer.echo if strategy.rank == 0 else silent
    say(compute)
    try:
        model = make_model(words, shape, config, compute)
        examples = encode_pairs(corpus.train, *words)
        trainer = Trainer(model, examples, config, loss_fn, strategy)
        scale_out.check_agreement(trainer)
        if old:
            scale_out.resume(out, trainer)
            say(f"{out}: going on from step {len(trainer.losses)}")
    except ValueError as error:
        advice = "; use the options it began with, or a new file" * old
        raise ValueError(f"{error}{advice}") from None

    def save() -> None:
        scale_out.keep(out, trainer, *words)

    save()  # that it can be written shows now, and not after an hour
    test = next(iter(corpus.tests.values()))[:500]
    try:
        run_steps(trainer, encode_pairs(test, *words), save, save_every)
    except KeyboardInterrupt:
        say(f"{out}: stopped; the same command goes on", err=True)
        raise
    command = ["attention-book", "evaluate", "--model", str(out)]
    command += [] if name == "grammar" else ["--corpus", name]
    say(f"{out}: done; try: {shlex.join(command)}")


def make_model(
    words: list[Tokenizer],
    shape: dict[str, Any],
    config: TrainingConfig,
    compute: ComputeConfig,
) -> Transformer:
    """Make a new model for these words; the same seed makes the same."""
    source, target = words
    shape |= {
        "source_vocab_size": len(source),
        "target_vocab_size": len(target),
    }
    torch.manual_seed(config.seed)
    config = TransformerConfig(share_embeddings=target is source, **shape)
    return Transformer(config).to(compute.device)


def silent(*_: object, **__: object) -> None:
    """Say nothing: another process says it."""


def run_steps(
    trainer: Trainer,
    held_out: list[Example],
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
        tokens_a_step = count_tokens(trainer)
        start = time.perf_counter()
        while (done := len(trainer.losses) + 1) <= max_steps:
            loss = trainer.step()
            seconds = time.perf_counter() - start
            speed = (done - first) * tokens_a_step / seconds
            text = f"loss {loss:.4f}  {speed:,.0f} tokens/s"
            progress.update(bar, completed=done, description=text)
            if done % save_every == 0 or done == max_steps:
                save()
                unseen = scale_out.validation_loss(trainer, held_out)
                console.print(f"step {done:,}  {text}  unseen {unseen:.4f}")


def count_tokens(trainer: Trainer) -> float:
    """How many tokens of both sides a step learns from, in the mean."""
    batches = trainer.batches
    total = sum(len(a) + len(b) - 1 for a, b in batches.examples)
    return total / len(batches.order) * trainer.config.accumulation_steps
