# Made from docs/chapters/12-training.md (b827457dd5d3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import math
import os
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from attention_book.corpus import (
    END,
    START,
    Tokens,
    make_batches,
    pad,
    tokens_from_json,
    tokens_to_json,
)
from attention_book.decoder import shift
from attention_book.gpu import Precision, choose, computing, seeded
from attention_book.multi_head import Packed, Packing
from attention_book.transformer import Transformer, TransformerConfig

ROWS = 256  # whose logits are held at a time
Tensors = dict[str, Tensor]
Notes = dict[str, str]


@torch.library.custom_op("attention_book::cross_entropy", mutates_args=())
def loss_and_slopes(
    x: Tensor,
    weight: Tensor,
    words: Tensor,
    smoothing: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean loss and its slopes at x and at weight."""
    loss, n = x.new_zeros((), dtype=torch.float32), len(x)
    x_slope, weight_slope = torch.empty_like(x), torch.zeros_like(weight)
    table = weight.to(dtype)
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        read = x[rows].to(dtype)
        logits, right = F.linear(read, table).float(), words[rows, None]
        log_sum = logits.logsumexp(-1, keepdim=True)
        loss += (log_sum - logits.gather(1, right)).sum() * (1 - smoothing)
        if smoothing:
            mean = logits.mean(-1, keepdim=True)
            loss += (log_sum - mean).sum() * smoothing
        slope = (logits - log_sum).exp_().sub_(smoothing / len(weight))
        less = torch.full_like(log_sum, smoothing - 1)
        slope = slope.scatter_add_(1, right, less).to(dtype)
        x_slope[rows] = slope @ table
        weight_slope += slope.T @ read
    return loss.div_(n), x_slope.div_(n), weight_slope.div_(n)


@loss_and_slopes.register_fake
def shapes_of_them(x: Tensor, weight: Tensor, *_: Any) -> tuple[Tensor, ...]:
    """Say what comes out, for torch.compile."""
    loss = x.new_empty((), dtype=torch.float32)
    return loss, torch.empty_like(x), torch.empty_like(weight)


def keep_slopes(ctx: Any, inputs: Any, output: tuple[Tensor, ...]) -> None:
    """Keep for later what the loss came with."""
    ctx.save_for_backward(*output[1:])
    ctx.set_materialize_grads(False)  # nobody asks for slopes of slopes


def hand_on(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    """Hand on the gradients of x and weight."""
    x_slope, weight_slope = ctx.saved_tensors
    return grad * x_slope, grad * weight_slope, None, None, None


loss_and_slopes.register_autograd(hand_on, setup_context=keep_slopes)


def cross_entropy(
    x: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "n_words d_model"],
    words: Int[Tensor, " tokens"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Mean loss of words under logits x Wᵀ, which are never held whole.

    Args:
        x: What is known at each place.
        weight: The output layer.
        words: The right ones.
        smoothing: Share of the target that goes to all words alike.

    Source: Szegedy et al. (2016), §7, for the smoothing.
    """
    kind, dtype = x.device.type, x.dtype
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    loss: Tensor = loss_and_slopes(x, weight, words, smoothing, dtype)[0]
    return loss


Example = tuple[list[int], list[int]]  # source; target with both ends


class Batch(NamedTuple):
    """Sentences that are trained on together."""

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]  # with <start> and <end>
    target_lengths: Int[Tensor, " batch"]
    reading: Packing  # where the words of the source stand
    writing: Packing  # where those to be written stand


def encode_pairs(
    pairs: Sequence[tuple[str, str]], source: Tokens, target: Tokens
) -> list[Example]:
    """Turn pairs of texts into numbers, with both ends on the target."""
    return [
        (source.encode(text), [START, *target.encode(translation), END])
        for text, translation in pairs
    ]


