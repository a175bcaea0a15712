"""attention_book.attention.linear: states, against a loop over tokens."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book import (
    CausalLanguageModel,
    DecoderLayer,
    EncoderLayer,
    KeyValueCache,
    MultiHeadAttention,
    TextConfig,
    attention_weights,
    generate_text,
)
from attention_book.attention.linear import (
    GatedDeltaAttention,
    LinearAttention,
    chunked_linear_attention,
)
from attention_book.attention.packed import PackedLayout, PaddingLayout
from attention_book.generation.text import PromptDecoder


BATCH = 3
HEADS = 2
LENGTH = 11
D_K = 5
D_V = 7
D = 12
KINDS = [LinearAttention, GatedDeltaAttention]
RULES = ["add", "decay", "delta", "gated delta"]
Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor]


def make_inputs(rule: str, length: int = LENGTH) -> Inputs:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        shape = (BATCH, HEADS, *shape)
        return torch.randn(shape, generator=generator).double()

    query, key = (F.normalize(draw(length, D_K), dim=-1) for _ in "qk")
    value = draw(length, D_V)
    log_decay = F.logsigmoid(draw(length))
    beta = draw(length).sigmoid()
    state = draw(D_K, D_V)
    if rule in ("add", "delta"):
        log_decay = torch.zeros_like(log_decay)
    has_beta = "delta" in rule
    return query, key, value, log_decay, beta if has_beta else None, state


def by_loop(inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Outputs and the last state, as the paper on the gated rule has it."""
    query, key, value, log_decay, beta, state = inputs
    outputs = []
    identity = torch.eye(D_K).double()
    for t in range(key.shape[-2]):
        k = key[:, :, t, :, None]
        v = value[:, :, t, None]
        decay = log_decay[:, :, t, None, None].exp()
        if beta is None:
            state = decay * state + k * v
        else:
            b = beta[:, :, t, None, None]
            erase = identity - b * (k @ k.mT)
            state = erase @ (decay * state) + b * (k * v)
        outputs.append((query[:, :, t, None] @ state)[:, :, 0])
    return torch.stack(outputs, dim=2), state


@pytest.mark.parametrize("chunk_size", [1, 2, 4, LENGTH, 64])
@pytest.mark.parametrize("rule", RULES)
def test_chunks_equal_the_loop_with_gradients(
    rule: str, chunk_size: int
) -> None:
    found, wanted = [], []
    for results in (found, wanted):
        inputs = make_inputs(rule)
        given = [x.requires_grad_() for x in inputs if x is not None]
        if results is found:
            output, state = chunked_linear_attention(
                *inputs, chunk_size=chunk_size
            )
        else:
            output, state = by_loop(inputs)
        (output.sin().sum() + state.sin().sum()).backward()
        results += [output, state, *(x.grad for x in given)]
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_sequence_goes_on_from_its_state(rule: str) -> None:
    *inputs, state = make_inputs(rule)
    whole, last = chunked_linear_attention(*inputs, state, chunk_size=3)
    parts = []
    for place in (slice(0, 4), slice(4, 5), slice(5, LENGTH)):
        part = [None if x is None else x[:, :, place] for x in inputs]
        output, state = chunked_linear_attention(*part, state, chunk_size=3)
        parts.append(output)
    torch.testing.assert_close(torch.cat(parts, dim=2), whole)
    torch.testing.assert_close(state, last)


def test_without_a_state_it_begins_with_zeros() -> None:
    *inputs, state = make_inputs("gated delta")
    ours = chunked_linear_attention(*inputs)
    zeros = chunked_linear_attention(*inputs, torch.zeros_like(state))
    torch.testing.assert_close(ours, zeros, rtol=0, atol=0)


def test_strong_decay_neither_overflows_nor_loses_the_present() -> None:
    query, key, value, log_decay, beta, _ = make_inputs("gated delta", 70)
    for decay in (-50.0, -1e4):
        output, state = chunked_linear_attention(
            query, key, value, torch.full_like(log_decay, decay), beta
        )
        alone = (query * key).sum(-1, keepdim=True) * beta[..., None] * value
        torch.testing.assert_close(output, alone)
        assert state.isfinite().all()


