# Made from docs/chapters/15-vit.md (964b8960463e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from attention_book.encoder import Encoder, EncoderLayer, FeedForward, PreNorm
from attention_book.gpu import ON_CPU, Engine, computing, deploy
from attention_book.multi_head import (
    MultiHeadAttention,
    attention_weights,
    check_heads,
)
from attention_book.positions import LearnedPositions
from attention_book.training import (
    Recipe,
    Tensors,
    rate_at,
    read_tensors,
    write_tensors,
)

Images = Float[Tensor, "batch channels height width"]


def to_patches(
    images: Images, size: int
) -> Float[Tensor, "batch patches numbers"]:
    """Cut images into squares, row by row, each as one vector.

    In the notation of einops: b c (h p1) (w p2) -> b (h w) (p1 p2 c), with
    p1 = p2 = size.

    Raises:
        ValueError: size does not divide height and width.

    Source: Dosovitskiy et al. (2021), §3.1.
    """
    batch, channels, height, width = images.shape
    if size < 1 or height % size or width % size:
        raise ValueError(
            f"size must divide height and width, got {size} for "
            f"{height} by {width}"
        )
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 2, 4, 3, 5, 1)  # b h w p1 p2 c
    return x.reshape(batch, rows * columns, size * size * channels)


Pooling = Literal["class", "mean"]


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The numbers of a ViT: by default those of ViT-B/16 for ImageNet.

    Attributes:
        image_size: Height and width of the images.
        patch_size: Height and width of a patch; divides image_size.
        n_channels: 3 for colour, 1 for grey.
        n_classes: Number of answers; 0 for a model without a head.
        d_model: Width of the patch vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Share dropped in training, as in the paper's appendix B.1.
        pooling: Read the answer off a class token, or off the mean.
        epsilon: What layer normalisation adds to the variance.

    Raises:
        ValueError: A number or a kind is out of range, or they do not fit.

    Source: Dosovitskiy et al. (2021), table 1.
    """

    image_size: int = 224
    patch_size: int = 16
    n_channels: int = 3
    n_classes: int = 1000
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.0
    pooling: Pooling = "class"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        check_vit(self)

    @property
    def grid(self) -> int:
        """How many patches stand side by side."""
        return self.image_size // self.patch_size


def check_vit(c: ViTConfig) -> None:
    """Raise ValueError unless each entry makes sense and all fit."""
    counts = "image_size patch_size n_channels d_model n_heads d_ff n_layers"
    for name in (*counts.split(), "n_classes"):
        least = 0 if name == "n_classes" else 1
        # type, because isinstance takes True for an int
        if type(got := getattr(c, name)) is not int or got < least:
            raise ValueError(
                f"{name} must be a whole number >= {least}, got {got!r}"
            )
    if c.image_size % c.patch_size:
        raise ValueError(
            f"patch_size must divide image_size = {c.image_size}, "
            f"got {c.patch_size}"
        )
    check_heads(c.d_model, c.n_heads, c.n_heads)
    for name in ("dropout", "epsilon"):
        got = getattr(c, name)
        if not isinstance(got, int | float) or not 0 <= got < 1:
            raise ValueError(f"{name} must be in [0, 1), got {got!r}")
    if c.pooling not in get_args(Pooling):
        raise ValueError(
            f"pooling must be one of {get_args(Pooling)}, got {c.pooling!r}"
        )


def make_layer(c: ViTConfig) -> EncoderLayer:
    """Make one layer: pre-norm, with GELU."""
    return EncoderLayer(
        MultiHeadAttention(c.d_model, c.n_heads),
        FeedForward(c.d_model, c.d_ff, activation=F.gelu, dropout=c.dropout),
        (PreNorm(c.d_model, c.dropout), PreNorm(c.d_model, c.dropout)),
    )


def set_epsilon(model: nn.Module, epsilon: float) -> None:
    """Let every layer normalisation add epsilon to the variance."""
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = epsilon


class ViTParts(nn.Module):
    """The parts of a ViT, and how an image becomes tokens."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = c = config
        self.embed = nn.Linear(c.n_channels * c.patch_size**2, c.d_model)
        self.class_token: nn.Parameter | None = None
        if c.pooling == "class":
            self.class_token = nn.Parameter(torch.zeros(c.d_model))
        n_tokens = c.grid**2 + (c.pooling == "class")
        self.positions = LearnedPositions(n_tokens, c.d_model)
        nn.init.normal_(self.positions.table, std=0.5)  # as the patches are
        self.dropout = nn.Dropout(c.dropout)
        layers = [make_layer(c) for _ in range(c.n_layers)]
        self.encoder = Encoder(layers, nn.LayerNorm(c.d_model))
        self.head: nn.Module = nn.Identity()
        if c.n_classes:
            self.head = nn.Linear(c.d_model, c.n_classes)
        set_epsilon(self, c.epsilon)

    def tokens(self, images: Images) -> Float[Tensor, "batch tokens d_model"]:
        """Return a vector for each patch, with its position; class first.

        Raises:
            ValueError: The images are not of the configured shape.
        """
        c = self.config
        wanted = (c.n_channels, c.image_size, c.image_size)
        if images.shape[1:] != wanted or not images.is_floating_point():
            raise ValueError(
                f"images must be a floating-point tensor (batch, {wanted[0]}, "
                f"{wanted[1]}, {wanted[2]}), got {images.dtype} of shape "
                f"{tuple(images.shape)}"
            )
        x = self.embed(to_patches(images, c.patch_size))
        if self.class_token is not None:
            first = self.class_token.expand(len(x), 1, -1)
            x = torch.cat([first, x], dim=1)
        output: Tensor = self.dropout(self.positions(x))
        return output


