# Made from docs/chapters/09-decoder.md (c43c9a0e3f7f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterable, Sequence
from typing import cast

from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.encoder import PostNorm
from attention_book.multi_head import (
    KeyValue,
    KeyValueCache,
    Mask,
    MultiHeadAttention,
)


def shift(
    target: Int[Tensor, "*batch words"],
) -> tuple[Int[Tensor, "*batch words-1"], Int[Tensor, "*batch words-1"]]:
    """Cut translations into what the decoder reads and what it shall write.

    Args:
        target: Translations with both ends, `<start>` and `<end>`.

    Returns:
        All words but the last, and all words but the first.

    Source: Vaswani et al. (2017), §3.1, "offset by one position".
    """
    return target[..., :-1], target[..., 1:]


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward network.

    Args:
        attention: How the words written so far look at each other.
        cross: How they look at the source.
        feed_forward: What each word makes of itself.
        around: What goes around each of the three: PostNorm or PreNorm.

    Source: Vaswani et al. (2017), §3.1, §3.2.3 and figure 1, right.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross: MultiHeadAttention,
        feed_forward: nn.Module,
        around: tuple[PostNorm, PostNorm, PostNorm],
    ) -> None:
        super().__init__()
        self.attention, self.cross = attention, cross
        self.feed_forward, self.around = feed_forward, nn.ModuleList(around)

    def forward(
        self,
        x: Float[Tensor, "*batch words d_model"],
        memory: Float[Tensor, "*batch source d_model"] | KeyValue,
        memory_mask: Mask = None,
        cache: KeyValueCache | None = None,
        *,
        mask: Mask = None,
        is_causal: bool = True,
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return the words in the context of the past and of the source.

        memory is the encoder's output, or keys and values made of it; both
        masks, of the source and among the words, are as attention takes them.
        """
        exchange, look, think = self.around
        options = {"mask": mask, "is_causal": is_causal, "cache": cache}
        x = exchange(x, lambda y: self.attention(y, **options))
        x = look(x, lambda y: self.cross(y, memory, memory_mask))
        output: Tensor = think(x, self.feed_forward)
        return output


class Decoder(nn.Module):
    """A stack of layers.

    Args:
        layers: From the first to the last.
        norm: Goes over the result: LayerNorm for pre-norm, else nothing.
    """

    def __init__(
        self, layers: Iterable[DecoderLayer], norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), norm or nn.Identity()

    def remember(self, memory: Tensor) -> list[KeyValue]:
        """Make each layer's keys and values of the source, once."""
        crosses = [cast(DecoderLayer, layer).cross for layer in self.layers]
        return [cross.keys_and_values(memory) for cross in crosses]

    def forward(
        self,
        x: Float[Tensor, "*batch words d_model"],
        memory: Float[Tensor, "*batch source d_model"] | Sequence[KeyValue],
        memory_mask: Mask = None,
        caches: Sequence[KeyValueCache | None] | None = None,
        *,
        mask: Mask = None,
        is_causal: bool = True,
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return the words in the context of the past and of the source.

        As in DecoderLayer; memory may be what remember made of it.
        """
        n = len(self.layers)
        sources = [memory] * n if isinstance(memory, Tensor) else memory
        caches = [None] * n if caches is None else caches
        if not n == len(sources) == len(caches):
            raise ValueError(
                f"memory and caches must have one for each of {n} layers, "
                f"got {len(sources)} and {len(caches)}"
            )
        options = {"mask": mask, "is_causal": is_causal}
        for i, layer in enumerate(self.layers):
            x = layer(x, sources[i], memory_mask, caches[i], **options)
        return cast(Tensor, self.norm(x))
