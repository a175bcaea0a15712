"""attention_book.models.transformer against torch.nn.Transformer and itself."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import causal_mask
from attention_book.models.config import PRESETS
from attention_book.models.transformer import (
    Transformer,
)
from tests.factories import (
    FEED_FORWARDS,
    NORMS,
    POSITIONS,
    make_config,
    make_transformer,
)
from tests.torch_state import randomise, stack_state


BATCH = 3
SOURCE = 7
TARGET = 5
LENGTHS = torch.tensor([7, 2, 4])


def make_token_ids() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randint(13, (BATCH, SOURCE), generator=generator),
        torch.randint(11, (BATCH, TARGET), generator=generator),
    )


def torch_transformer(ours: Transformer) -> nn.Transformer:
    """PyTorch's model with the parameters of ours, without extra norms."""
    config = ours.config
    pre = config.norm == "pre"
    theirs = nn.Transformer(
        config.d_model,
        config.n_heads,
        config.n_layers,
        config.n_layers,
        config.d_ff,
        dropout=0.0,
        activation=config.feed_forward,
        batch_first=True,
        norm_first=pre,
    )
    if not pre:
        theirs.encoder.norm = None
        theirs.decoder.norm = None
    for side in ("encoder", "decoder"):
        getattr(theirs, side).load_state_dict(stack_state(getattr(ours, side)))
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("feed_forward", ["relu", "gelu"])
@pytest.mark.parametrize("norm", NORMS)
def test_it_equals_pytorch_forward_and_backward(
    norm: str, feed_forward: str
) -> None:
    ours = make_transformer(seed=1, norm=norm, feed_forward=feed_forward)
    ours.train()
    randomise(ours)
    theirs = torch_transformer(ours)
    source, target = make_token_ids()
    hidden = torch.arange(SOURCE) >= LENGTHS[:, None]
    logits = ours(source, LENGTHS, target)
    states = theirs(
        ours.source_embedding(source),
        ours.target_embedding(target),
        tgt_mask=~causal_mask(TARGET),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    target_table = ours.target_embedding.tokens.weight
    expected = states @ target_table.T
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)

    upstream = torch.arange(logits.numel()).reshape(logits.shape).cos()
    tables = ours.source_embedding.tokens.weight, target_table
    grads = [
        torch.autograd.grad((out * upstream).sum(), tables)
        for out in (logits, expected)
    ]
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("n_kv_heads", [None, 3, 1])
@pytest.mark.parametrize("feed_forward", FEED_FORWARDS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_step_by_step_equals_all_at_once(
    norm: str, positions: str, feed_forward: str, n_kv_heads: int | None
) -> None:
    model = make_transformer(
        seed=1,
        norm=norm,
        positions=positions,
        feed_forward=feed_forward,
        n_kv_heads=n_kv_heads,
    )
    source, target = make_token_ids()
    with torch.no_grad():
        expected = model(source, LENGTHS, target)
        memory, mask = model.encode(source, LENGTHS)
        memory_kv = model.decoder.project_memory(memory)
        caches = [KeyValueCache(TARGET) for _ in model.decoder.layers]
        chunks = [
            model.decode(chunk, memory_kv, mask, caches)
            for chunk in target.split([2, 1, 1, 1], dim=1)
        ]
    torch.testing.assert_close(
        torch.cat(chunks, dim=1), expected, atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("n_kv_heads", [3, 1])
def test_fewer_key_heads_are_as_many_with_repeated_parameters(
    n_kv_heads: int,
) -> None:
    grouped = make_transformer(seed=1, n_kv_heads=n_kv_heads)
    full = make_transformer(seed=1)
    repeats = 6 // n_kv_heads
    state = grouped.state_dict()
    for name, value in state.items():
        if "kv_proj" in name:  # keys then values, a row of 4 for each head
            rows = value.view(2, n_kv_heads, 4, *value.shape[1:])
            rows = rows.repeat_interleave(repeats, dim=1)
            state[name] = rows.reshape(2 * 24, *value.shape[1:])
    full.load_state_dict(state)
    source, target = make_token_ids()
    torch.testing.assert_close(
        grouped(source, LENGTHS, target), full(source, LENGTHS, target)
    )


@pytest.mark.parametrize("positions", POSITIONS)
def test_order_matters_and_padding_does_not(positions: str) -> None:
    model = make_transformer(seed=1, positions=positions)
    source, target = make_token_ids()
    usual = model(source, LENGTHS, target)
    padded = source.clone()
    padded[1, 2:] = 12
    padded[2, 4:] = 12
    torch.testing.assert_close(model(padded, LENGTHS, target), usual)
    # Not flip: it leaves all distances, and so ALiBi, as they are.
    moved = model(source.roll(1, dims=1), LENGTHS, target)
    assert not torch.allclose(moved[0], usual[0], atol=1e-3)  # full length


def test_embeddings_are_scaled_tied_and_shared_as_asked() -> None:
    model = make_transformer(seed=1)
    source, _ = make_token_ids()
    table = model.source_embedding.tokens.weight
    for positions in ("rotary", "alibi"):  # which add nothing to it
        other = make_transformer(seed=1, positions=positions)
        torch.testing.assert_close(
            other.source_embedding(source), table[source] * 24**0.5
        )
    assert model.source_embedding is not model.target_embedding
    assert abs(table.std().item() * 24**0.5 - 1) < 0.15
    shared = make_transformer(source_vocab_size=11, share_embeddings=True)
    assert shared.source_embedding is shared.target_embedding
    assert sum(p.numel() for p in model.parameters()) - 13 * 24 == sum(
        p.numel() for p in shared.parameters()
    )


@pytest.mark.parametrize(("size", "million"), [("base", 65), ("big", 213)])
def test_base_and_big_have_the_papers_sizes(size: str, million: int) -> None:
    with torch.device("meta"):
        model = Transformer.base(**PRESETS[size])
        mine = Transformer.base(1000, **PRESETS[size] | {"n_layers": 1})
    assert len(model.target_embedding.tokens.weight) == 37_000
    count = sum(p.numel() for p in model.parameters()) / 1e6
    assert abs(count / million - 1) < 0.03
    assert len(mine.decoder.layers) == 1


def test_dropout_reaches_embeddings_and_layers_in_training_only() -> None:
    model = make_transformer(dropout=0.5).train()
    source, target = make_token_ids()
    assert (model.source_embedding(source) == 0).any()
    model.source_embedding.eval()
    model.target_embedding.eval()
    once, again = (model.encode(source, LENGTHS)[0] for _ in "ab")
    assert not torch.allclose(once, again)
    mask = torch.ones(BATCH, 1, 1, SOURCE, dtype=torch.bool)
    once, again = (model.decode(target, again, mask) for _ in "ab")
    assert not torch.allclose(once, again)
    expected = make_transformer()(source, LENGTHS, target)
    found = model.eval()(source, LENGTHS, target)
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_kv_heads": 4}, "n_kv_heads must divide n_heads = 6, got 4"),
        (
            {"share_embeddings": True},
            "of one size, got source_vocab_size 13 and target_vocab_size 11",
        ),
        ({"d_model": 25, "n_heads": 5}, "d_model must be even .*got 25"),
        (
            {"n_heads": 8, "positions": "rotary"},
            "d_model / n_heads must be even and positive, got 3",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_named(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_config(**changes)


@pytest.mark.usefixtures("unchecked")
def test_a_sentence_longer_than_the_learned_table_is_named() -> None:
    model = make_transformer(positions="learned", max_length=6)
    source, target = make_token_ids()
    with pytest.raises(ValueError, match="positions must be from 0 to 5"):
        model(source, LENGTHS, target)