class ViT(ViTParts):
    """Vision Transformer: patches in, logits of the classes out.

    Args:
        config: The numbers.

    Source: Dosovitskiy et al. (2021), §3.1, eq. 1 to 4; Beyer et al. (2022)
        for the mean. The paper's head for pre-training has a hidden layer;
        this one is a single layer, as theirs for fine-tuning.
    """

    def forward(self, images: Images) -> Float[Tensor, "batch n_classes"]:
        """Return the logits; without a head, what it would be given."""
        x = self.encoder(self.tokens(images))
        x = x.mean(dim=1) if self.class_token is None else x[:, 0]
        return cast(Tensor, self.head(x))

    @classmethod
    def tiny(cls, **changes: Any) -> "ViT":
        """DeiT-Ti, with changes; Touvron et al. (2021), table 1."""
        sizes = {"d_model": 192, "n_heads": 3, "d_ff": 768}
        return cls(ViTConfig(**sizes | changes))

    @classmethod
    def small(cls, **changes: Any) -> "ViT":
        """DeiT-S, with changes; Touvron et al. (2021), table 1."""
        sizes = {"d_model": 384, "n_heads": 6, "d_ff": 1536}
        return cls(ViTConfig(**sizes | changes))

    @classmethod
    def base(cls, **changes: Any) -> "ViT":
        """ViT-B/16, with changes; Dosovitskiy et al. (2021), table 1."""
        return cls(ViTConfig(**changes))

    @classmethod
    def large(cls, **changes: Any) -> "ViT":
        """ViT-L/16, with changes; Dosovitskiy et al. (2021), table 1."""
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls(ViTConfig(**sizes | changes))


class Digits(NamedTuple):
    """Images of handwritten digits, and which they are."""

    images: Float[Tensor, "images 1 8 8"]  # ink, from 0 to 1
    labels: Int[Tensor, " images"]


def digits() -> tuple[Digits, Digits]:
    """Return the 1,797 digits of scikit-learn: for training, and held out.

    Every fifth image of each digit is held out.
    """
    try:
        from sklearn.datasets import (  # type: ignore[import-untyped]
            load_digits,
        )
    except ImportError:
        raise ImportError("run first: pip install scikit-learn") from None
    data = load_digits()
    images = torch.tensor(data.images / 16, dtype=torch.float32)[:, None]
    labels = torch.tensor(data.target)
    same = labels[:, None] == labels
    out = same.tril().sum(dim=1) % 5 == 0  # the fifth, tenth … of its kind
    return (
        Digits(images[~out], labels[~out]),
        Digits(images[out], labels[out]),
    )


