"""attention_book.adaptive against autograd, the entmax package, plain loops."""

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_book import (
    beam_search,
    generate,
    list_heads,
    prune_heads,
    replace_attention,
    save_model,
    without_heads,
)
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.entmax import EntmaxAttention, entmax, entmax15
from attention_book.attention.functional import causal_mask, padding_mask
from attention_book.attention.gates import GatedAttention, expected_heads
from attention_book.attention.multi_head import (
    MultiHeadAttention,
    attention_weights,
)
from attention_book.attention.packed import PackedLayout, PaddingLayout
from attention_book.attention.spans import SpanAttention, mean_span
from attention_book.attention.sparse import (
    EagerAttention,
    SparsemaxAttention,
    sparsemax,
)
from attention_book.data.batches import pad
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.interpret.heads import PrunedAttention, head_importance
from experiments import adaptive_alpha
from experiments.attention_tasks import (
    log_n,
    recall,
    scaled,
    train_delay,
    train_recall,
)
from tests.factories import (
    make_images,
    make_transformer,
    make_varied,
    make_vit,
)
from tests.test_bad_input import assert_named_or_works
from tests.torch_state import randomise


Transform = Callable[..., Tensor]


def entmax13(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return entmax(scores, 1.3, mask)


ALPHAS: dict[Transform, float] = {sparsemax: 2.0, entmax15: 1.5, entmax13: 1.3}
KINDS: dict[type[EagerAttention], dict[str, Any]] = {
    SparsemaxAttention: {},
    EntmaxAttention: {},
    SpanAttention: {"max_span": 3, "ramp": 1.5},
}


@pytest.fixture(params=ALPHAS)
def f(request: pytest.FixtureRequest) -> Transform:
    return request.param


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def layer(request: pytest.FixtureRequest) -> EagerAttention:
    """A layer none of whose parameters is zero; 3 heads of width 8."""
    made = request.param(24, 3, **KINDS[request.param])
    randomise(made)
    return made.eval()


def scores(*shape: int, seed: int = 0, scale: float = 2.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(shape, dtype=torch.float64, generator=generator)


def test_rows_sum_to_one_and_some_weights_are_zero(f: Transform) -> None:
    s = scores(2, 3, 11)
    weights = f(s)
    assert_close(weights.sum(-1), torch.ones(2, 3).double())
    assert (weights >= 0).all()
    assert (weights == 0).any()
    gap = s.amax(-1, keepdim=True) - s
    assert (weights[gap >= 1 / (ALPHAS[f] - 1)] == 0).all()
    assert_close(f(s + 100), weights)
    order = torch.randperm(11)
    assert_close(f(s[..., order]), weights[..., order])
    assert (weights.gather(-1, s.argsort(-1)).diff() >= 0).all()


def test_rows_can_be_mapped_over(f: Transform) -> None:
    s = scores(3, 11)
    assert_close(torch.vmap(f)(s), f(s))
    slope = torch.func.grad(lambda row: f(row).square().sum())
    alone = torch.stack([slope(row) for row in s])
    assert_close(torch.vmap(slope)(s), alone)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    s = scores(5, scale=1.0)
    nearest = (sparsemax(s) - s).square().sum()
    drawn = torch.distributions.Dirichlet(torch.ones(5).double())
    others = drawn.sample(torch.Size([20_000]))
    assert nearest <= (others - s).square().sum(-1).min() + 1e-12


def test_alpha_near_one_is_softmax_and_above_is_sparser() -> None:
    s = scores(7, 11)
    assert_close(entmax(s, 1.0001), s.softmax(-1), atol=1e-4, rtol=0)
    zeros = [(entmax(s, a) == 0).sum() for a in (1.1, 1.3, 1.5, 1.8, 2.0)]
    assert all(a < b for a, b in itertools.pairwise(zeros))


@pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float32, 2e-6), (torch.float64, 1e-12)]
)
def test_exact_and_bisected_agree(dtype: torch.dtype, atol: float) -> None:
    s = scores(3, 200, 257, scale=1.0).to(dtype)
    for exact, alpha in ((sparsemax, 2.0), (entmax15, 1.5)):
        bisected = entmax(s, torch.tensor(alpha))
        assert_close(exact(s), bisected, atol=atol, rtol=0)


