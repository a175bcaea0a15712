# Made from docs/chapters/28-command-line.md (a32f3cedea83). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import torch
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer import Argument, Option

from attention_book import __version__, scale_out
from attention_book.corpus import (
    SPECIAL,
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
from attention_book.decoding import GRAMMAR, Translator, cross_weights, score
from attention_book.gpu import Engine, Precision, choose
from attention_book.training import (
    Example,
    Loss,
    Recipe,
    Schedule,
    Team,
    Trainer,
    encode_pairs,
    load_model,
    translation_loss,
)
from attention_book.transformer import Transformer, TransformerConfig
from attention_book.vit import DIGITS, Classifier


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
    context_settings={"help_option_names": ["-h", "--help"]},
)
CORPUS_HELP = "grammar, catalogues, dataset:NAME, or a .tsv file"


def show_version(wanted: bool) -> bool:
    """Print the version and stop, if that is wanted."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=show_version,
            is_eager=True,
            help="Show the version and stop.",
        ),
    ] = False,
) -> None:
    """Train and use the models of the Attention Book."""


def make_console() -> Console:
    """Make a console that prints texts as they are, brackets and all."""
    return Console(markup=False, emoji=False, highlight=False)


@app.command("corpus")
def show_corpus(
    name: Annotated[str, Argument(help=CORPUS_HELP)] = "grammar",
    n: Annotated[
        int, Option("--n", "-n", help="How many pairs to show.", min=0)
    ] = 8,
) -> None:
    """Preview a corpus and count what is in it."""
    corpus = load_corpus(name)
    console = make_console()
    parts = {"training": corpus.train, **corpus.tests}
    columns = ("part", "pairs", "words a source", "characters a target")
    counts = Table(*columns, box=SIMPLE)
    for part, pairs in parts.items():
        words = sum(len(source.split()) for source, _ in pairs)
        characters = sum(len(untokenise(target)) for _, target in pairs)
        means = [f"{total / len(pairs):.1f}" for total in (words, characters)]
        counts.add_row(part, f"{len(pairs):,}", *means)
    console.print(counts)
    some = Table("source", "target", box=SIMPLE)
    for source, target in corpus.train[:n]:
        some.add_row(untokenise(source), untokenise(target))
    if n:
        console.print(some)


ModelFile = Annotated[
    Path,
    Option(help="A file made by train.", show_default="the book's own model"),
]
BeamSize = Annotated[  # even small vocabularies have more than 100 words
    int,
    Option(help="Beginnings to keep; 1 is greedy.", min=1, max=100),
]


DeviceName = Annotated[
    str, Option(help="auto, cpu, cuda, cuda:N or mps; auto: the best here.")
]
PrecisionName = Annotated[
    Literal["auto", Precision],
    Option(help="How exactly to compute; auto: what suits the device."),
]


def load_translator(path: Path, engine: Engine) -> Translator:
    """Read a model; ValueError says what is wrong with the file."""
    refuse_folder(path)
    return Translator.load(path, engine)


def refuse_folder(path: Path) -> None:
    """Raise ValueError if it is a folder and no file."""
    if path.is_dir():
        raise ValueError(f"{path}: wanted a file, got a folder")


@app.command()
def translate(
    texts: Annotated[
        list[str] | None,
        Argument(
            help="Sentences, each in quotes.", show_default="standard input"
        ),
    ] = None,
    file: Annotated[
        Path | None, Option(help="Translate each line of this file.")
    ] = None,
    model: ModelFile = GRAMMAR,
    beam: BeamSize = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    show_attention: Annotated[
        bool, Option("--show-attention", help="Draw where it looks.")
    ] = False,
) -> None:
    """Translate English sentences, by default with the book's model."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    engine = choose(device, precision)
    lines = texts or read_lines(file)
    translator = load_translator(model, engine)
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
    if not file and sys.stdin.isatty():  # somebody is typing
        end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
        typer.echo(f"Type one sentence a line; {end} ends.", err=True)
    data = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: wanted UTF-8, got another byte at {error.start}"
        ) from None
    if not text.strip():
        raise ValueError(f"{name}: nothing to translate")
    return [line.removesuffix("\r") for line in text.split("\n")]


