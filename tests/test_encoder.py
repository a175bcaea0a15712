"""attention_book.encoder against PyTorch's layers and plain formulas."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import MultiHeadAttention, padding_mask
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from tests.twins import randomise, stack_state


BATCH = 3
WORDS = 7
D = 24
HEADS = 4
D_FF = 40
LAYERS = 2
LENGTHS = torch.tensor([7, 2, 4])


def words() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, WORDS, D, generator=generator)


def an_encoder(
    around: type[PostNorm], dropout: float = 0.0, activation: object = F.relu
) -> Encoder:
    torch.manual_seed(1)
    layers = [
        EncoderLayer(
            MultiHeadAttention(D, HEADS, dropout=dropout),
            FeedForward(D, D_FF, activation=activation, dropout=dropout),
            (around(D, dropout), around(D, dropout)),
        )
        for _ in range(LAYERS)
    ]
    last = nn.LayerNorm(D) if around is PreNorm else None
    made = Encoder(layers, last)
    randomise(made)
    return made


def pytorch_twin(ours: Encoder, activation: object) -> nn.TransformerEncoder:
    """PyTorch's encoder with the parameters of ours."""
    pre = isinstance(ours.norm, nn.LayerNorm)
    layer = nn.TransformerEncoderLayer(
        D,
        HEADS,
        D_FF,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=pre,
    )
    theirs = nn.TransformerEncoder(
        layer,
        LAYERS,
        nn.LayerNorm(D) if pre else None,
        enable_nested_tensor=False,
    )
    theirs.load_state_dict(stack_state(ours))
    return theirs


@pytest.mark.parametrize("activation", [F.relu, F.gelu])
@pytest.mark.parametrize("around", [PostNorm, PreNorm])
def test_it_equals_pytorch_forward_and_backward(
    around: type[PostNorm], activation: object
) -> None:
    ours = an_encoder(around, activation=activation)
    theirs = pytorch_twin(ours, activation)
    mask = padding_mask(LENGTHS, WORDS)
    a, b = (words().requires_grad_() for _ in "ab")
    real = mask[:, 0, 0, :, None]
    slope = torch.arange(a.numel()).reshape(a.shape).cos() * real
    mine = ours(a, mask)
    other = theirs(b, src_key_padding_mask=~mask[:, 0, 0])
    torch.testing.assert_close(mine * real, other * real, atol=1e-5, rtol=1e-5)
    (mine * slope).sum().backward()
    (other * slope).sum().backward()
    torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)
    for i in range(LAYERS):
        mine_ff = ours.layers[i].feed_forward.up_proj.weight.grad
        other_ff = theirs.layers[i].linear1.weight.grad
        torch.testing.assert_close(mine_ff, other_ff, atol=1e-4, rtol=1e-4)


def test_a_feed_forward_network_is_its_formula_word_by_word() -> None:
    torch.manual_seed(0)
    network = FeedForward(D, D_FF)
    x = words()
    W_1 = network.up_proj.weight.T
    b_1 = network.up_proj.bias
    W_2 = network.down_proj.weight.T
    b_2 = network.down_proj.bias
    for b in range(BATCH):
        for i in range(WORDS):
            middle = torch.clamp(x[b, i] @ W_1 + b_1, min=0)
            torch.testing.assert_close(
                network(x)[b, i], middle @ W_2 + b_2, atol=1e-5, rtol=1e-5
            )


def test_swiglu_is_its_formula() -> None:
    torch.manual_seed(0)
    network = SwiGLU(D, D_FF)
    x = words()
    W, V = network.up_proj.weight.T.chunk(2, dim=1)
    gate = x @ W
    middle = gate * torch.sigmoid(gate) * (x @ V)
    expected = middle @ network.down_proj.weight.T
    torch.testing.assert_close(network(x), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("around", [PostNorm, PreNorm])
def test_norms_stand_where_their_names_say(around: type[PostNorm]) -> None:
    torch.manual_seed(0)
    wrap = around(D)
    x = 5 * words() + 3
    part = nn.Linear(D, D)
    expected = (
        wrap.norm(x + part(x))
        if around is PostNorm
        else x + part(wrap.norm(x))
    )
    torch.testing.assert_close(wrap(x, part), expected)


@pytest.mark.parametrize("around", [PostNorm, PreNorm])
def test_dropout_acts_in_training_only(around: type[PostNorm]) -> None:
    encoder = an_encoder(around, dropout=0.5)
    x = words()
    assert not torch.allclose(encoder(x), encoder(x))
    encoder.eval()
    torch.testing.assert_close(encoder(x), an_encoder(around)(x))


def test_dropout_reaches_every_part() -> None:
    x = words()
    torch.manual_seed(0)
    for part in FeedForward(D, D_FF, dropout=0.5), SwiGLU(D, 9, dropout=0.5):
        assert not torch.allclose(part(x), part(x))
    wrap = PostNorm(D, 0.5)
    assert not torch.allclose(wrap(x, nn.Identity()), wrap(x, nn.Identity()))


@pytest.mark.parametrize("around", [PostNorm, PreNorm])
def test_padding_reaches_no_real_word(around: type[PostNorm]) -> None:
    encoder = an_encoder(around).eval()
    x = words()
    mask = padding_mask(LENGTHS, WORDS)
    scribbled = torch.where(mask[:, 0, 0, :, None], x, 99.0)
    real = mask[:, 0, 0]
    torch.testing.assert_close(
        encoder(scribbled, mask)[real], encoder(x, mask)[real]
    )