def test_ties_single_keys_and_huge_scores(f: Transform) -> None:
    assert_close(f(torch.zeros(2, 5)), torch.full((2, 5), 0.2))
    assert f(torch.tensor([[3.0]])).tolist() == [[1.0]]
    two = f(torch.tensor([5.0, 5.0, -90.0]))
    assert_close(two, torch.tensor([0.5, 0.5, 0.0]))
    assert f(torch.zeros(3, 0)).shape == (3, 0)
    s = torch.tensor([3e38, 1e38, 0.0, -3e38])
    assert f(s).tolist() == [1, 0, 0, 0]
    mask = torch.tensor([False, True, True, True])
    assert f(s, mask).tolist() == [0, 1, 0, 0]


def test_half_precision_is_computed_in_full(f: Transform) -> None:
    s = scores(3, 300).bfloat16()
    weights = f(s)
    assert weights.dtype == torch.bfloat16
    assert_close(weights.float(), f(s.float()), atol=2e-3, rtol=0)


def test_masks_are_those_of_masked_softmax(f: Transform) -> None:
    s = scores(2, 3, 5, 7)
    mask = scores(2, 1, 5, 7, seed=1) > 0
    mask[0, 0, 2] = False  # all masked
    weights = f(s, mask)
    assert (weights[~mask.expand_as(s)] == 0).all()
    for b, h, q in itertools.product(range(2), range(3), range(5)):
        seen = mask[b, 0, q]
        assert_close(weights[b, h, q, seen], f(s[b, h, q, seen]))


def test_gradients(f: Transform) -> None:
    mask = scores(5, 7, seed=2) > -1
    mask[3] = False
    s = scores(5, 7).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: f(s, mask), s)
    assert torch.autograd.gradgradcheck(lambda s: f(s, mask), s)


def test_gradient_of_alpha() -> None:
    alpha = torch.tensor([1.1, 1.4, 1.9], dtype=torch.float64)
    alpha = alpha[:, None, None].requires_grad_()
    s = scores(2, 3, 5, 7).requires_grad_()
    mask = scores(2, 1, 1, 7, seed=1) > -1
    assert torch.autograd.gradcheck(lambda *x: entmax(*x, mask), (s, alpha))


def test_an_alpha_for_each_key_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one for each row, .* got \(7,\)"):
        entmax(torch.ones(5, 7), torch.full((7,), 1.5))
    with pytest.raises(ValueError, match=r"alpha must be above 1, got 1\.0"):
        entmax(torch.ones(3), 1.0)


def test_it_equals_the_entmax_package() -> None:
    theirs = pytest.importorskip("entmax", reason="entmax is not installed")
    s = scores(5, 7, 77, scale=3.0).requires_grad_()
    grad = scores(5, 7, 77, seed=1)
    alpha = torch.linspace(1.05, 1.95, 7, dtype=torch.float64)[:, None]
    alpha.requires_grad_()
    pairs: list[tuple[Transform, Transform, tuple[Tensor, ...]]] = [
        (sparsemax, theirs.sparsemax, (s,)),
        (entmax15, theirs.entmax15, (s,)),
        (entmax, theirs.entmax_bisect, (s, alpha)),
    ]
    for ours, other, inputs in pairs:
        assert_close(ours(*inputs), other(*inputs))
        found = torch.autograd.grad(ours(*inputs), inputs, grad)
        wanted = torch.autograd.grad(other(*inputs), inputs, grad)
        assert_close(found, wanted)


def test_eager_attention_is_multi_head_attention() -> None:
    torch.manual_seed(0)
    plain = MultiHeadAttention(24, 6, n_kv_heads=2).eval()
    eager = replace_attention(plain, EagerAttention)
    assert isinstance(eager, EagerAttention)
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
    mask = padding_mask(torch.tensor([7, 3]), 7)
    own = padding_mask(torch.tensor([5, 3]), 5).flip(-1)
    for arguments in (
        {"memory": memory, "mask": mask},
        {"is_causal": True},
        {"mask": own, "is_causal": True},
    ):
        assert_close(eager(x, **arguments), plain(x, **arguments))


