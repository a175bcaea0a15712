"""attention_book.models.encoder and .residuals, by themselves.

test_transformer.py compares them with PyTorch's layers.
"""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention.caches import KeyValueCache
from attention_book.attention.positions import RotaryAttention
from attention_book.models.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    SwiGLU,
)
from attention_book.models.residuals import PostNorm, PreNorm
from experiments.encoder import LENGTH as LENGTH_OF_SORTING
from experiments.encoder import N_VALUES, position_alone
from tests.factories import NORMS
from tests.torch_state import randomise


BATCH = 3
LENGTH = 7
D = 24
HEADS = 4
D_FF = 40
LAYERS = 2


def make_input() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, LENGTH, D, generator=generator)


def make_encoder(norm: Any, dropout: float = 0.0) -> Encoder:
    torch.manual_seed(1)
    layers = [
        EncoderLayer(D, HEADS, D_FF, norm=norm, dropout=dropout)
        for _ in range(LAYERS)
    ]
    encoder = Encoder(layers, nn.LayerNorm(D) if norm == "pre" else None)
    randomise(encoder)
    return encoder


def test_swiglu_is_its_formula() -> None:
    torch.manual_seed(0)
    network = SwiGLU(D, D_FF)
    x = make_input()
    W, V = network.up_proj.weight.T.chunk(2, dim=1)
    gate = x @ W
    middle = gate * torch.sigmoid(gate) * (x @ V)
    expected = middle @ network.down_proj.weight.T
    torch.testing.assert_close(network(x), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_dropout_reaches_every_sublayer_in_training_only(norm: Any) -> None:
    x = make_input()
    torch.manual_seed(0)
    residual = PreNorm if norm == "pre" else PostNorm
    dropping = [
        partial(residual(D, 0.5), sublayer=nn.Identity()),
        FeedForward(D, D_FF, dropout=0.5),
        encoder := make_encoder(norm, dropout=0.5),
    ]
    for part in dropping:
        assert not torch.allclose(part(x), part(x))
    torch.testing.assert_close(encoder.eval()(x), make_encoder(norm)(x))


def test_what_makes_the_sublayers_can_be_handed_over() -> None:
    layer = EncoderLayer(
        D,
        HEADS,
        D_FF,
        norm="pre",
        eps=1e-3,
        self_attention=RotaryAttention,
        feed_forward=SwiGLU,
    )
    assert type(layer.self_attention) is RotaryAttention
    assert type(layer.feed_forward) is SwiGLU
    for residual in layer.residuals:
        assert type(residual) is PreNorm
        assert residual.norm.eps == 1e-3


@pytest.mark.usefixtures("unchecked")
def test_a_norm_that_is_neither_is_named() -> None:
    with pytest.raises(ValueError, match=r"norm must be .*, got 'middle'"):
        EncoderLayer(D, HEADS, D_FF, norm="middle")


@pytest.mark.usefixtures("unchecked")
def test_the_last_norm_is_a_module_not_a_name() -> None:
    layer = EncoderLayer(D, HEADS, D_FF)
    with pytest.raises(ValueError, match=r"norm must be a module.*'pre'"):
        Encoder([layer], norm="pre")


@pytest.mark.usefixtures("unchecked")
def test_an_activation_is_a_function_not_a_name() -> None:
    with pytest.raises(ValueError, match=r"must be a function, got 'gelu'"):
        FeedForward(D, D_FF, activation="gelu")


def test_a_cache_for_each_layer_is_asked_for() -> None:
    with pytest.raises(ValueError, match="shorter"):
        make_encoder("pre")(make_input(), caches=[None])
    shared = [KeyValueCache(99)] * len(make_encoder("pre").layers)
    with pytest.raises(ValueError, match="caches must be one a layer"):
        make_encoder("pre")(make_input(), caches=shared)


@pytest.mark.parametrize("norm", NORMS)
def test_a_sublayer_of_another_shape_is_refused(norm: Any) -> None:
    def make_narrow(d_model: int, d_ff: int) -> nn.Module:
        return nn.Linear(d_model, 1)

    layer = EncoderLayer(D, HEADS, D_FF, norm=norm, feed_forward=make_narrow)
    with pytest.raises(ValueError, match="sublayer must return the shape"):
        layer(make_input())
    residual = PreNorm if norm == "pre" else PostNorm
    with pytest.raises(ValueError, match="sublayer must return the shape"):
        residual(D)(make_input(), lambda y: y.mean(dim=1, keepdim=True))
    with pytest.raises(ValueError, match="sublayer must return the shape"):
        residual(D)(make_input()[:1], lambda y: y.expand(3, -1, -1))


def test_the_baseline_of_sorting_is_what_blind_answers_get() -> None:
    """The commonest i-th smallest number, at each position i, of a sample."""
    generator = torch.Generator().manual_seed(0)
    shape = 40_000, LENGTH_OF_SORTING
    numbers = torch.randint(N_VALUES, shape, generator=generator)
    ordered = numbers.sort(dim=1).values
    right = (ordered == ordered.mode(dim=0).values).double().mean().item()
    assert position_alone() == pytest.approx(right, abs=0.003)
