# Made from docs/source/cli.md (bcf082d06248). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command train. Explained on the page "The command line"."""

import json
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer
from rich.progress import Progress
from typer import Argument, Option

from attention_book.cli.app import app, make_console
from attention_book.cli.options import DeviceName, PrecisionName
from attention_book.cli.recipes import KEPT, recall, take_recipe
from attention_book.compute import get_compute_config
from attention_book.data.copies import with_copies
from attention_book.data.sources import (
    CORPUS_HELP,
    both_directions,
    load_corpus,
    train_tokenizers,
)
from attention_book.io.files import lock
from attention_book.io.progress import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.chunked_loss import chunked_translation_loss
from attention_book.training.config import TrainingConfig
from attention_book.training.distributed import (
    check_agreement,
    load_trainer,
    process_group,
    save_trainer,
)
from attention_book.training.loading import TranslationBatches, encode_pairs
from attention_book.training.loop import Trainer
from attention_book.training.parallel import SINGLE_PROCESS, recompute_layers
from attention_book.training.validation import validation_loss


__all__ = []


@app.command("train")
def _train(
    context: typer.Context,
    out: Annotated[
        Path,
        Argument(
            help="Where to keep the model.", is_eager=True, callback=recall
        ),
    ],
    recipe: Annotated[
        Literal["everyday"] | None,
        Option(
            help="Options for a known corpus, unless they are said.",
            is_eager=True,
            callback=take_recipe,
        ),
    ] = None,
    corpus: Annotated[str, Option(help=CORPUS_HELP)] = "grammar",
    both_directions: Annotated[
        bool,
        Option("--both-directions", help="One model for both directions."),
    ] = False,
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
        Literal["cosine", "inverse_sqrt"],
        Option(help="How the rate falls after it."),
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
        Literal["small", "base", "big"], Option(help="Of the model.")
    ] = "small",
    d_model: Annotated[
        int | None,
        Option(help="Width.", max=2**14, show_default="of --size"),
    ] = None,
    n_heads: Annotated[
        int | None, Option(help="Heads.", show_default="of --size")
    ] = None,
    n_layers: Annotated[
        int | None,
        Option(
            help="Layers of the encoder.", max=100, show_default="of --size"
        ),
    ] = None,
    n_decoder_layers: Annotated[
        int | None,
        Option(help="Layers of the decoder.", max=100, show_default="as many"),
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
    gather_bf16: Annotated[
        bool, Option("--gather-bf16", help="With --sharded: send bf16.")
    ] = False,
    recompute: Annotated[
        bool, Option("--recompute", help="Keep each layer's input only.")
    ] = False,
    blocking: Annotated[
        bool, Option("--wait", help="Wait for another run that writes OUT.")
    ] = False,
) -> None:
    """Train a translator, or resume one that was cut off."""
    if (sharded or recompute) and compiled:
        raise ValueError(
            "give --compile, or --sharded and --recompute, not both"
        )
    if gather_bf16 and not sharded:
        raise ValueError("--gather-bf16 wants --sharded")
    if corpus == "grammar" and (vocab_size or both_directions):
        raise ValueError(
            "--vocab-size and --both-directions are for real corpora: the "
            "words of grammar are its vocabulary, of one language a side"
        )
    given = context.params
    sizes = ("d_model", "n_heads", "n_layers", "n_decoder_layers", "dropout")
    shape = PRESETS[size] | {
        x: given[x] for x in sizes if given[x] is not None
    }
    if d_model:
        shape["d_ff"] = 4 * d_model
    dtype = torch.bfloat16 if gather_bf16 else None
    with process_group(device, sharded=sharded, gather_dtype=dtype) as (
        strategy,
        device_name,
    ):
        compute = get_compute_config(device_name, precision)
        options = {x: given[x] for x in given if hasattr(TrainingConfig, x)}
        options["precision"] = compute.precision
        config = TrainingConfig(**options)
        is_first = strategy.rank == 0  # which alone prints and writes
        echo = typer.echo if is_first else (lambda *_, **__: None)
        echo(compute)
        with lock(out, -blocking) if is_first else nullcontext():  # -1: waits
            tokenizers, batches, held_out = _load_data(
                given, config, compute.device
            )
            model = _make_model(shape, tokenizers, seed).to(compute.device)
            if recompute:
                recompute_layers(
                    (*model.encoder.layers, *model.decoder.layers)
                )
            loss_fn: Any = chunked_translation_loss
            if compiled:  # once for all lengths
                loss_fn = torch.compile(loss_fn, fullgraph=True, dynamic=True)
            trainer = Trainer(model, batches, config, loss_fn, strategy)
            if _resume(trainer, out):
                echo(f"{out}: going on from step {len(trainer.losses)}")
            kept = {"options": json.dumps({x: given[x] for x in KEPT})}
            write = partial(
                save_checkpoint, out, tokenizers=tokenizers, options=kept
            )
            save = partial(save_trainer, trainer, write)
            save()  # that it can be written shows now, and not in an hour
            with _signals(strategy is SINGLE_PROCESS) as signals:
                _run_steps(trainer, held_out, save, save_every, signals)
        if signals:
            n = len(trainer.losses)
            again = shlex.join(["attention-book", "train", str(out)])
            echo(
                f"{out}: stopped, step {n} is saved; {again} goes on", err=True
            )
            raise typer.Exit(128 + signals[0])
        command = ["attention-book", "evaluate", "--model", str(out)]
        command += ["--corpus", corpus]
        echo(f"{out}: done; try: {shlex.join(command)}")