def wobble(
    images: Images, amount: float, generator: torch.Generator
) -> Images:
    """Shift, slant, turn, stretch each image a little, each in its own way.

    amount is the standard deviation of the six numbers of the map; a shift
    of 1 is half the image.
    """
    noise = torch.randn(len(images), 2, 3, generator=generator)
    maps = (torch.eye(2, 3) + amount * noise).to(images)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def fit(
    model: nn.Module,
    data: Digits,
    *,
    n_epochs: int = 40,
    learning_rate: float = 2e-3,
    amount: float = 0.1,
    seed: int = 0,
) -> list[float]:
    """Train any classifier of images in batches of 64; return its losses.

    Args:
        model: From images to logits; is trained in place.
        data: What it learns from.
        n_epochs: How often it sees each image.
        learning_rate: What the cosine falls from.
        amount: How far images are wobbled.
        seed: Decides the order of the images, and how they wobble.
    """
    chance = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    n_steps = n_epochs * -(-len(data.images) // 64)
    plan = Recipe(
        n_steps=n_steps,
        learning_rate=learning_rate,
        warm_up=max(1, n_steps // 10),
    )
    losses: list[float] = []
    model.train()
    for _ in range(n_epochs):
        order = torch.randperm(len(data.images), generator=chance)
        for rows in torch.split(order, 64):
            rate = rate_at(len(losses) + 1, plan, d_model=1)
            optimizer.param_groups[0]["lr"] = rate
            logits = model(wobble(data.images[rows], amount, chance))
            loss = F.cross_entropy(logits, data.labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    return losses


@torch.no_grad()
def layer_weights(
    model: ViT, images: Images
) -> Float[Tensor, "layers batch heads tokens tokens"]:
    """Return how much each token looks at each other one, in all layers."""
    x, found = model.tokens(images), []
    for layer in cast(Sequence[EncoderLayer], model.encoder.layers):
        norm = cast(PreNorm, layer.around[0]).norm
        found.append(attention_weights(layer.attention, norm(x)))
        x = layer(x)
    return torch.stack(found)


def rollout(
    weights: Float[Tensor, "layers batch heads tokens tokens"],
) -> Float[Tensor, "batch tokens tokens"]:
    """Follow attention through all layers, back to the tokens at the bottom.

    A layer passes on half of what it heard, the mean of its heads, and half
    of what the token was, the residual; the product of the layers is how
    much of each token has come to each. Its rows sum to 1.

    Source: Abnar and Zuidema (2020), §3, eq. 1.
    """
    heard = weights.mean(dim=2)
    own = torch.eye(heard.shape[-1], dtype=heard.dtype, device=heard.device)
    flow = own.expand_as(heard[0])
    for layer in heard:
        flow = (0.5 * layer + 0.5 * own) @ flow
    return flow


@torch.no_grad()
def resize(model: ViT, image_size: int) -> ViT:
    """Return a copy for images of another size, positions interpolated.

    The grid of positions is stretched by bicubic interpolation, smoothed
    where it shrinks; the class token keeps its own. So enlarging is as in
    Hugging Face and shrinking as in timm, which smooths either way.

    Source: Dosovitskiy et al. (2021), §3.2.
    """
    other, table = copy.deepcopy(model), model.positions.table
    other.config = c = replace(model.config, image_size=image_size)
    old = model.config.grid
    first, grid = table[: -(old**2)], table[-(old**2) :]
    grid = grid.float().view(old, old, -1).permute(2, 0, 1)
    grid = F.interpolate(
        grid[None], c.grid, mode="bicubic", antialias=c.grid < old
    )[0]
    grid = grid.flatten(1).T.to(table.dtype)
    other.positions.table = nn.Parameter(torch.cat([first, grid]))
    return other


TIMM = {  # what is here : what is there
    "class_token": "cls_token",
    "positions.table": "pos_embed",
    "embed": "patch_embed.proj",
    "encoder.layers": "blocks",
    "around.0.norm": "norm1",
    "around.1.norm": "norm2",
    "attention.query": "attn.qkv",  # the three in one
    "attention.key": "attn.qkv",
    "attention.value": "attn.qkv",
    "attention.project_out": "attn.proj",
    "feed_forward.widen": "mlp.fc1",
    "feed_forward.narrow": "mlp.fc2",
    "encoder.norm": "norm",
    "head": "head",
}


HUGGING_FACE = {
    "class_token": "embeddings.cls_token",
    "positions.table": "embeddings.position_embeddings",
    "embed": "embeddings.patch_embeddings.projection",
    "encoder.layers": "encoder.layer",
    "around.0.norm": "layernorm_before",
    "around.1.norm": "layernorm_after",
    "attention.query": "attention.attention.query",
    "attention.key": "attention.attention.key",
    "attention.value": "attention.attention.value",
    "attention.project_out": "attention.output.dense",
    "feed_forward.widen": "intermediate.dense",
    "feed_forward.narrow": "output.dense",
    "encoder.norm": "layernorm",
    "head": "classifier",
}


def read_checkpoint(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """Return what a file holds, and what its library calls the parts.

    Raises:
        ValueError: It is no safetensors file, or no ViT.
    """
    if Path(path).is_dir():
        raise ValueError(f"{path}: wanted a file, got a folder")
    try:
        found = load(Path(path).read_bytes())
    except SafetensorError as error:
        raise ValueError(
            f"{path}: wanted a safetensors file, got: {error}"
        ) from None
    tensors = {name.removeprefix("vit."): x for name, x in found.items()}
    firsts = [f"{kind['embed']}.weight" for kind in (TIMM, HUGGING_FACE)]
    for kind, first in zip((TIMM, HUGGING_FACE), firsts, strict=True):
        if first in tensors:
            return tensors, kind
    raise ValueError(
        f"{path}: wanted a ViT of timm or Hugging Face, got neither "
        f"{firsts[0]} nor {firsts[1]}"
    )


class Checkpoint:
    """A file of timm's or Hugging Face's, read under this book's names."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.used = path, set[str]()
        self.tensors, self.names = read_checkpoint(path)
        parts = "|".join(re.escape(name) for name in self.names)
        self.pattern = re.compile(rf"\b({parts})\b")

    def name(self, ours: str) -> str:
        """Translate a name of ours into the file's."""
        return self.pattern.sub(lambda found: self.names[found[0]], ours)

    def take(self, ours: str) -> Tensor:
        """Return a tensor as it is; ValueError if there is none."""
        name = self.name(ours)
        if name not in self.tensors:
            raise ValueError(f"{self.path}: wanted {name}, got none")
        self.used.add(name)
        return self.tensors[name]

    def sizes(self, ours: str, n: int) -> torch.Size:
        """Return a tensor's shape; ValueError unless it has n axes."""
        shape = self.take(ours).shape
        if len(shape) != n:
            raise ValueError(
                f"{self.path}: wanted {self.name(ours)} with {n} axes, "
                f"got {tuple(shape)}"
            )
        return shape

    def n_layers(self) -> int:
        """Return how many layers there are."""
        stem = rf"{re.escape(self.name('encoder.layers'))}\.(\d+)\."
        found = (re.match(stem, name) for name in self.tensors)
        return 1 + max((int(x[1]) for x in found if x), default=0)


def third(file: Checkpoint, ours: str) -> Tensor:
    """Return what makes the queries, the keys or the values."""
    tensor, names = file.take(ours), ("query", "key", "value")
    if file.names is HUGGING_FACE:
        return tensor
    return tensor.chunk(3)[names.index(ours.split(".")[-2])]


def convert(file: Checkpoint, ours: str) -> Tensor:
    """Return a parameter in the form that it has here."""
    for parts in ("key", "value"), ("query",):
        whole = f"project_{'_'.join(parts)}"
        if whole in ours:
            names = [ours.replace(whole, part) for part in parts]
            return torch.cat([third(file, name) for name in names])
    tensor = file.take(ours)
    if ours == "embed.weight":
        return tensor.permute(0, 2, 3, 1).flatten(1)  # p1 p2 c
    if ours == "class_token":
        return tensor.flatten()
    return tensor.flatten(0, -2) if ours == "positions.table" else tensor


def fill(
    path: str | Path,
    config: ViTConfig,
    take: Callable[[str], Tensor],
    name: Callable[[str], str] = str,
) -> ViT:
    """Make a ViT of what take returns; ValueError if a shape does not fit.

    name is what to call a parameter in the error.
    """
    with torch.device("meta"):  # nothing is drawn at random
        model = ViT(config)
    tensors = {}
    for ours, parameter in model.named_parameters():
        found, wanted = take(ours), tuple(parameter.shape)
        if found.shape != wanted:
            raise ValueError(
                f"{path}: wanted {name(ours)} to fill {wanted}, "
                f"got {tuple(found.shape)}"
            )
        tensors[ours] = found.float()
    model.load_state_dict(tensors, assign=True)
    return model.eval()


def load_vit(path: str | Path, *, n_heads: int | None = None) -> ViT:
    """Read a ViT that timm or Hugging Face has written, as safetensors.

    Args:
        path: The file.
        n_heads: The shapes do not tell it; by default d_model / 64.

    Raises:
        ValueError: The first name that is missing, does not fit, or belongs
            to something that this ViT does not have.
    """
    file = Checkpoint(path)
    d_model, n_channels, patch_size, _ = file.sizes("embed.weight", 4)
    _, n_positions, _ = file.sizes("positions.table", 3)
    has_class = file.name("class_token") in file.tensors
    has_head = file.name("head.weight") in file.tensors
    config = ViTConfig(
        image_size=patch_size * math.isqrt(n_positions - has_class),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=len(file.take("head.weight")) if has_head else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=len(file.take("encoder.layers.0.feed_forward.widen.weight")),
        n_layers=file.n_layers(),
        pooling="class" if has_class else "mean",
        epsilon=1e-6 if file.names is TIMM else 1e-12,
    )
    model = fill(path, config, partial(convert, file), file.name)
    for name in sorted(set(file.tensors) - file.used):
        if not name.startswith("pooler."):  # for the task of BERT, unused
            raise ValueError(f"{path}: wanted a plain ViT, got {name}")
    return model


def open_image(source: Any) -> Any:
    """Return a Pillow image, upright; ValueError says why it is none."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise ImportError(
            'run first: pip install "attention-book[vision]"'
        ) from None
    if isinstance(source, Image.Image):
        return source
    if Path(source).is_dir():
        raise ValueError("wanted an image, got a folder")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(source) as image:
                return ImageOps.exif_transpose(image)
    except (FileNotFoundError, PermissionError):
        raise
    except UnidentifiedImageError:
        raise ValueError("wanted an image, got another kind of file") from None
    except Exception as error:  # each format fails in its own way
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"wanted an image, got: {why}") from None


def grey(image: Any) -> Float[Tensor, "height width"]:
    """Return the brightness of a Pillow image, shrunk to 512 at most.

    What is transparent counts as paper: white, or black under light ink.
    """
    deep = image.mode.startswith(("I", "F"))  # more than 8 bits
    image = image.convert("F" if deep else "RGBA")
    image.thumbnail((512, 512))
    numbers, size = bytearray(image.tobytes()), (image.height, image.width)
    if deep:
        x = torch.frombuffer(numbers, dtype=torch.float32).view(size)
        return x / x.max().clamp(min=1.0)
    x = torch.frombuffer(numbers, dtype=torch.uint8).view(*size, 4) / 255
    opaque, x = x[..., 3], x[..., :3] @ torch.tensor([0.299, 0.587, 0.114])
    is_light = (x * opaque).sum() > 0.5 * opaque.sum()
    paper = 1.0 - float(is_light)
    return x * opaque + paper * (1 - opaque)


def find_ink(
    light: Float[Tensor, "height width"],
) -> Float[Tensor, "height width"]:
    """Return how much ink is where, from 0 to 1: what the edge has little of.

    Raises:
        ValueError: There is none.
    """
    low, high = light.min(), light.max()
    if not high - low > 0.05:
        raise ValueError("wanted something drawn, got an empty image")
    x = (light - low) / (high - low)
    edge = torch.cat([x[0], x[-1], x[:, 0], x[:, -1]])
    return 1 - x if edge.median() > 0.5 else x


def to_digit(ink: Float[Tensor, "height width"]) -> Float[Tensor, "1 8 8"]:
    """Crop and shrink ink to what the digits of the data set look like.

    It is made 32 high and at most 24 wide, put in the middle of 32 by 32,
    thickened where lines are thin, and averaged over squares of 4 by 4.

    Source: Alpaydin and Kaynak (1998) for the squares.
    """
    places = (ink > 0.3).nonzero()
    (top, left), (bottom, right) = places.amin(dim=0), places.amax(dim=0)
    ink = ink[None, None, top : bottom + 1, left : right + 1]
    width = round(32 * ink.shape[3] / ink.shape[2])
    size = (32, max(1, min(24, width)))
    ink = F.interpolate(ink, size, mode="bilinear", antialias=True)
    margin = 32 - size[1]
    ink = F.pad(ink / ink.max(), (margin // 2, margin - margin // 2))
    while ink.mean() < 0.17:  # less than any digit of the data
        ink = F.max_pool2d(ink, 3, stride=1, padding=1)
    return F.avg_pool2d(ink, 4)[0]


def read_digit(source: Any) -> Float[Tensor, "1 8 8"]:
    """Turn an image into what the model reads; as Classifier.classify."""
    try:
        return to_digit(find_ink(grey(open_image(source))))
    except ValueError as error:
        name = source if isinstance(source, str | Path) else "image"
        raise ValueError(f"{name}: {error}") from None


def check_classes(c: ViTConfig, labels: Sequence[str]) -> None:
    """Raise ValueError unless it is for grey digits, and labels fit."""
    got = (c.n_channels, c.image_size, c.n_classes)
    wanted = (1, 8, len(labels))
    if got != wanted:
        raise ValueError(
            "model must have n_channels, image_size and n_classes "
            f"{wanted}, got {got}"
        )


DIGITS = Path(__file__).with_name("models") / "digits.safetensors"


def read_classifier(path: str | Path) -> tuple[ViT, list[str]]:
    """Read a model and its labels; ValueError says what is wrong."""
    tensors, notes = read_tensors(path)
    try:
        config = ViTConfig(**json.loads(notes["vit"]))
        labels = [str(label) for label in json.loads(notes["labels"])]
    except KeyError as error:
        raise ValueError(f"{path}: has no {error}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: is no ViT of ours: {error}") from None

    def take(name: str) -> Tensor:
        if name not in tensors:
            raise ValueError(f"{path}: has no {name}")
        return tensors[name]

    return fill(path, config, take), labels


class Classifier:
    """A ViT for handwriting in grey, 8 by 8, and what its classes are called.

    Args:
        model: Takes images (batch, 1, 8, 8).
        labels: The name of each class.
        engine: Where to compute, and how exactly.
    """

    def __init__(
        self, model: ViT, labels: Sequence[str], engine: Engine = ON_CPU
    ) -> None:
        check_classes(model.config, labels)
        self.labels = list(labels)
        self.engine, self.model = engine, deploy(model, engine)

    @classmethod
    def load(
        cls, path: str | Path = DIGITS, engine: Engine = ON_CPU
    ) -> "Classifier":
        """Read what save wrote; by default the model of the ten digits."""
        return cls(*read_classifier(path), engine)

    def save(
        self, path: str | Path, dtype: torch.dtype = torch.float32
    ) -> None:
        """Write the model into a safetensors file, its numbers as dtype."""
        state = self.model.state_dict().items()
        config = json.dumps(asdict(self.model.config))
        notes = {"vit": config, "labels": json.dumps(self.labels)}
        write_tensors(path, {name: x.to(dtype) for name, x in state}, notes)

    @torch.no_grad()
    def classify(self, source: Any) -> list[tuple[str, float]]:
        """Return each label with its probability, the likeliest first.

        source is the path of an image file, or a Pillow image; ValueError
        if it is none, or an empty one.
        """
        there = self.engine.device, self.engine.dtype
        image = read_digit(source)[None].to(*there)
        with computing(self.engine):
            shares = self.model(image).float().softmax(-1)[0].tolist()
        pairs = zip(self.labels, shares, strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])