def make_batch(examples: Sequence[Example], device: torch.device) -> Batch:
    """Pad the examples into one batch."""
    sides = [list(side) for side in zip(*examples, strict=True)]
    (source, n_source), (target, n_target) = map(pad, sides)
    reading = Packing(n_source, source.shape[1])
    writing = Packing(n_target - 1, target.shape[1] - 1)
    return Batch(
        source.to(device),
        n_source.to(device),
        target.to(device),
        n_target.to(device),
        reading.to(device),
        writing.to(device),
    )


def translation_loss(
    model: Transformer, batch: Batch, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Mean cross-entropy of each next word, given the right ones so far."""
    read, write = shift(batch.target)
    source, target = batch.reading, batch.writing
    memory = source.pack(model.source(batch.source))
    memory = model.encoder(memory, Packed(source, source))
    x = model.decoder(
        target.pack(model.target(read)),
        memory,
        Packed(target, source),
        mask=Packed(target, target),
    )
    weight, words = model.target.words.weight, target.pack(write)
    return cross_entropy(x, weight, words, smoothing)


Schedule = Literal["cosine", "paper"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train: by default what makes the model of the grammar.

    Attributes:
        n_steps: How often the parameters are moved.
        max_tokens: The most tokens in a batch on either side, padding too.
        accumulate: Batches whose gradients make one step.
        learning_rate: What the cosine falls from; the paper's has its own.
        warm_up: Steps in which the rate rises.
        schedule: How the rate falls after them.
        betas: How long AdamW remembers gradients, and their squares.
        weight_decay: How far AdamW pulls parameters to 0, times the rate.
        smoothing: Share of the target that goes to all words alike.
        clip: The longest gradient; longer ones are shortened to it.
        precision: fp32, tf32, or bf16 or fp16 for what autocast deems safe.
        seed: Decides dropout and the order of batches.

    Raises:
        ValueError: A number or a kind is out of range.
    """

    n_steps: int = 2200
    max_tokens: int = 1400
    accumulate: int = 1
    learning_rate: float = 1.5e-3
    warm_up: int = 100
    schedule: Schedule = "cosine"
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    smoothing: float = 0.0
    clip: float = 1.0
    precision: Precision = "fp32"
    seed: int = 0

    def __post_init__(self) -> None:
        check_recipe(self)


def check_recipe(r: Recipe) -> None:
    """Raise ValueError unless each entry makes sense."""
    for name in ("n_steps", "max_tokens", "accumulate", "warm_up"):
        if type(got := getattr(r, name)) is not int or got < 1:
            raise ValueError(
                f"{name} must be a positive whole number, got {got!r}"
            )
    for name in ("learning_rate", "clip"):
        if not 0 < (got := getattr(r, name)) < math.inf:
            raise ValueError(f"{name} must be positive, got {got!r}")
    shares = {"smoothing": r.smoothing, "weight_decay": r.weight_decay}
    shares |= {f"betas[{i}]": beta for i, beta in enumerate(r.betas)}
    for name, share in shares.items():
        if not 0 <= share < 1:
            raise ValueError(f"{name} must be in [0, 1), got {share!r}")
    for name, kind in {"schedule": Schedule, "precision": Precision}.items():
        if (got := getattr(r, name)) not in get_args(kind):
            raise ValueError(
                f"{name} must be one of {get_args(kind)}, got {got!r}"
            )


def rate_at(step: int, recipe: Recipe, d_model: int) -> float:
    """Return the learning rate of a step; the first one is number 1.

    Source: Vaswani et al. (2017), §5.3, eq. 3; Loshchilov and Hutter (2017),
        §3, eq. 5, without restarts, for the cosine.
    """
    if recipe.schedule == "paper":
        rise = step * recipe.warm_up**-1.5
        return float(d_model**-0.5 * min(step**-0.5, rise))
    rise = min(1.0, step / recipe.warm_up)
    done = min(1.0, step / recipe.n_steps)
    fall = 0.5 * (1 + math.cos(math.pi * done))
    return recipe.learning_rate * rise * (0.02 + 0.98 * fall)


class Batches:
    """Batches without end: the same number is always the same batch.

    Args:
        examples: What they are made of, each pass in another order.
        recipe: Says how much a batch holds, and the seed of the order.
        device: Where the batches shall lie.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        recipe: Recipe,
        device: torch.device,
    ) -> None:
        if not examples:
            raise ValueError("examples must not be empty")
        self.examples, self.recipe, self.device = examples, recipe, device
        self.lengths = [max(map(len, example)) for example in examples]
        self.epoch, self.order = 0, self.shuffle(0)

    def shuffle(self, epoch: int) -> list[list[int]]:
        """Return which examples are in each batch of a pass."""
        rng = random.Random(f"{self.recipe.seed} {epoch}")
        return make_batches(self.lengths, self.recipe.max_tokens, rng)

    def __getitem__(self, number: int) -> Batch:
        epoch, i = divmod(number, len(self.order))
        if epoch != self.epoch:
            self.epoch, self.order = epoch, self.shuffle(epoch)
        rows = [self.examples[row] for row in self.order[i]]
        return make_batch(rows, self.device)


Loss = Callable[[Any, Batch, float], Tensor]  # of a model; the smoothing


class Learner(nn.Module):
    """A model and its loss, so that both are one call."""

    def __init__(self, model: nn.Module, loss_of: Loss) -> None:
        super().__init__()
        self.model, self.loss_of = model, loss_of

    def forward(self, batch: Batch, smoothing: float) -> Tensor:
        """Return the loss of a batch."""
        return self.loss_of(self.model, batch, smoothing)


class Team:
    """The processes that train one model together: here, one alone."""

    rank, size = 0, 1

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError if the work can not be shared evenly."""

    def wrap(self, learner: Learner) -> nn.Module:
        """Make the learner's gradients be shared."""
        return learner

    def share(
        self, learner: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are shared in the last backward pass only."""
        return nullcontext()

    def sum(self, number: Tensor) -> Tensor:
        """Add up a number of each process."""
        return number

    def whole(self, number: Tensor) -> Tensor:
        """Put together a number whose parts lie with the processes."""
        return number


ALONE = Team()


def add_gradients(trainer: "Trainer", step: int) -> Float[Tensor, ""]:
    """Add up the gradients of a step; return its mean loss."""
    r, team, n = trainer.recipe, trainer.team, trainer.recipe.accumulate
    engine, total = trainer.engine, torch.zeros((), device=trainer.device)
    for i in range((step - 1) * n + team.rank, step * n, team.size):
        last = i + team.size >= step * n
        with (
            team.share(trainer.learner, last),
            seeded(engine, r.seed * 1_000_003 + i + 1),
            computing(engine),
        ):
            with engine.autocast():
                loss = trainer.learner(trainer.batches[i], r.smoothing)
            trainer.scaler.scale(loss * team.size / n).backward()
        total += loss.detach() / n
    return team.sum(total)


def check_finite(step: int, loss: float, length: float, scale: float) -> None:
    """Raise ArithmeticError if a step went wrong.

    A scaled gradient may run over: then it is scaled less, down to 1.
    """
    if math.isfinite(loss) and (math.isfinite(length) or scale > 1):
        return
    raise ArithmeticError(
        f"step {step}: the loss is {loss}, the length of the gradient {length}"
    )


class Trainer:
    """Moves a model's parameters, by a recipe, to make loss_of smaller.

    Source: Loshchilov and Hutter (2019), algorithm 2, for AdamW.
    """

    def __init__(
        self,
        model: Transformer,
        examples: Sequence[Example],
        recipe: Recipe,
        loss_of: Loss = translation_loss,
        team: Team = ALONE,
    ) -> None:
        self.device = device = model.target.words.weight.device
        self.model, self.recipe, self.team = model, recipe, team
        team.check(recipe)
        self.engine = choose(device, recipe.precision)
        self.learner = team.wrap(Learner(model, loss_of))
        self.batches = Batches(examples, recipe, device)
        self.losses: list[float] = []  # of each step so far
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        self.scaler = self.engine.scaler()

    def step(self) -> float:
        """Take one step, or raise ArithmeticError; return the loss before."""
        number, r, team = len(self.losses) + 1, self.recipe, self.team
        self.model.train()
        self.optimizer.zero_grad()
        total = add_gradients(self, number)
        self.scaler.unscale_(self.optimizer)
        length = clip_grad_norm_(self.model.parameters(), r.clip)
        loss, size = torch.stack([total, team.whole(length)]).tolist()
        check_finite(number, loss, size, self.scaler.get_scale())
        rate = rate_at(number, r, self.model.config.d_model)
        self.optimizer.param_groups[0]["lr"] = rate
        self.scaler.step(self.optimizer)  # not if the gradient ran over
        self.scaler.update()
        self.losses.append(float(loss))
        return self.losses[-1]


@torch.no_grad()
def held_out_loss(
    model: Transformer, examples: Sequence[Example], recipe: Recipe
) -> float:
    """Return the mean loss of a word, without smoothing and dropout."""
    device = model.target.words.weight.device
    batches = Batches(examples, recipe, device)
    total, n_words, was_training = 0.0, 0, model.training
    model.eval()
    for i in range(len(batches.order)):
        words = int(batches[i].target_lengths.sum() - len(batches.order[i]))
        total += translation_loss(model, batches[i]).item() * words
        n_words += words
    model.train(was_training)
    return total / n_words


def digest_of(tensors: Tensors, notes: Notes) -> str:
    """Return a digest of all numbers and all notes."""
    digest = hashlib.sha256(json.dumps(sorted(notes.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_tensors(path: str | Path, tensors: Tensors, notes: Notes) -> None:
    """Write a safetensors file: whole, or not at all.

    Raises:
        OSError: It can not be written; what was there before is still there.
    """
    path, beside = Path(path), Path(f"{path}.part")
    flat = {name: t.cpu().contiguous() for name, t in tensors.items()}
    try:
        with beside.open("wb") as file:
            file.write(save(flat, notes | {"digest": digest_of(flat, notes)}))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(f"{path}: could not be written: {error}") from None


def read_tensors(path: str | Path) -> tuple[Tensors, Notes]:
    """Read what write_tensors wrote; ValueError if it is not as it was."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path}: wanted a file, got a folder")
    data = Path(path).read_bytes()  # at once: it may be replaced meanwhile
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(
            f"{path}: wanted a whole safetensors file, got: {error}"
        ) from None
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    notes: Notes = json.loads(header).get("__metadata__", {})
    if notes.pop("digest", "") != digest_of(tensors, notes):
        raise ValueError(
            f"{path}: altered, or not written by attention_book: the digest "
            "does not fit"
        )
    return tensors, notes


@torch.no_grad()
def copy_parameters(
    path: str | Path, model: Transformer, tensors: Tensors
) -> None:
    """Fill the model; ValueError, and nothing filled, if any does not fit."""
    for name, parameter in model.named_parameters():
        found = tensors.get(f"model.{name}")
        if found is None or found.shape != parameter.shape:
            raise ValueError(
                f"{path}: wanted {name} of shape {tuple(parameter.shape)}, "
                f"got {'none' if found is None else tuple(found.shape)}"
            )
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[f"model.{name}"])


