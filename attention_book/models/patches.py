# Made from docs/beyond/vit.md (1f39a8d209c5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_tensor, check_whole


__all__ = ["Images", "patchify"]


Images = Float[Tensor, "batch channels height width"]


def patchify(
    images: Images, size: int
) -> Float[Tensor, "batch patches features"]:
    """Cut images into squares, row by row, each as one vector.

    In the notation of einops: b c (h p1) (w p2) -> b (h w) (p1 p2 c), with
    p1 = p2 = size.

    Raises:
        ValueError: size does not divide height and width.

    Source: Dosovitskiy et al. (2021), §3.1.
    """
    check_tensor("images", images)
    check_whole("size", size)
    if images.ndim != 4:
        raise ValueError(
            "images must be (batch, channels, height, width), got shape "
            f"{tuple(images.shape)}"
        )
    batch, channels, height, width = images.shape
    if size < 1 or height % size or width % size:
        raise ValueError(
            f"size must divide height and width, got {size} for "
            f"{height} by {width}"
        )
    rows = height // size
    columns = width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 2, 4, 3, 5, 1)  # b h w p1 p2 c
    return x.reshape(batch, rows * columns, size * size * channels)
