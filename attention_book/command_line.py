# Made from docs/chapters/28-command-line.md (afb1a64f161b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from attention_book.corpus import (
    Pair,
    Subwords,
    Tokens,
    Vocabulary,
    clean,
    make_split,
    read_catalogues,
    read_dataset,
    read_tsv,
    split_pairs,
    untokenise,
)
from attention_book.decoding import (
    GRAMMAR,
    Translator,
    cross_weights,
    score,
)
from attention_book.training import (
    Example,
    Precision,
    Recipe,
    Schedule,
    Trainer,
    encode_pairs,
    held_out_loss,
    load_checkpoint,
    load_model,
    save_checkpoint,
)
from attention_book.transformer import Transformer, TransformerConfig


class Corpus(NamedTuple):
    """What to learn from, and what to be tested on, under a name each."""

    train: list[Pair]
    tests: dict[str, list[Pair]]


def load_corpus(name: str, n_test: int = 1000) -> Corpus:
    """Read or make a corpus.

    Raises:
        ValueError: There is no such corpus, or not enough in it.
    """
    if name == "grammar":
        train, *tests = make_split(n_train=60_000, n_test=n_test)
        kinds = ("unseen sentences", "unseen combinations")
        return Corpus(train, dict(zip(kinds, tests, strict=True)))
    if name == "catalogues":
        pairs = read_catalogues()
    elif name.startswith("dataset:"):
        pairs = read_dataset(name.removeprefix("dataset:"))
    elif name.endswith(".tsv"):
        pairs = read_tsv(name)
    else:
        raise ValueError(
            "corpus must be grammar, catalogues, dataset:NAME or a .tsv "
            f"file, got {name!r}"
        )
    pairs = clean(pairs)
    if len(pairs) < 20:
        raise ValueError(
            f"{name}: wanted 20 pairs or more to learn from, got {len(pairs)}"
        )
    train, test = split_pairs(pairs, min(n_test, len(pairs) // 10))
    return Corpus(train, {"unseen sentences": test})


def learn_words(corpus: Corpus, name: str, n_words: int) -> list[Tokens]:
    """Learn the vocabularies of both sides."""
    if name == "grammar":
        sides = zip(*corpus.train, strict=True)
        return [Vocabulary.learn(side) for side in sides]
    texts = (text for pair in corpus.train for text in pair)
    return [Subwords.learn(texts, n_words)] * 2


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train and use the translators of the Attention Book.",
)
CORPUS_HELP = "grammar, catalogues, dataset:NAME, or a .tsv file"


@app.command("corpus")
def show_corpus(
    name: Annotated[str, typer.Argument(help=CORPUS_HELP)] = "grammar",
    n: Annotated[int, typer.Option(help="How many pairs to show.", min=0)] = 8,
) -> None:
    """Preview a corpus and count what is in it."""
    corpus = load_corpus(name)
    console = Console()
    parts = {"training": corpus.train, **corpus.tests}
    counts = Table("part", "pairs", "words a source", "characters a target")
    for part, pairs in parts.items():
        words = sum(len(source.split()) for source, _ in pairs)
        characters = sum(len(untokenise(target)) for _, target in pairs)
        means = [f"{total / len(pairs):.1f}" for total in (words, characters)]
        counts.add_row(part, f"{len(pairs):,}", *means)
    console.print(counts)
    some = Table("source", "target")
    for source, target in corpus.train[:n]:
        some.add_row(untokenise(source), untokenise(target))
    if n:
        console.print(some)


@app.command()
def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences; none: those of standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Translate each line of this file.")
    ] = None,
    model: Annotated[
        Path, typer.Option(help="A file of train; none: the book's own.")
    ] = GRAMMAR,
    beam: Annotated[
        int, typer.Option(help="Beginnings to keep; 1 is greedy.", min=1)
    ] = 1,
    show_attention: Annotated[
        bool, typer.Option(help="Draw where it looked for each word.")
    ] = False,
) -> None:
    """Translate sentences; by default those of the book's small grammar."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    lines = texts or read_lines(file)
    translator = Translator.load(model)
    for number, line in enumerate(lines, 1):
        check_line(translator, line, number if len(lines) > 1 else 0)
    wanted = [line for line in lines if line.strip()]
    found = iter(translator.translate(wanted, beam=beam))
    for line in lines:  # an empty line stays empty
        typer.echo(translation := next(found) if line.strip() else "")
        if show_attention and translation:
            draw_attention(translator, line, beam)


def read_lines(file: Path | None) -> list[str]:
    """Read the lines of a file, or of standard input."""
    name = str(file or "standard input")
    data = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: wanted UTF-8, got another byte at {error.start}"
        ) from None
    if not any(line.strip() for line in lines):
        raise ValueError(f"{name}: nothing to translate")
    return lines


def check_line(translator: Translator, line: str, number: int) -> None:
    """Raise ValueError, with the line's number, unless it can be read."""
    try:
        if line.strip() or not number:
            translator.read(line)
    except ValueError as error:
        where = f"line {number}: " if number else ""
        known = ""
        if isinstance(translator.source, Vocabulary):
            n = len(translator.source)
            known = f" (this model knows {n} words: attention-book corpus)"
        raise ValueError(f"{where}{error}{known}") from None


def draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print how much each word written looked at each word read."""
    source = translator.read(text)
    (target,) = translator.write([source], beam)
    weights = cross_weights(translator.model, source, target)
    shares = weights.mean((0, 1)).tolist()  # of all layers and heads
    heads = [translator.source.decode([word]) for word in source]
    table = Table("", *heads, show_edge=False, pad_edge=False)
    for word, row in zip(target, shares, strict=True):
        cells = [" ░▒▓█"[min(4, int(5 * share))] * 3 for share in row]
        table.add_row(translator.target.decode([word]) or "<end>", *cells)
    Console().print(table)


@app.command()
def train(
    out: Annotated[Path, typer.Argument(help="Where the model shall go.")],
    corpus: Annotated[str, typer.Option(help=CORPUS_HELP)] = "grammar",
    steps: Annotated[int, typer.Option(help="How many steps.")] = 2200,
    tokens: Annotated[int, typer.Option(help="Tokens a batch.")] = 1400,
    accumulate: Annotated[int, typer.Option(help="Batches a step.")] = 1,
    rate: Annotated[float, typer.Option(help="Peak of the rate.")] = 1.5e-3,
    warm_up: Annotated[int, typer.Option(help="Steps to the peak.")] = 100,
    schedule: Annotated[Schedule, typer.Option()] = "cosine",
    smoothing: Annotated[float, typer.Option(help="Of labels.")] = 0.0,
    precision: Annotated[Precision, typer.Option()] = "fp32",
    seed: Annotated[int, typer.Option(help="Decides all chance.")] = 0,
    d_model: Annotated[int, typer.Option(help="Width.")] = 128,
    heads: Annotated[int, typer.Option(help="Heads of attention.")] = 4,
    layers: Annotated[int, typer.Option(help="Layers on each side.")] = 2,
    dropout: Annotated[float, typer.Option(help="Share to drop.")] = 0.1,
    subwords: Annotated[int, typer.Option(help="Of real corpora.")] = 8000,
    save_every: Annotated[int, typer.Option(help="Steps.", min=1)] = 200,
) -> None:
    """Train a translator, or go on with one that was cut off."""
    recipe = Recipe(
        n_steps=steps,
        max_tokens=tokens,
        accumulate=accumulate,
        learning_rate=rate,
        warm_up=warm_up,
        schedule=schedule,
        smoothing=smoothing,
        precision=precision,
        seed=seed,
    )
    shape = {"d_model": d_model, "n_heads": heads, "n_layers": layers}
    more = {"d_ff": 4 * d_model, "dropout": dropout, "norm": "pre"}
    train_model(out, corpus, recipe, shape | more, subwords, save_every)


def train_model(
    out: Path,
    name: str,
    recipe: Recipe,
    shape: dict[str, Any],
    n_subwords: int,
    save_every: int,
) -> None:
    """Make what is needed, go on where a checkpoint is, and train."""
    console = Console()
    corpus = load_corpus(name)
    if out.exists():
        _, source, target = load_model(out)
    else:
        source, target = learn_words(corpus, name, n_subwords)
    shared = target is source
    shape |= {"n_source": len(source), "n_target": len(target)}
    torch.manual_seed(recipe.seed)
    model = Transformer(TransformerConfig(shared=shared, **shape))
    trainer = Trainer(
        model, encode_pairs(corpus.train, source, target), recipe
    )
    if out.exists():
        load_checkpoint(out, trainer)
        console.print(f"{out}: going on from step {len(trainer.losses)}")
    save = partial(save_checkpoint, out, trainer, source, target)
    save()  # that it can be written shows now, and not after an hour
    test = next(iter(corpus.tests.values()))[:500]
    held_out = encode_pairs(test, source, target)
    run_steps(trainer, held_out, save, save_every, console)
    console.print(f"{out}: done; try: attention-book evaluate --model {out}")


def run_steps(
    trainer: Trainer,
    held_out: list[Example],
    save: Callable[[], None],
    save_every: int,
    console: Console,
) -> None:
    """Take the steps that are left, and show how it goes."""
    n_steps, recipe = trainer.recipe.n_steps, trainer.recipe
    columns = ("{task.description}", "{task.completed} of {task.total} steps")
    shown = [*map(TextColumn, columns), BarColumn(), TimeRemainingColumn()]
    with Progress(*shown, console=console, transient=True) as progress:
        bar = progress.add_task("", total=n_steps)
        first, tokens_a_step = len(trainer.losses), count_tokens(trainer)
        start = time.perf_counter()
        while (done := len(trainer.losses) + 1) <= n_steps:
            loss = trainer.step()
            seconds = time.perf_counter() - start
            speed = (done - first) * tokens_a_step / seconds
            text = f"loss {loss:.4f}  {speed:,.0f} tokens/s"
            progress.update(bar, completed=done, description=text)
            if done % save_every == 0 or done == n_steps:
                save()
                unseen = held_out_loss(trainer.model, held_out, recipe)
                console.print(f"step {done:,}  {text}  unseen {unseen:.4f}")


def count_tokens(trainer: Trainer) -> float:
    """How many tokens of both sides a step learns from, in the mean."""
    batches = trainer.batches
    total = sum(len(a) + len(b) - 1 for a, b in batches.examples)
    return total / len(batches.order) * trainer.recipe.accumulate


@app.command()
def evaluate(
    model: Annotated[
        Path, typer.Option(help="A file of train; none: the book's own.")
    ] = GRAMMAR,
    corpus: Annotated[str, typer.Option(help=CORPUS_HELP)] = "grammar",
    n: Annotated[
        int, typer.Option(help="How many of each test.", min=1)
    ] = 1000,
    beam: Annotated[
        int, typer.Option(help="Beginnings to keep; 1 is greedy.", min=1)
    ] = 1,
) -> None:
    """Score a translator on sentences that it was not trained on."""
    translator = Translator.load(model)
    table = Table("test", "sentences", "exact", "BLEU", "chrF", "seconds")
    for name, pairs in load_corpus(corpus).tests.items():
        sources, targets = zip(*pairs[:n], strict=True)
        start = time.perf_counter()
        outputs = translator.translate(sources, beam=beam)
        seconds = time.perf_counter() - start
        scores = score(outputs, [untokenise(target) for target in targets])
        cells = [f"{share:.1f}" for share in (*scores, seconds)]
        table.add_row(name, f"{len(sources):,}", *cells)
    Console().print(table)


def main() -> None:
    """Run the command; an error is one line, and the exit status 1."""
    try:
        app()
    except (ArithmeticError, ImportError, OSError, ValueError) as error:
        typer.echo(f"attention-book: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