def save_model(
    path: str | Path,
    model: Transformer,
    source: Tokens,
    target: Tokens,
    *,
    dtype: torch.dtype = torch.float32,
    more: tuple[Tensors, Notes] = ({}, {}),
) -> None:
    """Write a model with its configuration and vocabularies into one file.

    dtype is that of the parameters in the file; more goes there as well.
    """
    tensors = {
        f"model.{name}": parameter.to(dtype)
        for name, parameter in model.named_parameters()
    }
    notes = {
        "config": json.dumps(asdict(model.config)),
        "source": tokens_to_json(source),
        "target": "" if target is source else tokens_to_json(target),
    }
    write_tensors(path, tensors | more[0], notes | more[1])


def load_model(path: str | Path) -> tuple[Transformer, Tokens, Tokens]:
    """Read a model and its vocabularies; ValueError says what is wrong."""
    tensors, notes = read_tensors(path)
    try:
        config = TransformerConfig(**json.loads(notes["config"]))
        source = tokens_from_json(notes["source"])
        target = notes["target"] and tokens_from_json(notes["target"])
    except KeyError as error:
        raise ValueError(f"{path}: has no {error}, so is no model") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: is no model of ours: {error}") from None
    model = Transformer(config)
    copy_parameters(path, model, tensors)
    return model.eval(), source, target or source


