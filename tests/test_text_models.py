"""The trunk that tasks and language models share, against PyTorch and itself."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_book.attention.caches import KeyValueCache
from attention_book.models.config import TextConfig
from attention_book.models.text import TextEncoder
from tests.factories import make_text_config
from tests.torch_state import randomise, stack_state


LENGTHS = torch.tensor([7, 2, 5])
TOKENS = torch.randint(13, (3, 7), generator=torch.Generator().manual_seed(0))


def make_trunk(**changes: Any) -> TextEncoder:
    """Return a trunk none of whose parameters is zero or one."""
    trunk = TextEncoder(make_text_config(**changes)).eval()
    randomise(trunk)
    return trunk


def two_caches() -> list[KeyValueCache]:
    return [KeyValueCache(11) for _ in range(2)]


@torch.no_grad()
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_it_equals_pytorchs_encoder(
    norm: str, activation: str, is_causal: bool
) -> None:
    trunk = make_trunk(
        norm=norm, activation=activation, eps=1e-3, n_segments=2
    )
    layer = nn.TransformerEncoderLayer(
        24,
        3,
        10,
        dropout=0.0,
        activation=activation,
        layer_norm_eps=1e-3,
        batch_first=True,
        norm_first=norm == "pre",
    )
    final = nn.LayerNorm(24, eps=1e-3) if norm == "pre" else None
    theirs = nn.TransformerEncoder(
        layer, 2, final, enable_nested_tensor=False
    ).eval()
    theirs.load_state_dict(stack_state(trunk.encoder))
    segment_ids = TOKENS % 2
    assert trunk.segments is not None
    x = trunk.tokens(TOKENS) + trunk.positions.table[:7]
    x = trunk.embedding_norm(x + trunk.segments(segment_ids))
    assert isinstance(trunk.embedding_norm, nn.LayerNorm) == (norm == "post")
    hidden = torch.arange(7) >= LENGTHS[:, None]
    future = torch.ones(7, 7).triu(1).bool() if is_causal else None
    x = theirs(x, mask=future, src_key_padding_mask=hidden)
    found = trunk(
        TOKENS, LENGTHS, segment_ids=segment_ids, is_causal=is_causal
    )
    assert torch.allclose(found[~hidden], x[~hidden], atol=1e-5)


@torch.no_grad()
def test_the_gelus_differ_as_theirs_do() -> None:
    exact, tanh = (make_trunk(activation=a) for a in ("gelu", "gelu_tanh"))
    x = torch.linspace(-4, 4, 99)
    for trunk, approximate in (exact, "none"), (tanh, "tanh"):
        for layer in trunk.encoder.layers:
            wanted = F.gelu(x, approximate=approximate)
            assert torch.equal(layer.feed_forward.activation(x), wanted)


@torch.no_grad()
@pytest.mark.parametrize("is_causal", [False, True])
def test_padding_changes_nothing(is_causal: bool) -> None:
    trunk = make_trunk()
    padded = trunk(TOKENS, LENGTHS, is_causal=is_causal)
    for row, n in enumerate(LENGTHS.tolist()):
        alone = trunk(TOKENS[row : row + 1, :n], is_causal=is_causal)
        assert torch.allclose(padded[row, :n], alone[0], atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("sizes", [[1] * 7, [3, 1, 3]])
def test_caches_stand_for_the_tokens_before(sizes: list[int]) -> None:
    trunk = make_trunk()
    caches = two_caches()
    steps = [
        trunk(part, is_causal=True, caches=caches)
        for part in TOKENS.split(sizes, dim=1)
    ]
    whole = trunk(TOKENS, is_causal=True)
    assert torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-5)


@torch.no_grad()
def test_the_first_segment_is_the_default() -> None:
    trunk = make_trunk(n_segments=2)
    zeros = torch.zeros_like(TOKENS)
    assert torch.equal(trunk(TOKENS), trunk(TOKENS, segment_ids=zeros))
    assert not torch.equal(trunk(TOKENS), trunk(TOKENS, segment_ids=zeros + 1))


def test_every_parameter_learns() -> None:
    for norm in "pre", "post":
        trunk = make_trunk(norm=norm, n_segments=2)
        weights = torch.randn(3, 7, 24)  # the sum of a LayerNorm is fixed
        (trunk(TOKENS) * weights).sum().backward()
        for name, parameter in trunk.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_the_gradient_of_each_sentence_can_be_had_at_once() -> None:
    trunk = make_trunk()

    def loss(state: dict[str, Tensor], row: Tensor) -> Tensor:
        found = torch.func.functional_call(trunk, state, row[None])
        return found.square().mean()

    state = dict(trunk.named_parameters())
    slopes = torch.func.grad(loss)
    at_once = torch.vmap(slopes, (None, 0))(state, TOKENS)
    for i, row in enumerate(TOKENS):
        for name, slope in slopes(state, row).items():
            assert_close(at_once[name][i], slope, msg=name)


def test_by_default_it_is_as_large_as_bert() -> None:
    config = TextConfig(vocab_size=30522, n_segments=2, norm="post", eps=1e-12)
    with torch.device("meta"):
        trunk = TextEncoder(config)
    # Devlin et al. (2019), §3: 110M, with the pooler of 590,592
    assert sum(p.numel() for p in trunk.parameters()) == 108_891_648


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_segments": -1}, "n_segments must be a whole number >= 0, got -1"),
        ({"n_heads": 5}, "n_heads must divide d_model = 24, got 5"),
        ({"eps": 0}, "eps must be positive, got 0"),
        ({"activation": "swish"}, "activation must be one of .*, got 'swish'"),
    ],
)
def test_a_wrong_configuration_is_named(
    changes: dict[str, Any], message: str, unchecked: None
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make_text_config(**changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_ids": TOKENS + 13}, "token_ids must be from 0 to 12, got"),
        ({"token_ids": TOKENS.repeat(1, 2)}, "positions must be from 0 to 10"),
        ({"lengths": LENGTHS + 1}, "lengths must be from 1 to 7, got"),
        ({"segment_ids": TOKENS}, "segment_ids must be None: n_segments is 0"),
        ({"caches": two_caches()}, "caches want is_causal and no lengths"),
        (
            {"caches": two_caches(), "is_causal": True, "lengths": LENGTHS},
            "caches want is_causal and no lengths, got is_causal=True",
        ),
    ],
)
def test_a_wrong_input_is_named(
    arguments: dict[str, Any], message: str, unchecked: None
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        make_trunk()(**{"token_ids": TOKENS} | arguments)
