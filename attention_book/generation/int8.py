# Made from docs/source/fast-decoding.md (148b4ad08ab7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Weights and caches of eight bits. Explained in "Fast decoders"."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue, KeyValueCache


__all__ = ["Int8Cache", "Int8Linear", "quantize"]


def quantize(
    x: Float[Tensor, "*rows width"],
) -> tuple[Int8[Tensor, "*rows width"], Float[Tensor, "*rows 1"]]:
    """Return x / s rounded to whole numbers from -127 to 127, and s.

    Each row has a scale of its own, s = max |x| / 127, in fp32. No number
    changes by more than s / 2.
    """
    x = x.float()
    scale = x.abs().amax(-1, keepdim=True) / 127
    smallest = torch.finfo(scale.dtype).tiny
    return (x / scale.clamp(min=smallest)).round().to(torch.int8), scale


_MAX_ROWS = 8  # rows up to which the kernel of int8 is the faster one


class Int8Linear(nn.Module):
    """A linear layer whose weights are int8, with a scale for each output.

    Args:
        weight: Of shape (out, in), as in nn.Linear.
        bias: Of shape (out,), or None.

    Attributes:
        rounded: The int8 weights, (out, in).
        scale: What they are multiplied by, (out, 1).
    """

    rounded: Tensor
    scale: Tensor
    kernel_scale: Tensor
    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        rounded, scale = quantize(weight.detach())
        self.register_buffer("rounded", rounded)
        self.register_buffer("scale", scale)
        self.register_buffer("kernel_scale", scale[:, 0].bfloat16())
        self.register_buffer("bias", None if bias is None else bias.detach())
        n_out, n_in = weight.shape
        has_kernel = hasattr(torch, "_weight_int8pack_mm")
        self.has_kernel = has_kernel and n_out % 16 == n_in % 32 == 0

    @property
    def weight(self) -> Float[Tensor, "out n_in"]:
        """What the integers stand for."""
        return self.rounded * self.scale

    def forward(
        self, x: Float[Tensor, "*batch n_in"]
    ) -> Float[Tensor, "*batch n_out"]:
        """Return x Wᵀ + b, in the dtype of x."""
        rows = x.reshape(-1, x.shape[-1])
        if self.has_kernel and x.is_cpu and len(rows) <= _MAX_ROWS:
            y = torch._weight_int8pack_mm(
                rows.bfloat16(), self.rounded, self.kernel_scale
            ).to(x.dtype)
        else:
            y = F.linear(rows, self.weight.to(x.dtype))
        if self.bias is not None:
            y = y + self.bias
        return y.view(*x.shape[:-1], len(self.scale))

    __call__ = forward  # as in PrepackedLinear


class Int8Cache(KeyValueCache):
    """A cache of int8, with a scale for each head of each token.

    Attention gets fp32 or what the newest keys are, no number of it off by
    more than half a scale. A head of a token takes d_k + 4 bytes.
    """

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions, rounded, and return all so far.

        Raises:
            ValueError: They do not fit; nothing is stored.
        """
        kv = super().append(_with_scale(key), _with_scale(value))
        return KeyValue(*(_restored(x, key.dtype) for x in kv))


def _with_scale(x: Tensor) -> Int8[Tensor, "*rows bytes"]:
    """Return the integers of each row, and the bytes of its scale."""
    rounded, scale = quantize(x)
    return torch.cat([rounded, scale.view(torch.int8)], dim=-1)


def _restored(packed: Tensor, dtype: torch.dtype) -> Float[Tensor, "*rows d"]:
    """Undo _with_scale."""
    rounded, scale = torch.split(packed, [packed.shape[-1] - 4, 4], dim=-1)
    return (rounded * scale.contiguous().view(torch.float32)).to(dtype)