def origin(trainer: Trainer) -> Notes:
    """What a checkpoint must have in common with who goes on from it."""
    examples = json.dumps(trainer.batches.examples).encode()
    corpus = {"digest": hashlib.sha256(examples).hexdigest()}
    return {
        "config": json.dumps(asdict(trainer.model.config)),
        "recipe": json.dumps(asdict(trainer.recipe)),
        "corpus": json.dumps(corpus),
    }


def progress_of(trainer: Trainer) -> Tensors:
    """What a checkpoint holds besides: losses and, for fp16, the scale."""
    losses = torch.tensor(trainer.losses, dtype=torch.float64)
    scaler = trainer.scaler.state_dict()
    scale = [scaler[k] for k in ("scale", "_growth_tracker") if k in scaler]
    found = {"losses": losses}
    if scale:
        found["scale"] = torch.tensor(scale, dtype=torch.float64)
    return found


def set_progress(trainer: Trainer, found: Tensors) -> None:
    """Bring the trainer to this step."""
    trainer.losses = found["losses"].tolist()
    if "scale" in found:
        scaler, (scale, steps) = trainer.scaler, found["scale"].tolist()
        new = {"scale": scale, "_growth_tracker": int(steps)}
        scaler.load_state_dict(scaler.state_dict() | new)