def _load_data(
    options: dict[str, Any], config: TrainingConfig, device: torch.device
) -> tuple[
    tuple[Tokenizer, Tokenizer], TranslationBatches, TranslationBatches
]:
    """Return tokenizers, batches to learn from and batches to validate on."""
    train, validation, _ = load_corpus(options["corpus"])
    if options["both_directions"]:
        train = both_directions(with_copies(train))
        validation = both_directions(validation)
    n = options["vocab_size"] or 8000
    tokenizers = train_tokenizers(train, options["corpus"], n)
    batches, held_out = (
        TranslationBatches(encode_pairs(pairs, *tokenizers), config, device)
        for pairs in (train, validation[:1000])
    )
    return tokenizers, batches, held_out


def _make_model(
    shape: dict[str, Any], tokenizers: tuple[Tokenizer, Tokenizer], seed: int
) -> Transformer:
    """Make the model that is to be trained, its weights drawn by the seed."""
    source, target = tokenizers
    config = TransformerConfig(
        source_vocab_size=len(source),
        target_vocab_size=len(target),
        share_embeddings=source is target,
        **shape,
    )
    torch.manual_seed(seed)
    return Transformer(config)


def _resume(trainer: Trainer, out: Path) -> bool:
    """Go on from a checkpoint, if there is one, in all processes alike."""
    exists = out.exists()
    check_agreement(trainer.strategy, (exists, fingerprint(trainer)))
    if exists:
        try:
            load_trainer(trainer, partial(load_checkpoint, out))
        except ValueError as error:
            raise ValueError(
                f"{error}; use the options it began with, or a new file"
            ) from None
    return exists


@contextmanager
def _signals(are_noted: bool) -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM, so that the step in hand is finished.

    The second one is not noted, but ends the command at once. Of several
    processes none is to stop by itself: the others would wait for it.
    """
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    at_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if are_noted and at_main else ()
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_steps(
    trainer: Trainer,
    held_out: TranslationBatches,
    save: Callable[[], None],
    save_every: int,
    signals: list[int],
) -> None:
    """Take the steps that are left, until a signal comes; show how it goes."""
    console = make_console()
    console.quiet = trainer.strategy.rank > 0  # the first one shows it
    max_steps = trainer.config.max_steps
    is_hidden = console.quiet or not console.is_terminal
    with Progress(
        console=console, transient=True, disable=is_hidden
    ) as progress:
        bar = progress.add_task("", total=max_steps)
        first = len(trainer.losses)
        began = time.perf_counter()
        while not signals and (done := len(trainer.losses) + 1) <= max_steps:
            loss = trainer.step()
            rate = (done - first) / (time.perf_counter() - began)
            text = f"step {done:,}  loss {loss:.4f}  {rate:.1f} steps/s"
            progress.update(bar, completed=done, description=text)
            if done % save_every == 0 or done == max_steps:
                save()
                unseen = validation_loss(trainer, held_out)
                console.print(f"{text}  unseen {unseen:.4f}")
    if signals:
        save()
