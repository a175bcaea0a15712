# Made from docs/chapters/15-vit.md (7091043f769c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from dataclasses import dataclass
from typing import Literal, get_args

from attention_book.checks import check_heads


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