def test_scores_of_a_softmax_free_attention_are_products() -> None:
    query, key, value, log_decay, _, _ = make_inputs("add")
    output, state = chunked_linear_attention(query, key, value, log_decay)
    torch.testing.assert_close(output, (query @ key.mT).tril() @ value)
    torch.testing.assert_close(state, key.mT @ value)


def make_layer(kind: type[LinearAttention]) -> LinearAttention:
    torch.manual_seed(1)
    return kind(D, HEADS)


def make_tokens(length: int = LENGTH) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(BATCH, length, D, generator=generator)


@pytest.mark.parametrize("kind", KINDS)
def test_the_layer_is_its_formula(kind: type[LinearAttention]) -> None:
    layer = make_layer(kind).double()
    x = make_tokens().double()
    query, key, value = (
        projected.view(BATCH, LENGTH, HEADS, D // HEADS).transpose(1, 2)
        for projected in (layer.q_proj(x), *layer.kv_proj(x).split(D, dim=-1))
    )
    key = key / key.norm(dim=-1, keepdim=True)
    kept = layer.decay_proj(x).sigmoid()
    heads = []
    for h in range(HEADS):
        state = torch.zeros(BATCH, D // HEADS, D // HEADS).double()
        rows = []
        for t in range(LENGTH):
            k, v = key[:, h, t], value[:, h, t]
            state = kept[:, t, h, None, None] * state
            if isinstance(layer, GatedDeltaAttention):
                v = v - (k[:, None] @ state)[:, 0]
                v = layer.beta_proj(x).sigmoid()[:, t, h, None] * v
            state = state + k[:, :, None] * v[:, None]
            rows.append((query[:, h, t, None] @ state)[:, 0])
        head = torch.stack(rows, dim=1)
        size = (head.square().mean(-1, keepdim=True) + 2.2e-16).sqrt()
        heads.append(head / size * layer.norm.weight)
    want = layer.out_proj(torch.cat(heads, dim=-1))
    torch.testing.assert_close(layer(x, is_causal=True), want)


def test_heads_keep_half_after_some_40_to_2000_tokens_at_first() -> None:
    layer = LinearAttention(64, 8)
    half_life = math.log(0.5) / layer.log_decay(torch.zeros(1, 1, 64))
    assert 35 < half_life.min() < 45
    assert 2000 < half_life.max() < 2100


@pytest.mark.parametrize("kind", KINDS)
def test_the_future_does_not_leak(kind: type[LinearAttention]) -> None:
    layer = make_layer(kind)
    x = make_tokens(70)
    changed = x.clone()
    changed[:, 66:] += 1
    with torch.no_grad():
        before, after = (layer(y, is_causal=True) for y in (x, changed))
    assert torch.equal(before[:, :66], after[:, :66])
    assert not torch.isclose(before[:, 66:], after[:, 66:]).all(-1).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [[1] * LENGTH, [3, 1, 2, 5], [LENGTH]])
def test_token_by_token_equals_all_at_once(
    steps: list[int], kind: type[LinearAttention]
) -> None:
    layer = make_layer(kind)
    x = make_tokens()
    cache = KeyValueCache(1)  # a state needs no room for tokens
    parts = [
        layer(tokens, is_causal=len(tokens[0]) > 1, cache=cache)
        for tokens in x.split(steps, dim=1)
    ]
    assert cache.length == LENGTH
    assert cache.buffer is not None
    assert cache.buffer.key.shape == (BATCH, HEADS, D // HEADS, D // HEADS)
    assert cache.buffer.value.numel() == 0
    together = torch.cat(parts, dim=1)
    torch.testing.assert_close(together, layer(x, is_causal=True))
    together.sum().backward()  # gradients pass the state
    assert layer.kv_proj.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_padding_at_the_end_does_not_matter(
    kind: type[LinearAttention],
) -> None:
    layer = make_layer(kind)
    x = make_tokens()
    lengths = torch.tensor([4, LENGTH, 1])
    layout = PaddingLayout(lengths, LENGTH)
    padded = x.masked_fill(~layout.mask[:, 0, 0, :, None], 1e3)
    found = layer(padded, is_causal=True)
    packed = layer(
        layout.unpad(x), mask=PackedLayout(layout, layout), is_causal=True
    )
    for row, n in enumerate(lengths.tolist()):
        alone = layer(x[row : row + 1, :n], is_causal=True)[0]
        torch.testing.assert_close(found[row, :n], alone)
    torch.testing.assert_close(packed, layout.unpad(found))


def test_what_a_state_can_not_do_is_refused() -> None:
    layer = make_layer(LinearAttention)
    x = make_tokens()
    mask = torch.ones(BATCH, 1, 1, LENGTH, dtype=torch.bool)
    message = "memory and mask must be None beside a state"
    with pytest.raises(ValueError, match=message):
        layer(x, x, is_causal=True)
    with pytest.raises(ValueError, match=message):
        layer(x, mask=mask, is_causal=True)
    layout = PaddingLayout(torch.tensor([4, LENGTH, 1]), LENGTH)
    packed = PackedLayout(layout, layout)
    for y, given in ((x, None), (layout.unpad(x), packed)):
        with pytest.raises(ValueError, match="is_causal must be True"):
            layer(y, mask=given)
    with pytest.raises(ValueError, match="LinearAttention has no attention w"):
        attention_weights(layer, x)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_keeps_its_state_in_single(
    kind: type[LinearAttention],
) -> None:
    layer = make_layer(kind)
    x = make_tokens()
    want = layer(x, is_causal=True)
    cache = KeyValueCache(LENGTH)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x, is_causal=True, cache=cache)
    assert found.dtype == torch.bfloat16
    assert cache.buffer is not None
    assert cache.buffer.key.dtype == torch.float32
    torch.testing.assert_close(found.float(), want, rtol=0, atol=0.05)
    found = layer.bfloat16()(x.bfloat16(), is_causal=True)
    torch.testing.assert_close(found.float(), want, rtol=0, atol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_take_it_as_their_self_attention(
    kind: type[LinearAttention],
) -> None:
    torch.manual_seed(3)
    x = make_tokens()
    encoder = EncoderLayer(D, HEADS, 17, self_attention=kind)
    assert encoder(x, is_causal=True).shape == x.shape
    with pytest.raises(ValueError, match="is_causal must be True"):
        encoder(x)
    decoder = DecoderLayer(D, HEADS, 17, self_attention=kind)
    assert decoder(x, x[:, :4]).shape == x.shape
    decoder = DecoderLayer(D, HEADS, 17, cross_attention=kind)
    with pytest.raises(ValueError, match="memory and mask must be None"):
        decoder(x, x[:, :4])


def make_hybrid() -> CausalLanguageModel:
    torch.manual_seed(4)
    sizes = {"d_model": D, "n_heads": HEADS, "d_ff": 17, "n_layers": 3}
    model = CausalLanguageModel(TextConfig(vocab_size=23, **sizes)).eval()
    for layer in model.encoder.encoder.layers[:2]:
        layer.self_attention = GatedDeltaAttention(D, HEADS)
    torch.nn.init.normal_(model.encoder.tokens.weight)
    return model


def test_a_hybrid_generates_what_it_would_without_a_cache() -> None:
    model = make_hybrid()
    found = generate_text(model, [7, 3, 11], max_length=13, eos_id=None)
    wanted = [7, 3, 11]
    with torch.no_grad():
        while len(wanted) < 13:
            logits = model(torch.tensor([wanted]))
            wanted.append(int(logits[0, -1].argmax()))
    assert found == wanted


def test_rows_are_kept_and_reordered_with_their_states() -> None:
    model = make_hybrid()
    prompts = torch.randint(23, (4, 5))
    lengths = torch.full((4,), 5)
    with torch.no_grad():
        state, _ = PromptDecoder(model).prefill(prompts, lengths, 3)
        state.keep([2, 0, 2])
        found = state.step(torch.tensor([6, 1, 9]))
        together = torch.cat(
            [prompts[[2, 0, 2]], torch.tensor([[6], [1], [9]])], dim=1
        )
        torch.testing.assert_close(found, model(together)[:, -1])


def test_it_has_the_projections_of_multi_head_attention() -> None:
    ours = dict(GatedDeltaAttention(D, HEADS).named_parameters())
    for name, x in MultiHeadAttention(D, HEADS).named_parameters():
        assert ours[name].shape == x.shape
    assert set(ours) - {
        name for name, _ in MultiHeadAttention(D, HEADS).named_parameters()
    } == {
        "norm.weight",
        *(
            f"{gate}_proj.{x}"
            for gate in ("decay", "beta")
            for x in ("weight", "bias")
        ),
    }
