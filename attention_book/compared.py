# Made from docs/chapters/07-compared.md (7b678df5be46). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.multi_head import MultiHeadAttention


def check_convolution(layer: nn.Conv1d) -> None:
    """Raise ValueError unless attention can stand in for the layer here."""
    (width,), (stride,) = layer.kernel_size, layer.stride
    if width % 2 == 0 or stride != 1 or layer.groups != 1:
        raise ValueError(
            "convolution must have an odd width, stride 1 and one group, got "
            f"width {width}, stride {stride}, {layer.groups} groups"
        )


def on_circle(n: int) -> Float[Tensor, "{n} 2"]:
    """Return n points, evenly spaced on the unit circle."""
    angles = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


@torch.no_grad()
def fill(
    attention: MultiHeadAttention, convolution: nn.Conv1d, n_places: int
) -> None:
    """Write the weights: one head for each place of the kernel."""
    c_out, c_in, width = convolution.weight.shape
    d_k, d_model = attention.d_k, attention.d_model
    for parameter in attention.parameters():
        parameter.zero_()
    gap = 1 - math.cos(2 * math.pi / n_places)  # to the nearest rival
    loud = math.sqrt(d_k) * 110 / gap
    point = slice(c_in, c_in + 2)
    for head in range(width):
        places = (head - width // 2) * convolution.dilation[0]
        turn = 2 * math.pi * places / n_places
        c, s = math.cos(turn), math.sin(turn)
        row = head * d_k
        query = attention.project_query.weight[row : row + 2, point]
        query.copy_(loud * torch.tensor([[c, -s], [s, c]]))
        key_value = attention.project_key_value.weight
        key_value[row : row + 2, point] = torch.eye(2)
        row_v = d_model + row
        key_value[row_v : row_v + c_in, :c_in] = torch.eye(c_in)
        kernel = convolution.weight[:, :, head]
        attention.project_out.weight[:c_out, row : row + c_in] = kernel
    if convolution.bias is not None:
        attention.project_out.bias[:c_out] = convolution.bias


class ConvolutionAsAttention(nn.Module):
    """Multi-head attention with the weights that make it a convolution.

    Args:
        convolution: Of odd width, with stride 1; zeros pad the ends so that
            as many words come out as go in.
        n_words: Length of the sentences.

    Source: Cordonnier et al. (2020), theorem 1, with positions on a circle.
    """

    circle: Float[Tensor, "places 2"]

    def __init__(self, convolution: nn.Conv1d, n_words: int) -> None:
        super().__init__()
        check_convolution(convolution)
        (width,), (gap,) = convolution.kernel_size, convolution.dilation
        self.c_in, self.c_out = (
            convolution.in_channels,
            convolution.out_channels,
        )
        self.reach = width // 2 * gap
        self.register_buffer("circle", on_circle(n_words + 2 * self.reach))
        widest = math.ceil(max(self.c_in + 2, self.c_out) / width)
        d_k = max(2, self.c_in, widest)
        self.attention = MultiHeadAttention(width * d_k, width)
        fill(self.attention, convolution, len(self.circle))

    def forward(
        self, x: Float[Tensor, "batch words c_in"]
    ) -> Float[Tensor, "batch words c_out"]:
        """Return what the convolution returns, with channels last."""
        words = len(self.circle) - 2 * self.reach
        if x.shape[-2:] != (words, self.c_in):
            raise ValueError(
                f"x must be (batch, {words}, {self.c_in}), "
                f"got {tuple(x.shape)}"
            )
        real = slice(self.reach, self.reach + words)
        d_model = self.attention.d_model
        tokens = x.new_zeros(len(x), len(self.circle), d_model)
        tokens[:, real, : self.c_in] = x
        tokens[..., self.c_in : self.c_in + 2] = self.circle
        output: Tensor = self.attention(tokens[:, real], tokens)
        return output[..., : self.c_out]
