# Made from docs/source/long-contexts.md (439675fa753b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention to a window and to the first tokens, and the cache of these.

Explained on the page "Layers for long contexts".
"""

from typing import Any

import torch
from torch import Tensor

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValue, KeyValueCache
from attention_book.attention.local import attend_locally
from attention_book.attention.positions import RotaryAttention, RotaryEmbedding


__all__ = ["RollingCache", "WindowAttention"]


class WindowAttention(RotaryAttention):
    """Rotary self-attention to the nearest tokens, and to the first ones.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads.
        window: How many tokens back a query sees, its own included.
        n_sinks: How many first tokens all others see besides.
        options: Those of MultiHeadAttention.

    Source: Beltagy et al. (2020), §3.1; Xiao et al. (2023), §3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        window: int,
        n_sinks: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        check_size("window", window)
        check_size("n_sinks", n_sinks, min_size=0)
        self.window = window
        self.n_sinks = n_sinks

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; in blocks, where that is less work."""
        n, keys = query.shape[-2], kv.key.shape[-2]
        if mask is None and is_causal and n == keys > 2 * self.window:
            sizes = self.window, self.n_sinks
            return attend_locally(super().attend, query, kv, *sizes)
        j = torch.arange(keys, device=query.device)
        i = torch.arange(keys - n, keys, device=query.device)[:, None]
        seen = ((i - j).abs() < self.window) | (j < self.n_sinks)
        mask = seen if mask is None else seen & mask
        return super().attend(query, kv, mask, is_causal)


class RollingCache(KeyValueCache):
    """A cache of the last window positions and the first n_sinks.

    Args:
        window: How many of the last positions are kept, the newest included.
        n_sinks: How many of the first positions are kept besides.
        rotary: What the keys were rotated by. With it the sinks move along
            as others are dropped, so that they always stand right before the
            window; without it they stay where they were.

    Source: Xiao et al. (2023), §3.2.
    """

    def __init__(
        self,
        window: int,
        n_sinks: int = 0,
        rotary: RotaryEmbedding | None = None,
    ) -> None:
        check_size("window", window)
        check_size("n_sinks", n_sinks, min_size=0)
        super().__init__(window + n_sinks)
        self.n_sinks = n_sinks
        self.rotary = rotary

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return what is kept.

        Where several come at once, what is kept for the first of them is
        returned as well, and the layer has to mask the window.
        """
        n_new = key.shape[-2]
        if self.buffer is not None:
            key = torch.cat([self.buffer.key, key], dim=-2)
            value = torch.cat([self.buffer.value, value], dim=-2)
        self.length += n_new
        everything = KeyValue(key, value)
        surplus = key.shape[-2] - self.capacity
        if surplus > 0:
            sinks = key[..., : self.n_sinks, :]
            if self.rotary is not None:
                moved = self.rotary(sinks[..., None, :], surplus)
                sinks = moved[..., 0, :]
            first = self.n_sinks + surplus
            key = torch.cat([sinks, key[..., first:, :]], dim=-2)
            sinks = value[..., : self.n_sinks, :]
            value = torch.cat([sinks, value[..., first:, :]], dim=-2)
        self.buffer = KeyValue(key, value)
        return self.buffer if n_new == 1 else everything