def test_dropout_of_weights_is_on_in_training_only() -> None:
    torch.manual_seed(0)
    layer = EagerAttention(24, 3, dropout=0.5)
    x = torch.randn(2, 5, 24)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_a_layer_is_its_weights_times_its_values(
    layer: EagerAttention,
) -> None:
    x = torch.randn(2, 5, 24)
    weights = attention_weights(layer, x, is_causal=True)
    value = layer.keys_and_values(x).value
    joined = (weights @ value).transpose(-3, -2).flatten(-2)
    assert_close(layer(x, is_causal=True), layer.out_proj(joined))
    assert (weights.triu(1) == 0).all()
    assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert (weights.tril() == 0).any()


def test_caches_and_packing_give_the_same(layer: EagerAttention) -> None:
    x = torch.randn(2, 5, 24)
    whole = layer(x, is_causal=True)
    with torch.no_grad():
        cache = KeyValueCache(5)
        steps = [
            layer(part, is_causal=True, cache=cache) for part in x.split(2, 1)
        ]
    assert_close(torch.cat(steps, dim=1), whole)
    lengths = torch.tensor([5, 3])
    layout = PaddingLayout(lengths, 5)
    packed = layer(layout.unpad(x), mask=PackedLayout(layout, layout))
    padded = layer(x, mask=padding_mask(lengths, 5))
    assert_close(packed, layout.unpad(padded))
    if not isinstance(layer, SpanAttention):  # which is for self-attention
        memory = torch.randn(2, 7, 24)
        ready_made = layer.keys_and_values(memory)
        assert_close(layer(x, ready_made), layer(x, memory))


@pytest.mark.usefixtures("unchecked")
def test_a_mask_of_numbers_is_refused(layer: EagerAttention) -> None:
    x = torch.randn(2, 5, 24)
    for is_causal in (False, True):
        with pytest.raises(ValueError, match="mask must be boolean"):
            layer(x, mask=torch.ones(2, 1, 5, 5).long(), is_causal=is_causal)
    with pytest.raises(ValueError, match="mask must broadcast to"):
        layer(x, mask=torch.ones(3, 2, 1, 5, 5).bool())


def layers_of(model: nn.Module) -> dict[str, Any]:
    return {name: model.get_submodule(name) for name in list_heads(model)}


def test_each_head_learns_its_alpha() -> None:
    torch.manual_seed(0)
    begun = EntmaxAttention(24, 3, alpha=1.9).alpha
    assert_close(begun, torch.full((3,), 1.9))
    layer = EntmaxAttention(24, 3)
    assert layer.alpha.tolist() == [1.5] * 3
    s = torch.randn(2, 3, 5, 7)
    assert_close(layer.weights(s, None), entmax15(s))
    layer(torch.randn(2, 5, 24)).square().sum().backward()
    assert (layer.alpha_logits.grad != 0).all()


def test_the_soft_mask_is_the_formula() -> None:
    torch.manual_seed(0)
    layer = SpanAttention(24, 3, max_span=8, ramp=2.5).eval()
    nn.init.normal_(layer.span_logits)
    q, n = 2, 7  # the last queries
    s = torch.randn(2, 3, q, n)
    found = layer.weights(s, causal_mask(q, n))
    for h, t in itertools.product(range(3), range(q)):
        z = layer.spans[h].item()
        position = n - q + t
        m = [
            min(max((2.5 + z - (position - r)) / 2.5, 0), 1)
            if r <= position
            else 0.0
            for r in range(n)
        ]
        e = torch.tensor(m) * s[0, h, t].exp()
        assert_close(found[0, h, t], e / e.sum())


def test_spans_get_gradients_and_are_penalised() -> None:
    torch.manual_seed(0)
    layer = SpanAttention(24, 3, max_span=8)
    assert layer.spans.tolist() == [4.0] * 3
    assert mean_span(layer).item() == 4
    layer(torch.randn(2, 11, 24)).square().sum().backward()
    gradient = layer.span_logits.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient != 0).all()
    two = nn.Sequential(layer, SpanAttention(24, 1, max_span=2))
    assert mean_span(two).item() == (3 * 4 + 1) / 4