def save_checkpoint(
    path: str | Path, trainer: Trainer, source: Tokens, target: Tokens
) -> None:
    """Write the model with all that it takes to go on training it."""
    state = trainer.optimizer.state_dict()["state"]
    names = [name for name, _ in trainer.model.named_parameters()]
    tensors = {
        f"optimizer.{names[i]}.{kind}": value
        for i, kinds in state.items()
        for kind, value in kinds.items()
    }
    more = tensors | progress_of(trainer), origin(trainer)
    save_model(path, trainer.model, source, target, more=more)


def check_origin(path: str | Path, trainer: Trainer, notes: Notes) -> None:
    """Raise ValueError unless the checkpoint is this trainer's own."""
    for kind, wanted in origin(trainer).items():
        made = json.loads(notes.get(kind, "null")) or {}
        for name, value in json.loads(wanted).items():
            if made.get(name) != value:
                raise ValueError(
                    f"{path}: made with {kind} {name} = {made.get(name)!r}, "
                    f"wanted {value!r}"
                )


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        ValueError: It is of another model, recipe or corpus, or no
            checkpoint; the trainer is then as it was.
    """
    tensors, notes = read_tensors(path)
    check_origin(path, trainer, notes)
    if "losses" not in tensors:
        raise ValueError(f"{path}: has no losses, so is no checkpoint")
    copy_parameters(path, trainer.model, tensors)
    names = [name for name, _ in trainer.model.named_parameters()]
    kinds = ("step", "exp_avg", "exp_avg_sq")
    state = {
        i: {kind: tensors[f"optimizer.{name}.{kind}"] for kind in kinds}
        for i, name in enumerate(names)
        if f"optimizer.{name}.step" in tensors
    }
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    set_progress(trainer, tensors)
