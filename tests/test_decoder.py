"""attention_book.models.decoder against PyTorch's layers and itself, step by step."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import causal_mask, padding_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import PackedMask, PaddingLayout
from attention_book.attention.positions import RotaryAttention
from attention_book.models.decoder import (
    Decoder,
    DecoderLayer,
    teacher_forcing_pair,
)
from attention_book.models.encoder import SwiGLU
from attention_book.models.residuals import PreNorm
from tests.factories import NORMS
from tests.torch_state import randomise, stack_state


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


def make_decoder(
    norm: Any = "pre",
    attention: type[MultiHeadAttention] = MultiHeadAttention,
) -> Decoder:
    torch.manual_seed(1)
    layers = [
        DecoderLayer(D, HEADS, D_FF, norm=norm, self_attention=attention)
        for _ in range(LAYERS)
    ]
    decoder = Decoder(layers, nn.LayerNorm(D) if norm == "pre" else None)
    randomise(decoder)
    return decoder


def torch_decoder(ours: Decoder) -> nn.TransformerDecoder:
    """PyTorch's decoder with the parameters of ours."""
    pre = isinstance(ours.norm, nn.LayerNorm)
    layer = nn.TransformerDecoderLayer(
        D, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=pre
    )
    theirs = nn.TransformerDecoder(
        layer, LAYERS, nn.LayerNorm(D) if pre else None
    )
    theirs.load_state_dict(stack_state(ours))
    return theirs


@pytest.mark.parametrize("norm", NORMS)
def test_it_equals_pytorch_forward_and_backward(
    norm: Any,
) -> None:
    ours = make_decoder(norm)
    for parameter in ours.parameters():  # norms and biases differ as well
        nn.init.uniform_(parameter, -0.5, 0.5)
    theirs = torch_decoder(ours)
    (x, memory), (y, other) = (
        [t.requires_grad_() for t in make_inputs()] for _ in "ab"
    )
    mine = ours(x, memory, MASK)
    expected = theirs(
        y,
        other,
        tgt_mask=~causal_mask(TARGET),
        memory_key_padding_mask=~MASK[:, 0, 0],
    )
    torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-5)
    upstream = torch.arange(mine.numel()).reshape(mine.shape).cos()
    (mine * upstream).sum().backward()
    (expected * upstream).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(memory.grad, other.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", [MultiHeadAttention, RotaryAttention])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("steps", [[1] * 5, [2, 1, 2], [5]])
def test_step_by_step_equals_all_at_once(
    steps: list[int],
    norm: Any,
    attention: type[MultiHeadAttention],
) -> None:
    decoder = make_decoder(norm, attention).eval()
    x, memory = make_inputs()
    with torch.no_grad():
        projected = decoder.project_memory(memory)
        caches = [KeyValueCache(TARGET) for _ in range(LAYERS)]
        chunks = [
            decoder(chunk, projected, MASK, caches)
            for chunk in x.split(steps, dim=1)
        ]
        expected = decoder(x, memory, MASK)
    torch.testing.assert_close(
        torch.cat(chunks, dim=1), expected, atol=1e-5, rtol=1e-5
    )


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
        PackedMask(target, source),
        mask=PackedMask(target, target),
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