def test_a_span_hides_what_is_far() -> None:
    torch.manual_seed(0)
    layer = SpanAttention(24, 3, max_span=4, ramp=1.0).eval()  # spans of 2
    x = torch.randn(1, 11, 24)
    changed = x.clone()
    changed[:, 0] += 1
    moved = (layer(x) - layer(changed)).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [True] * 3 + [False] * 8


class WholeSpanAttention(SpanAttention):
    """Compares each query with all keys."""

    attend = EagerAttention.attend


@pytest.mark.parametrize(("n", "ramp"), [(9, 1.0), (13, 1.0), (29, 1.5)])
def test_far_keys_are_left_out_and_nothing_changes(
    n: int, ramp: float
) -> None:
    options: dict[str, Any] = {"max_span": 6, "ramp": ramp, "n_kv_heads": 2}
    cut = SpanAttention(24, 6, **options).double()  # spans of 3
    whole = WholeSpanAttention(24, 6, **options).double()
    with torch.no_grad():
        cut.span_logits[:3] = -1.0
    whole.load_state_dict(cut.state_dict())
    x = torch.randn(2, n, 24, dtype=torch.float64)
    found, wanted = (each(x, is_causal=True) for each in (cut, whole))
    assert_close(found, wanted)
    for each in (found, wanted):
        each.square().sum().backward()
    for a, b in zip(cut.parameters(), whole.parameters(), strict=True):
        assert_close(a.grad, b.grad)
    found, wanted = (
        attention_weights(each, x, is_causal=True) for each in (cut, whole)
    )
    assert_close(found, wanted)


def test_only_near_keys_are_compared() -> None:
    shapes = []

    class Recorded(SpanAttention):
        def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            shapes.append(tuple(scores.shape))
            return super().weights(scores, mask)

    layer = Recorded(24, 3, max_span=6, ramp=2.0)  # 3 + 2 keys
    x = torch.randn(2, 23, 24)
    layer(x, is_causal=True)
    layer(x)
    layer(x[:, :10], is_causal=True)
    assert shapes == [(10, 3, 5, 10), (2, 3, 23, 23), (2, 3, 10, 10)]


def test_gates_multiply_heads() -> None:
    torch.manual_seed(0)
    layer = GatedAttention(24, 3).eval()
    with torch.no_grad():
        layer.gate_logits.copy_(torch.tensor([9.0, -9.0, 0.3]))
    g = layer.gates()
    assert g[:2].tolist() == [1.0, 0.0]
    assert 0 < g[2] < 1
    x = torch.randn(2, 5, 24)
    plain = MultiHeadAttention(24, 3)
    plain.load_state_dict(layer.state_dict(), strict=False)
    with torch.no_grad():
        columns = plain.out_proj.weight.view(24, 3, 8)
        columns.mul_(g[:, None])
    assert_close(layer(x), plain(x))


def test_gates_are_drawn_from_the_hard_concrete_distribution() -> None:
    torch.manual_seed(0)
    n = 50_000
    layer = GatedAttention(24, 3)
    layer.gate_logits = nn.Parameter(torch.full((n,), -0.7))
    g = layer.gates()
    assert ((g >= 0) & (g <= 1)).all()
    wanted = expected_heads(layer).item()  # of n
    assert abs((g > 0).sum().item() - wanted) < 4 * math.sqrt(n / 4)
    assert (g == 1).any()
    assert ((g > 0) & (g < 1)).any()


def test_replacing_leaves_the_model_and_all_else() -> None:
    model = make_transformer()
    before = copy.deepcopy(model.state_dict())
    replaced = replace_attention(
        model, SpanAttention, ending="self_attention", max_span=5
    )
    for name, layer in layers_of(replaced).items():
        is_self = name.endswith("self_attention")
        assert isinstance(layer, SpanAttention) == is_self
        assert type(layers_of(model)[name]) is MultiHeadAttention
    after = replaced.state_dict()
    for name, value in before.items():
        assert torch.equal(value, after[name])
        after[name].zero_()
    assert_close(model.state_dict(), before, rtol=0, atol=0)


def test_a_softmax_layer_put_in_changes_nothing() -> None:
    vit, images = make_vit(), make_images()
    eager = replace_attention(vit, EagerAttention)
    assert_close(eager(images), vit(images))
    sparse = replace_attention(vit, SparsemaxAttention)
    assert not torch.allclose(sparse(images), vit(images))
    assert not any(module.training for module in sparse.modules())
    back = replace_attention(sparse, MultiHeadAttention)
    assert_close(back(images), vit(images))


