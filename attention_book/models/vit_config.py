# Made from docs/source/training-images.md (804a01c20a9d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from dataclasses import dataclass
from typing import Literal, get_args

from attention_book._checks import check_heads


__all__ = ["Pooling", "ViTConfig"]


Pooling = Literal["class", "mean"]


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The hyperparameters of a ViT: by default ViT-B/16 for ImageNet.

    Attributes:
        image_size: Height and width of the images.
        patch_size: Height and width of a patch; divides image_size.
        n_channels: 3 for colour, 1 for grey.
        n_classes: Number of classes; 0 for a model without a head.
        d_model: Width of the token vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Dropout rate, applied as in the paper's appendix B.1.
        pooling: What is classified: a class token, or the mean of all.
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
        counts = "image_size patch_size n_channels d_model n_heads d_ff"
        for name in (*counts.split(), "n_layers", "n_classes"):
            least = 0 if name == "n_classes" else 1
            got = getattr(self, name)
            # type, because isinstance takes True for an int
            if type(got) is not int or got < least:
                raise ValueError(
                    f"{name} must be a whole number >= {least}, got {got!r}"
                )
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size must divide image_size = {self.image_size}, "
                f"got {self.patch_size}"
            )
        check_heads(self.d_model, self.n_heads, self.n_heads)
        for name in ("dropout", "epsilon"):
            got = getattr(self, name)
            if not isinstance(got, int | float) or not 0 <= got < 1:
                raise ValueError(f"{name} must be in [0, 1), got {got!r}")
        if self.pooling not in get_args(Pooling):
            raise ValueError(
                f"pooling must be one of {get_args(Pooling)}, "
                f"got {self.pooling!r}"
            )

    @property
    def grid(self) -> int:
        """How many patches stand side by side."""
        return self.image_size // self.patch_size
