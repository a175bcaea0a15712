"""attention_book.models.decoder by itself.

test_transformer.py compares it with PyTorch's layers, and step by step.
"""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import padding_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import PackedLayout, PaddingLayout
from attention_book.attention.positions import (
    ALiBiAttention,
    RotaryAttention,
)
from attention_book.models.decoder import (
    Decoder,
    DecoderLayer,
    teacher_forcing_pair,
)
from attention_book.models.encoder import SwiGLU
from attention_book.models.residuals import PreNorm
from tests.torch_state import randomise


BATCH = 3
TARGET = 5
SOURCE = 7
D = 24
HEADS = 4
D_FF = 40
LAYERS = 2
MASK = padding_mask(torch.tensor([7, 2, 4]), SOURCE)


def make_inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(BATCH, TARGET, D, generator=generator),
        torch.randn(BATCH, SOURCE, D, generator=generator),
    )


def make_decoder() -> Decoder:
    torch.manual_seed(1)
    layers = [DecoderLayer(D, HEADS, D_FF, norm="pre") for _ in range(LAYERS)]
    decoder = Decoder(layers, nn.LayerNorm(D))
    randomise(decoder)
    return decoder


def test_translations_are_shifted_by_one() -> None:
    target = torch.tensor([[1, 5, 7, 2], [1, 8, 2, 0]])
    decoder_input, labels = teacher_forcing_pair(target)
    assert decoder_input.tolist() == [[1, 5, 7], [1, 8, 2]]
    assert labels.tolist() == [[5, 7, 2], [8, 2, 0]]


def test_a_cache_for_each_layer_is_asked_for() -> None:
    x, memory = make_inputs()
    decoder = make_decoder()
    with pytest.raises(ValueError, match="shorter"):
        decoder(x, memory, caches=[KeyValueCache(TARGET)])
    with pytest.raises(ValueError, match="shorter"):
        decoder(x, decoder.project_memory(memory)[:1])


@pytest.mark.parametrize("is_causal", [True, False])
def test_packed_tokens_are_decoded_as_padded_ones(is_causal: bool) -> None:
    decoder = make_decoder().eval()
    x, memory = make_inputs()
    target = PaddingLayout(torch.tensor([TARGET, 2, 3]), TARGET)
    source = PaddingLayout(torch.tensor([2, SOURCE, 1]), SOURCE)
    padded = decoder(
        x, memory, source.mask, mask=target.mask, is_causal=is_causal
    )
    packed = decoder(
        target.unpad(x),
        source.unpad(memory),
        PackedLayout(target, source),
        mask=PackedLayout(target, target),
        is_causal=is_causal,
    )
    torch.testing.assert_close(packed, target.unpad(padded))


def test_what_makes_the_sublayers_can_be_handed_over() -> None:
    layer = DecoderLayer(
        D,
        HEADS,
        D_FF,
        norm="pre",
        eps=1e-3,
        self_attention=RotaryAttention,
        cross_attention=partial(MultiHeadAttention, n_kv_heads=2),
        feed_forward=SwiGLU,
    )
    assert type(layer.self_attention) is RotaryAttention
    assert layer.cross_attention.n_kv_heads == 2
    assert type(layer.feed_forward) is SwiGLU
    assert [type(residual) for residual in layer.residuals] == [PreNorm] * 3
    assert all(residual.norm.eps == 1e-3 for residual in layer.residuals)


@pytest.mark.usefixtures("unchecked")
def test_the_last_norm_is_a_module_not_a_name() -> None:
    layer = DecoderLayer(D, HEADS, D_FF)
    with pytest.raises(ValueError, match=r"norm must be a module.*'pre'"):
        Decoder([layer], norm="pre")


def test_a_cache_saves_what_is_computed_anew_without_it() -> None:
    layer = DecoderLayer(32, 4, 64)
    decoder = Decoder([layer])
    x, memory = torch.randn(1, 64, 32), torch.randn(1, 64, 32)
    counts = []
    for cached in (False, True):
        plain = sdpa_kernel(SDPBackend.MATH)  # others are not counted
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), plain, counter:
            caches = [KeyValueCache(64)] if cached else None
            source = decoder.project_memory(memory) if cached else memory
            for n in range(64):
                tokens = x[:, n : n + 1] if cached else x[:, : n + 1]
                decoder(tokens, source, caches=caches)
        counts.append(counter.get_total_flops() // 2)
    assert counts == [43_931_648, 1_181_696]  # as the chapter says


@pytest.mark.parametrize("kind", [RotaryAttention, ALiBiAttention])
def test_attention_with_positions_is_no_cross_attention(kind: Any) -> None:
    message = "cross_attention wants no positions, got " + kind.__name__
    with pytest.raises(ValueError, match=message):
        DecoderLayer(D, HEADS, D_FF, cross_attention=kind)


@pytest.mark.usefixtures("unchecked")
def test_keys_and_values_of_one_layer_are_not_taken_for_two_layers() -> None:
    x, memory = make_inputs()
    decoder = make_decoder()
    with pytest.raises(ValueError, match="memory must be a KeyValue a layer"):
        decoder(x, decoder.project_memory(memory)[0])


def test_layers_that_share_a_cache_are_refused() -> None:
    x, memory = make_inputs()
    decoder = make_decoder()
    with pytest.raises(ValueError, match="caches must be one a layer"):
        decoder(x, memory, caches=[KeyValueCache(TARGET)] * LAYERS)
    assert decoder(x, memory, caches=[None] * LAYERS).shape == x.shape