def test_replaced_layers_keep_dtype_dropout_and_groups() -> None:
    old = MultiHeadAttention(24, 6, n_kv_heads=2, bias=False, dropout=0.2)
    new = replace_attention(old.double(), EntmaxAttention)
    assert new.alpha_logits.dtype == torch.float64
    assert new.dropout == 0.2
    assert new.n_kv_heads == 2
    assert new.q_proj.bias is None
    assert new.training


@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_positions_are_not_lost_silently(positions: str) -> None:
    model = make_transformer(positions=positions)
    with pytest.raises(ValueError, match=r"positions .* got (Rotary|ALiBi)A"):
        replace_attention(model, SparsemaxAttention)
    replace_attention(model, SparsemaxAttention, ending="cross_attention")
    with pytest.raises(ValueError, match=r"layers named …query, got \['enc"):
        replace_attention(model, SparsemaxAttention, ending="query")
    with pytest.raises(ValueError, match=r"layers named …, got \[\]"):
        replace_attention(nn.Linear(2, 2), SparsemaxAttention)


SOURCES = [[3, 4, 5], [6, 7, 8, 9, 10, 11, 12], [5, 5]]
HEADS = {
    "encoder.layers.0.self_attention": [5, 1],
    "decoder.layers.0.self_attention": [0, 1, 2, 3, 4, 5],
    "decoder.layers.1.cross_attention": [2],
}


def run(model: Any) -> Tensor:
    target = torch.tensor([[1, 4, 5], [1, 7, 3], [1, 9, 2]])
    return model(*pad(SOURCES), target)


def test_silent_heads_are_removed_heads() -> None:
    model = make_varied(SOURCES)
    silent, small = without_heads(model, HEADS), prune_heads(model, HEADS)
    assert not torch.allclose(run(model), run(silent))
    assert_close(run(small), run(silent))
    found = generate(small, *pad(SOURCES), max_length=9)
    assert found == generate(silent, *pad(SOURCES), max_length=9)
    assert beam_search(
        small, *pad(SOURCES), max_length=9, beam_size=3
    ) == beam_search(silent, *pad(SOURCES), max_length=9, beam_size=3)
    for name, lost in HEADS.items():
        layer = layers_of(small)[name]
        left = max(6 - len(lost), 1)  # where none is left, one adds nothing
        assert isinstance(layer, PrunedAttention)
        assert layer.q_proj.weight.shape == (4 * left, 24)
        assert layer.kv_proj.weight.shape == (8 * left, 24)
        assert layer.out_proj.weight.shape == (24, 4 * left)
    with pytest.raises(ValueError, match="does not know PrunedAttention"):
        IncrementalDecoder(small)
    IncrementalDecoder(silent)


def test_a_pruned_layer_trains() -> None:
    model = nn.ModuleDict({"a": MultiHeadAttention(24, 3, bias=False)})
    small = prune_heads(model, {"a": (2, 0, 2)})["a"]
    shapes = [tuple(p.shape) for p in small.parameters()]
    assert shapes == [(8, 24), (16, 24), (24, 8)]
    small(torch.randn(2, 5, 24)).sum().backward()
    assert all(p.grad is not None for p in small.parameters())


def test_only_heads_of_a_whole_plain_layer_are_removed() -> None:
    model = nn.ModuleDict({"a": MultiHeadAttention(24, 6, n_kv_heads=2)})
    with pytest.raises(ValueError, match="got 2 heads of keys for 6"):
        prune_heads(model, {"a": [0]})
    eager = nn.ModuleDict({"a": EagerAttention(24, 6)})
    with pytest.raises(ValueError, match="got EagerAttention"):
        prune_heads(eager, {"a": [0]})
    model = nn.ModuleDict({"a": MultiHeadAttention(24, 6)})
    small = prune_heads(model, {"a": [0, 5]})
    with pytest.raises(ValueError, match="got PrunedAttention with 4"):
        replace_attention(small, SparsemaxAttention)