def check_line(translator: Translator, line: str, number: int) -> None:
    """Raise ValueError, with the line's number, unless it can be read."""
    try:
        if line.strip() or not number:
            translator.read(line)
    except ValueError as error:
        where = f"line {number}: " if number else ""
        known = ""
        if isinstance(translator.source, Vocabulary) and line.strip():
            n = len(translator.source) - len(SPECIAL)
            known = f" (this model knows {n}; see: attention-book corpus)"
        raise ValueError(f"{where}{error}{known}") from None


def draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print how much each word written looked at each word read."""
    source = translator.read(text)
    (target,) = translator.write([source], beam)
    weights = cross_weights(translator.model, source, target)
    shares = weights.mean((0, 1)).tolist()  # of all layers and heads
    heads = [translator.source.decode([word]) for word in source]
    table = Table(*heads, "", box=SIMPLE)
    for word, row in zip(target, shares, strict=True):
        cells = [" ░▒▓█"[min(4, int(5 * share))] * 3 for share in row]
        table.add_row(*cells, translator.target.decode([word]) or "<end>")
    make_console().print(table)


Out = Annotated[Path, Argument(help="Where to keep the model.")]
CorpusName = Annotated[str, Option(help=CORPUS_HELP)]
Steps = Annotated[int, Option(help="How many steps to take.")]
MaxTokens = Annotated[int, Option(help="Most tokens a batch, on either side.")]
Accumulate = Annotated[int, Option(help="Batches a step.")]
Rate = Annotated[float, Option(help="Peak learning rate.")]
WarmUp = Annotated[int, Option(help="Steps to the peak.")]
Falling = Annotated[Schedule, Option(help="How the rate falls after it.")]
Smoothing = Annotated[float, Option(help="Label smoothing.")]
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
Sharded = Annotated[
    bool, Option("--sharded", help="Under torchrun: cut the model up (FSDP).")
]


@app.command()
def train(
    out: Out,
    corpus: CorpusName = "grammar",
    steps: Steps = 2200,
    tokens: MaxTokens = 1400,
    accumulate: Accumulate = 1,
    rate: Rate = 1.5e-3,
    warm_up: WarmUp = 100,
    schedule: Falling = "cosine",
    smoothing: Smoothing = 0.0,
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
    sharded: Sharded = False,
) -> None:
    """Train a translator, or go on with one that was cut off."""
    if sharded and compiled:
        raise ValueError("give --sharded or --compile, not both")
    shape: Numbers = {"d_model": d_model, "n_heads": heads}
    shape |= {"n_layers": layers}
    shape |= {"d_ff": 4 * d_model, "dropout": dropout, "norm": "pre"}
    numbers: Numbers = {"n_steps": steps, "max_tokens": tokens, "seed": seed}
    numbers |= {"accumulate": accumulate, "learning_rate": rate}
    numbers |= {"warm_up": warm_up, "schedule": schedule}
    numbers |= {"smoothing": smoothing}
    choices = Choices(out, corpus, subwords, save_every, compiled)
    joined = scale_out.joined(out, device, sharded=sharded, say=complain)
    with joined as (team, own):
        engine = choose(own, precision)
        recipe = Recipe(precision=engine.precision, **numbers)
        train_model(choices, recipe, shape, engine, team)


Numbers = dict[str, Any]


class Choices(NamedTuple):
    """What train is asked to do, besides model and recipe."""

    out: Path
    corpus: str
    n_subwords: int
    save_every: int
    compiled: bool


def compile_loss() -> Loss:
    """Compile forward and backward pass, once for all lengths."""
    return torch.compile(translation_loss, fullgraph=True, dynamic=True)


def train_model(
    choices: Choices,
    recipe: Recipe,
    shape: Numbers,
    engine: Engine,
    team: Team,
) -> None:
    """Make what is needed, go on where a checkpoint is, and train."""
    out, name, n_subwords, save_every, compiled = choices
    refuse_folder(out)
    corpus = load_corpus(name)
    loss_of = compile_loss() if compiled else translation_loss
    if old := scale_out.seen_by_all(out, team, engine.device):
        _, *words = load_model(out)
    else:
        words = learn_words(corpus, name, n_subwords)
    say = typer.echo if team.rank == 0 else leave_unsaid
    say(engine)
    try:
        model = make_model(words, shape, recipe, engine)
        examples = encode_pairs(corpus.train, *words)
        trainer = Trainer(model, examples, recipe, loss_of, team)
        scale_out.check_agreement(trainer)
        if old:
            scale_out.go_on(out, trainer)
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
    words: list[Tokens], shape: dict[str, Any], recipe: Recipe, engine: Engine
) -> Transformer:
    """Make a new model for these words; the same seed makes the same."""
    source, target = words
    shape |= {"n_source": len(source), "n_target": len(target)}
    torch.manual_seed(recipe.seed)
    config = TransformerConfig(shared=target is source, **shape)
    return Transformer(config).to(engine.device)


def leave_unsaid(*_: object, **__: object) -> None:
    """Say nothing: another process says it."""


def run_steps(
    trainer: Trainer,
    held_out: list[Example],
    save: Callable[[], None],
    save_every: int,
) -> None:
    """Take the steps that are left, and show how it goes."""
    console, n_steps = make_console(), trainer.recipe.n_steps
    console.quiet = trainer.team.rank > 0  # the first one shows it
    columns = ("{task.description}", "{task.completed} of {task.total} steps")
    shown = [*map(TextColumn, columns), BarColumn(), TimeRemainingColumn()]
    quiet = console.quiet or not console.is_terminal
    with Progress(
        *shown, console=console, transient=True, disable=quiet
    ) as progress:
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
                unseen = scale_out.unseen_loss(trainer, held_out)
                console.print(f"step {done:,}  {text}  unseen {unseen:.4f}")


def count_tokens(trainer: Trainer) -> float:
    """How many tokens of both sides a step learns from, in the mean."""
    batches = trainer.batches
    total = sum(len(a) + len(b) - 1 for a, b in batches.examples)
    return total / len(batches.order) * trainer.recipe.accumulate


@app.command()
def evaluate(
    model: ModelFile = GRAMMAR,
    corpus: Annotated[str, Option(help=CORPUS_HELP)] = "grammar",
    n: Annotated[
        int, Option("--n", "-n", help="How many of each test.", min=1)
    ] = 1000,
    beam: BeamSize = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
) -> None:
    """Score a translator on sentences that it was not trained on."""
    translator = load_translator(model, choose(device, precision))
    columns = ("test", "sentences", "exact", "BLEU", "chrF", "seconds")
    table = Table(*columns, box=SIMPLE)
    for name, pairs in load_corpus(corpus).tests.items():
        sources, targets = zip(*pairs[:n], strict=True)
        for source in sources:
            check_line(translator, source, 0)
        start = time.perf_counter()
        outputs = translator.translate(sources, beam=beam)
        seconds = time.perf_counter() - start
        scores = score(outputs, [untokenise(target) for target in targets])
        cells = [f"{share:.1f}" for share in (*scores, seconds)]
        table.add_row(name, f"{len(sources):,}", *cells)
    make_console().print(table)


@app.command()
def classify(
    images: Annotated[
        list[Path], Argument(help="Image files with a digit in each.")
    ],
    model: Annotated[
        Path,
        Option(
            help="A file of a Classifier.", show_default="the book's own model"
        ),
    ] = DIGITS,
    n: Annotated[
        int, Option("--n", "-n", help="How many guesses to show.", min=1)
    ] = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
) -> None:
    """Say which handwritten digit an image shows."""
    refuse_folder(model)
    classifier = Classifier.load(model, choose(device, precision))
    for image in images:
        guesses = classifier.classify(image)[:n]
        text = ", ".join(f"{label} {share:.1%}" for label, share in guesses)
        typer.echo(f"{image}: {text}" if len(images) > 1 else text)


def complain(text: object) -> None:
    """Say, in one line, what is wrong."""
    typer.echo(f"attention-book: {text}", err=True)


def main() -> None:
    """Run the command; an error is one line, and the exit status 1."""
    try:
        app()
    except scale_out.EXPECTED as error:
        complain(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
