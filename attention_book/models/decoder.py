# Made from docs/source/layers.md (de4461ff1466). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterable, Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_tensor
from attention_book.attention.caches import KeyValue, KeyValueCache
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import Mask
from attention_book.models.encoder import PostNorm


__all__ = ["Decoder", "DecoderLayer", "teacher_forcing_pair"]


def teacher_forcing_pair(
    target: Int[Tensor, "*batch length"],
) -> tuple[Int[Tensor, "*batch length-1"], Int[Tensor, "*batch length-1"]]:
    """Return the decoder's input and its labels, one position later.

    Args:
        target: Translations that begin with `<bos>` and end with `<eos>`.

    Returns:
        All tokens but the last, and all tokens but the first.

    Raises:
        ValueError: There is no token at all.

    Source: Vaswani et al. (2017), §3.1, "offset by one position".
    """
    check_tensor("target", target)
    if not target.ndim or not target.shape[-1]:
        raise ValueError(
            "target must be (..., length >= 1), got shape "
            f"{tuple(target.shape)}"
        )
    return target[..., :-1], target[..., 1:]


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward network.

    Args:
        self_attention: Among the target tokens so far.
        cross_attention: From the target tokens to the source.
        feed_forward: The third sublayer.
        residuals: The residual connection around each: PostNorm or PreNorm.

    Source: Vaswani et al. (2017), §3.1, §3.2.3 and figure 1, right.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residuals: tuple[PostNorm, PostNorm, PostNorm],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(residuals)

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
        if memory is None:
            raise ValueError("memory must be the source's, got None")
        self_residual, cross_residual, feed_forward_residual = self.residuals
        x = self_residual(
            x,
            lambda y: self.self_attention(
                y, mask=mask, is_causal=is_causal, cache=cache
            ),
        )
        x = cross_residual(
            x, lambda y: self.cross_attention(y, memory, memory_mask)
        )
        return feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
    """A stack of layers.

    Args:
        layers: From the first to the last.
        norm: The final normalisation: LayerNorm for pre-norm, else nothing.
    """

    layers: Iterable[DecoderLayer]

    def __init__(
        self, layers: Iterable[DecoderLayer], norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        # A ModuleList does not tell mypy what kind of layers it holds.
        self.layers = nn.ModuleList(layers)  # type: ignore[assignment]
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

        As in DecoderLayer; memory may be what project_memory returned.

        Raises:
            ValueError: Not one memory and one cache for each layer.
        """
        if not isinstance(memory, Tensor | Sequence):
            raise ValueError(
                "memory must be a tensor, or keys and values of each layer, "
                f"got {type(memory).__name__}"
            )
        layers = list(self.layers)
        n = len(layers)
        memories = [memory] * n if isinstance(memory, Tensor) else memory
        caches = [None] * n if caches is None else caches
        if not n == len(memories) == len(caches):
            raise ValueError(
                f"memory and caches must have one for each of {n} layers, "
                f"got {len(memories)} and {len(caches)}"
            )
        for layer, kv, cache in zip(layers, memories, caches, strict=True):
            x = layer(
                x, kv, memory_mask, cache, mask=mask, is_causal=is_causal
            )
        return self.norm(x)