def adapt(model: Any) -> dict[str, Any]:
    """The model, adapted in each way."""
    adapted = {
        kind.__name__: replace_attention(
            model, kind, ending="self_attention", **options
        )
        for kind, options in (KINDS | {GatedAttention: {}}).items()
    }
    return adapted | {"PrunedAttention": prune_heads(model, HEADS)}


def test_what_was_adapted_is_saved_as_its_state(tmp_path: Path) -> None:
    model = make_transformer()
    path = tmp_path / "state.pt"
    message = "which load_model makes, got {} as 'encoder"
    for kind, adapted in adapt(model).items():
        with pytest.raises(ValueError, match=message.format(kind)):
            save_model(tmp_path / "model", adapted)
        assert not (tmp_path / "model").exists()
        randomise(adapted)
        torch.save(adapted.state_dict(), path)
        again = adapt(model)[kind]
        again.load_state_dict(torch.load(path, weights_only=True))
        assert_close(run(again.eval()), run(adapted.eval()))


def test_importance_is_the_derivative_by_the_head() -> None:
    model = make_transformer().double()
    randomise(model)
    targets = torch.tensor([[1, 4, 5], [1, 7, 3], [1, 9, 2]])

    def losses(model: Any) -> Iterator[Tensor]:
        for ids, target in zip(SOURCES, targets, strict=True):
            logits = model(*pad([ids]), target[None])
            yield logits.square().mean()

    found = head_importance(model, losses)
    assert list(found) == list(layers_of(model))
    eps = 1e-4
    for name, h in itertools.product([*found][::2], (0, 4)):
        moved = []
        for sign in (1, -1):
            other = replace_attention(model, MultiHeadAttention)
            layer = layers_of(other)[name]
            with torch.no_grad():
                weight = layer.out_proj.weight.view(24, 6, 4)
                weight[:, h] *= 1 + sign * eps
            moved.append(torch.stack([*losses(other)]))
        wanted = (moved[0] - moved[1]).abs().mean().item() / (2 * eps)
        assert found[name][h].item() == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(ValueError, match="one for each example, got none"):
        head_importance(model, lambda model: [])


@pytest.mark.slow
def test_one_seed_lies_near_the_recorded_spread() -> None:
    soft, sparse = (
        train_recall(kind, seed=0, steps=1600, rate=1e-2)
        for kind in (EagerAttention, SparsemaxAttention)
    )
    assert 0.014 < recall(soft, 1024) < 0.033
    assert 0.003 < recall(sparse, 1024) < 0.026  # 0.004 by other kernels
    larger = replace_attention(soft, scaled(EagerAttention, log_n))
    assert 0.0008 < recall(larger, 1024) < 0.0022
    larger = replace_attention(sparse, scaled(SparsemaxAttention, log_n))
    assert 0.002 < recall(larger, 1024) < 0.019
    accuracy, spans = train_delay(penalty=0.3, seed=0)
    assert accuracy > 0.99
    assert max(spans) > 6  # and the ramp reaches 2 farther
    assert sum(spans) / 4 < 4


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_starts_of_alpha_meet_at_a_larger_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adaptive_alpha, "TIMES", (100,))
    found = adaptive_alpha.run(seed=0)
    key = "rate {}, start {}, 100 steps, alpha".format
    apart, near = (
        [found[key(rate, start)] for start in adaptive_alpha.STARTS]
        for rate in adaptive_alpha.RATES
    )
    assert 1.17 < min(apart) < 1.25 < 1.77 < max(apart) < 1.92
    assert max(near) - min(near) < 0.2


@pytest.mark.usefixtures("unchecked")
@torch.no_grad()
def test_whatever_is_given_works_or_is_named() -> None:
    s, mask = scores(2, 3, 5, 7), scores(2, 3, 5, 7, seed=1) > 0
    alpha = torch.full((3, 1, 1), 1.5, dtype=torch.float64)
    cases: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (sparsemax, {"scores": s, "mask": mask}),
        (entmax15, {"scores": s, "mask": mask}),
        (entmax, {"scores": s, "alpha": alpha, "mask": mask}),
        (entmax, {"scores": s, "alpha": 1.5}),
    ]
    sizes = {"d_model": 24, "n_heads": 3}
    cases += [(kind, sizes | options) for kind, options in KINDS.items()]
    for call, arguments in cases:
        assert_named_or_works(call, arguments)
