# Made from docs/transformer/decoder.md (67930dcf10af). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The decoder of a Transformer and its layers.

Explained in the chapter "The decoder".
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue, KeyValueCache, per_layer
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import Mask
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from attention_book.models.encoder import FeedForward, MakeAttention
from attention_book.models.residuals import residual_connections


__all__ = ["Decoder", "DecoderLayer", "teacher_forcing_pair"]


def teacher_forcing_pair(
    target: Int[Tensor, "*batch length"],
) -> tuple[Int[Tensor, "*batch length-1"], Int[Tensor, "*batch length-1"]]:
    """Return the decoder's input and its labels, one position later.

    Args:
        target: Translations that begin with `<bos>` and end with `<eos>`.

    Returns:
        All tokens but the last, and all tokens but the first.

    Source: Vaswani et al. (2017), §3.1, "offset by one position".
    """
    return target[..., :-1], target[..., 1:]


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward network.

    Args:
        d_model: Width of the token vectors.
        n_heads: Heads of each attention.
        d_ff: Width in the middle of the feed-forward network.
        norm: "post" for PostNorm, "pre" for PreNorm.
        dropout: Dropout rate of each sublayer's output.
        eps: What the normalisations add to the variance.
        self_attention: Makes the attention among the target's tokens.
        cross_attention: Makes that from the target's tokens to the source.
        feed_forward: Makes the network from d_model and d_ff.

    Source: Vaswani et al. (2017), §3.1, §3.2.3 and figure 1, right.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: Literal["post", "pre"] = "post",
        dropout: float = 0.0,
        eps: float = 1e-5,
        self_attention: MakeAttention = MultiHeadAttention,
        cross_attention: MakeAttention = MultiHeadAttention,
        feed_forward: Callable[[int, int], nn.Module] = FeedForward,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention(d_model, n_heads)
        self.cross_attention = cross_attention(d_model, n_heads)
        if isinstance(self.cross_attention, RotaryAttention | ALiBiAttention):
            got = type(self.cross_attention).__name__
            raise ValueError(f"cross_attention wants no positions, got {got}")
        self.feed_forward = feed_forward(d_model, d_ff)
        self.residuals = residual_connections(3, norm, d_model, dropout, eps)

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        memory: Float[Tensor, "*batch source d_model"] | KeyValue,
        memory_mask: Mask = None,
        cache: KeyValueCache | None = None,
        *,
        mask: Mask = None,
        is_causal: bool = True,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return the target tokens in the context of the past and the source.

        memory is the encoder's output, or its keys and values; both masks,
        of the source and of the target, are as attention takes them.
        """
        if memory is None:  # which attention would take for self-attention
            raise ValueError("memory must be the source's, got None")
        add_self, add_cross, add_feed_forward = self.residuals
        x = add_self(
            x,
            lambda y: self.self_attention(
                y, mask=mask, is_causal=is_causal, cache=cache
            ),
        )
        x = add_cross(
            x, lambda y: self.cross_attention(y, memory, memory_mask)
        )
        return add_feed_forward(x, self.feed_forward)


class Decoder(nn.Module):
    """A stack of layers, which all read the same memory.

    Args:
        layers: From the first to the last.
        norm: The final normalisation: LayerNorm for pre-norm, else nothing.
    """

    def __init__(
        self, layers: Iterable[DecoderLayer], norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        if isinstance(norm, str):  # "pre" is for the layers
            raise ValueError(f"norm must be a module or None, got {norm!r}")
        self.layers: Any = nn.ModuleList(layers)
        self.norm = norm or nn.Identity()

    def project_memory(self, memory: Tensor) -> list[KeyValue]:
        """Return each layer's keys and values of the source."""
        return [
            layer.cross_attention.keys_and_values(memory)
            for layer in self.layers
        ]

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        memory: Float[Tensor, "*batch source d_model"] | Sequence[KeyValue],
        memory_mask: Mask = None,
        caches: Sequence[KeyValueCache | None] | None = None,
        *,
        mask: Mask = None,
        is_causal: bool = True,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return the target tokens in the context of the past and the source.

        As in DecoderLayer; memory may be what project_memory returned, and
        there is a cache for each layer.
        """
        n = len(self.layers)
        if isinstance(memory, KeyValue):  # a sequence of two tensors
            raise ValueError("memory must be a KeyValue a layer, got only one")
        memories = memory if isinstance(memory, Sequence) else [memory] * n
        for layer, kv, cache in zip(
            self.layers, memories, per_layer(caches, n), strict=True
        ):
            x = layer(
                x, kv, memory_mask, cache, mask=mask, is_causal=is_causal
            )
        return self.norm(x)
