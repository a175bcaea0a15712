# Made from docs/source/convolution-weights.md (d0500c8bd9a9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_book._checks import check_tensor, check_whole
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["ConvolutionAsAttention"]


def _check_convolution(layer: nn.Conv1d) -> None:
    """Raise ValueError unless attention can stand in for the layer here."""
    if (
        not isinstance(layer, nn.Conv1d)
        or layer.kernel_size[0] % 2 == 0
        or (layer.stride, layer.groups) != ((1,), 1)
        or layer.padding_mode != "zeros"
    ):
        raise ValueError(
            "convolution must be a Conv1d of odd width, stride 1, one group "
            f"and padding_mode 'zeros', got {layer}"
        )


def _padded_length(length: int, padding: int) -> int:
    """Return the length with that many zeros before and after."""
    check_whole("length", length)
    max_length = 4096 - 2 * padding  # fp32 can't tell more points apart
    if not 1 <= length <= max_length:
        raise ValueError(
            f"length must be from 1 to {max_length}, got {length}"
        )
    return length + 2 * padding


def _check_tokens(x: Tensor, length: int, c_in: int) -> None:
    """Raise ValueError unless x is (batch, length, c_in) and precise."""
    check_tensor("x", x)
    precise = x.dtype in (torch.float32, torch.float64)
    if x.ndim != 3 or x.shape[1:] != (length, c_in) or not precise:
        raise ValueError(
            f"x must be (batch, {length}, {c_in}) in single or double "
            f"precision, got {tuple(x.shape)} of {x.dtype}"
        )


def _points_on_circle(n: int) -> Float[Tensor, "{n} 2"]:
    """Return n points, evenly spaced on the unit circle."""
    angles = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


@torch.no_grad()
def _set_conv_weights(
    attention: MultiHeadAttention, convolution: nn.Conv1d, n_positions: int
) -> None:
    """Set the weights: one head for each tap of the kernel.

    n_positions is how many points stand on the circle.
    """
    c_out, c_in, width = convolution.weight.shape
    d_k = attention.d_k
    d_model = attention.d_model
    for parameter in attention.parameters():
        parameter.zero_()
    gap = 1 - math.cos(2 * math.pi / max(n_positions, 2))  # to the next rival
    sharpness = math.sqrt(d_k) * 208 / gap
    point = slice(c_in, c_in + 2)
    for head in range(width):
        distance = (head - width // 2) * convolution.dilation[0]
        angle = 2 * math.pi * distance / n_positions
        c = math.cos(angle)
        s = math.sin(angle)
        row = head * d_k
        query = attention.q_proj.weight[row : row + 2, point]
        query.copy_(sharpness * torch.tensor([[c, -s], [s, c]]))
        key_value = attention.kv_proj.weight
        key_value[row : row + 2, point] = torch.eye(2)
        row_v = d_model + row
        key_value[row_v : row_v + c_in, :c_in] = torch.eye(c_in)
        kernel = convolution.weight[:, :, head]
        attention.out_proj.weight[:c_out, row : row + c_in] = kernel
    if convolution.bias is not None:
        attention.out_proj.bias[:c_out] = convolution.bias


class ConvolutionAsAttention(nn.Module):
    """Multi-head attention with the weights that make it a convolution.

    Zeros pad the ends, so that as many tokens come out as go in, whatever the
    convolution's own padding. It needs full single precision: no autocast,
    no TF32. Queries and keys get no gradient, for the softmax is saturated.

    Args:
        convolution: Of odd width, stride 1, one group; padded with zeros.
        length: Length of the sequences; with the padding 4096 at most.

    Raises:
        ValueError: A convolution, or a length, that it can't be made for.

    Source: Cordonnier et al. (2020), theorem 1. Departures: tokens instead of
        pixels, points on a circle instead of relative positions.
    """

    circle: Float[Tensor, "positions 2"]

    def __init__(self, convolution: nn.Conv1d, length: int) -> None:
        super().__init__()
        _check_convolution(convolution)
        kernel = convolution.weight
        self.c_out, self.c_in, width = kernel.shape
        self.padding = width // 2 * convolution.dilation[0]
        n_positions = _padded_length(length, self.padding)
        circle = _points_on_circle(n_positions).to(kernel)
        self.register_buffer("circle", circle)
        widest = math.ceil(max(self.c_in + 2, self.c_out) / width)
        d_k = max(2, self.c_in, widest)
        self.attention = MultiHeadAttention(width * d_k, width).to(kernel)
        _set_conv_weights(self.attention, convolution, n_positions)

    def forward(
        self, x: Float[Tensor, "batch length c_in"]
    ) -> Float[Tensor, "batch length c_out"]:
        """Convolve x, channels last; ValueError if its shape does not fit."""
        real = slice(self.padding, len(self.circle) - self.padding)
        _check_tokens(x, real.stop - real.start, self.c_in)
        tokens = x.new_zeros(len(x), len(self.circle), self.attention.d_model)
        tokens[:, real, : self.c_in] = x
        tokens[..., self.c_in : self.c_in + 2] = self.circle
        with sdpa_kernel(SDPBackend.MATH):
            output = self.attention(tokens[:, real], tokens)
        return output[..., : self.c_out]
