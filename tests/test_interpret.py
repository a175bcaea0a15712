"""Looking into models, and changing what they compute."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_book import (
    Translator,
    activation_patching,
    input_x_gradient,
    integrated_gradients,
    list_heads,
    list_sites,
    occlusion,
    prune_heads,
    trace,
    without_heads,
)
from attention_book.attention.graph import GraphAttention
from attention_book.attention.multi_head import (
    MultiHeadAttention,
    attention_weights,
)
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from attention_book.interpret.explanations import explain_sentence
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.interpret.pictures import HeatMap, to_html
from attention_book.models.graph import NodeClassifier
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.seq2seq import AttentiveSeq2Seq
from attention_book.models.speech import SpeechRecognizer
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.models.transformer import Transformer
from experiments.interpret_readings import attention_flow, contribution_norms
from tests.factories import make_images, make_text_config, make_vit


SIZES = {"d_model": 12, "n_heads": 3, "d_ff": 10, "n_layers": 2}
SOURCE = torch.tensor([[3, 4, 5, 6, 7]])
LENGTHS = torch.tensor([5])
TARGET = torch.tensor([[1, 8, 9]])
PAIR = (SOURCE, LENGTHS, TARGET)


def translator(**changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer.base(11, **SIZES | changes).eval()


def make_all() -> dict[str, tuple[nn.Module, tuple[Any, ...]]]:
    """Every model of the package, with inputs."""
    torch.manual_seed(0)
    config = make_text_config()
    vocabularies = {"source_vocab_size": 11, "target_vocab_size": 13}
    masked = MaskedTransformerConfig(**vocabularies, **SIZES)
    nodes = (torch.rand(1, 7, 5),)
    sound = (torch.rand(1, 40, 12), torch.tensor([12]))
    return {
        "Transformer": (translator(), PAIR),
        "rotary": (translator(positions="rotary", d_model=24), PAIR),
        "ALiBi": (translator(positions="alibi"), PAIR),
        "grouped": (translator(n_heads=6, n_kv_heads=2), PAIR),
        "AttentiveSeq2Seq": (
            AttentiveSeq2Seq(**vocabularies, d_model=8),
            PAIR,
        ),
        "TokenClassifier": (TokenClassifier(config, 3), (SOURCE,)),
        "SequenceClassifier": (SequenceClassifier(config, 3), (SOURCE,)),
        "CausalLanguageModel": (CausalLanguageModel(config), (SOURCE,)),
        "MaskedLanguageModel": (MaskedLanguageModel(config), (SOURCE,)),
        "ViT": (make_vit(), (make_images(),)),
        "NodeClassifier": (NodeClassifier(5, 3), nodes),
        "GraphAttention": (nn.Sequential(GraphAttention(5, 6, 3)), nodes),
        "SpeechRecognizer": (SpeechRecognizer(3), sound),
        "MaskedTransformer": (MaskedTransformer(masked), PAIR),
    }


MODELS = make_all()


@pytest.mark.parametrize("name", MODELS)
def test_a_trace_computes_what_the_model_computes(name: str) -> None:
    model, inputs = MODELS[name]
    model.eval()
    before = copy.deepcopy(model.state_dict())
    kinds = [type(module) for module in model.modules()]
    output, seen = trace(model, inputs, ["*.weights"])
    assert_close(output, model(*inputs))
    assert seen
    for weights in seen.values():
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert kinds == [type(module) for module in model.modules()]
    assert_close(model.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize(
    "kind", [MultiHeadAttention, RotaryAttention, ALiBiAttention]
)
def test_weights_are_those_of_attention_weights(
    kind: type[MultiHeadAttention],
) -> None:
    torch.manual_seed(0)
    layer = kind(24, 6, n_kv_heads=2)
    x = torch.randn(2, 5, 24)
    model = nn.Sequential(layer)
    _, seen = trace(model, (x,), ["0.*"])
    assert_close(seen["0.weights"], attention_weights(layer, x))
    joined = seen["0.heads"].transpose(1, 2).flatten(2)
    assert_close(layer.out_proj(joined), layer(x))


def test_an_edit_is_felt_by_what_comes_after_and_nothing_else() -> None:
    model = translator()
    site = "encoder.layers.0.self_attention.weights"
    _, plain = trace(model, PAIR, ["*"])
    edits = {site: lambda w: torch.full_like(w, 1 / w.shape[-1])}
    _, seen = trace(model, PAIR, ["*"], edits)
    assert trace(model, PAIR, edits=edits).activations == {}
    order = list(plain)
    for name in order[: order.index(site)]:
        assert_close(seen[name], plain[name])
    assert seen[site].unique().tolist() == [pytest.approx(0.2)]
    assert not torch.allclose(seen["decoder.norm"], plain["decoder.norm"])


@pytest.mark.usefixtures("unchecked")
def test_all_sites_are_seen_and_no_others_taken() -> None:
    model = translator()
    sites = list_sites(model)
    assert {*trace(model, PAIR, sites).activations} == {*sites}
    assert "encoder.layers" not in sites  # it is a container
    with pytest.raises(ValueError, match=r"as list_sites lists them, got 'x'"):
        trace(model, PAIR, ["x"])
    with pytest.raises(ValueError, match=r"got 'encoder.layer'"):
        trace(model, PAIR, edits={"encoder.layer": torch.zeros_like})
    message = r"of shape \(1, 3, 12\), got \(3, 12\)"
    with pytest.raises(ValueError, match=message):
        trace(model, PAIR, edits={"decoder.norm": lambda x: x[0]})
    model.spare = nn.Linear(2, 3)
    with pytest.raises(ValueError, match="does not pass spare"):
        trace(model, PAIR, ["spare"])


class Bag(nn.Module):
    """A model that is linear in its embeddings."""

    def __init__(self, n_tokens: int = 5, width: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.w = torch.randn(n_tokens, width)
        self.embed = nn.Embedding(11, width)

    def terms(self, ids: Tensor) -> Tensor:
        """What each token adds to the output."""
        return (self.embed(ids) * self.w).sum(dim=-1)

    def forward(self, ids: Tensor) -> Tensor:
        return self.terms(ids).sum(dim=-1)


@pytest.mark.parametrize(
    "method", [occlusion, input_x_gradient, integrated_gradients]
)
def test_of_a_linear_score_each_method_finds_the_terms(
    method: Callable[..., Tensor],
) -> None:
    model = Bag()
    found = method(model, (SOURCE,), "embed", lambda y: torch.cat([y, -2 * y]))
    terms = model.terms(SOURCE)[0]
    assert_close(found, torch.stack([terms, -2 * terms]))


def fourth(logits: Tensor) -> Tensor:
    """The score of one token at each place."""
    return logits[0].log_softmax(-1)[:, 4]


def test_integrated_gradients_add_up() -> None:
    model: nn.Module = translator(norm="post")
    site = "source_embedding.tokens"
    found = integrated_gradients(model, PAIR, site, fourth, n_points=60)
    nothing = trace(model, PAIR, edits={site: torch.zeros_like}).output
    whole = fourth(model(*PAIR)) - fourth(nothing)
    assert_close(found.sum(1), whole, atol=5e-3, rtol=5e-3)
    model = Bag()  # the midpoints of a square's gradient are exact
    found = integrated_gradients(model, (SOURCE,), "embed", torch.square, 3)
    assert_close(found.sum(1), model(SOURCE).square())


def test_occlusion_by_hand() -> None:
    model = translator()
    found = occlusion(model, PAIR, "source_embedding.tokens", fourth)
    assert found.shape == (3, 5)
    before = fourth(model(*PAIR))
    model.source_embedding = copy.deepcopy(model.source_embedding)
    with torch.no_grad():
        model.source_embedding.tokens.weight[5] = 0  # the third word's
    assert_close(found[:, 2], before - fourth(model(*PAIR)))


def test_contributions_are_those_that_make_the_output() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(24, 6, n_kv_heads=2)
    x, memory = torch.randn(2, 3, 24), torch.randn(2, 5, 24)
    weights = attention_weights(layer, x, memory)
    found = contribution_norms(layer, weights, memory)
    assert found.shape == (2, 3, 5)
    for key in range(5):  # with this key alone the output is its contribution
        only = torch.zeros_like(weights)
        only[..., key] = weights[..., key]
        value = layer.keys_and_values(memory).value.repeat_interleave(3, 1)
        heads = (only @ value).transpose(1, 2).flatten(2)
        added = heads @ layer.out_proj.weight.T
        assert_close(found[..., key], added.norm(dim=-1))


def test_rollout_of_an_encoder_by_loops() -> None:
    model = make_vit()
    images = make_images()
    flow = attention_rollout(mixing_matrices(model, [images]))
    assert_close(flow.sum(-1), torch.ones(2, 10))
    x = model.tokens(images)
    expected = torch.eye(10).expand(2, 10, 10)
    for layer in model.encoder.layers:
        y = layer.residuals[0].norm(x)
        weights = attention_weights(layer.self_attention, y).mean(1)
        with_own = weights + torch.eye(10)
        expected = with_own / with_own.sum(-1, keepdim=True) @ expected
        x = layer(x)
    assert_close(flow, expected)


def test_mixing_of_two_sides() -> None:
    mixing = mixing_matrices(translator(), PAIR)
    assert mixing.shape == (6, 1, 8, 8)
    seen = trace(translator(), PAIR, ["*.weights"]).activations
    for found, (site, weights) in zip(mixing, seen.items(), strict=True):
        half = weights.mean(1) / 2
        expected = torch.eye(8)[None].clone()
        if site.startswith("encoder."):
            expected[:, :5, :5] = half + torch.eye(5) / 2
        else:
            expected[:, 5:, 5:] /= 2
            keys = slice(5) if "cross" in site else slice(5, 8)
            expected[:, 5:, keys] += half
        assert_close(found, expected)


def test_flow_by_hand_and_never_below_rollout() -> None:
    first = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    second = torch.tensor([[0.5, 0.5], [0.1, 0.9]])
    mixing = torch.zeros(2, 4, 4)  # two tokens of a source, two of a target
    mixing[0, 2:, :2] = first
    mixing[0, :2, :2] = torch.eye(2)
    mixing[1, 2:, 2:] = second
    flow = attention_flow(mixing, 2)
    # From output 0 to token 0 by way of output 0, min(.5, .7), and of 1,
    # min(.5, .4); and so on.
    wanted = torch.tensor([[0.9, 0.8], [0.5, 0.7]])
    assert_close(flow, wanted)
    mixing = mixing_matrices(translator(), PAIR)
    flow = attention_flow(mixing[:, 0], 5)
    assert (flow >= attention_rollout(mixing)[0, 5:, :5] - 1e-6).all()


def test_without_heads_is_zeros_at_the_site() -> None:
    model = translator()
    layer = "decoder.layers.1.cross_attention"

    def silence(heads: Tensor) -> Tensor:
        return heads.index_fill(1, torch.tensor([0, 2]), 0)

    silent = without_heads(model, {layer: [0, 2]})
    edited = trace(model, PAIR, edits={f"{layer}.heads": silence}).output
    assert_close(silent(*PAIR), edited)
    none = without_heads(model, {layer: [0, 1, 2]})
    edited = trace(model, PAIR, edits={layer: torch.zeros_like}).output
    assert_close(none(*PAIR), edited)
    assert list_heads(model)[layer] == [0, 1, 2]
    for wrong in {layer: [3]}, {layer: [-1]}, {"decoder": [0]}:
        for remove in without_heads, prune_heads:
            with pytest.raises(ValueError, match="as list_heads lists them"):
                remove(model, wrong)


def test_patching_of_all_restores_the_score() -> None:
    model = translator()
    other = (torch.tensor([[3, 4, 10, 6, 7]]), *PAIR[1:])

    def score(logits: Tensor) -> Tensor:
        return logits[0, 1, 4] - logits[0, 1, 2]

    rises = activation_patching(model, PAIR, other, "source_embedding", score)
    whole = score(model(*PAIR)) - score(model(*other))
    assert_close(rises[2], whole)
    assert rises[[0, 1, 3, 4]].abs().max() < 1e-5
    heads = "decoder.layers.1.cross_attention.heads"
    rises = activation_patching(model, PAIR, other, heads, score, dim=1)
    assert rises.shape == (3,)


MAP = HeatMap(
    "weights & more",
    ["汤姆", "<eos>"],
    ["Tom", "a<b"],
    torch.tensor([[0.9, -0.2], [0.0, -0.001]]),
)


def test_an_explanation_names_the_token_of_direction() -> None:
    book = Translator.load()
    for text, name in ("I slept.", "<2zh>"), ("我睡了。", "<2en>"):
        for heat_map in explain_sentence(book, text).heat_maps:
            assert heat_map.column_names[0] == name
            assert all(heat_map.column_names)


def test_a_page_has_every_number_in_a_coloured_table() -> None:
    page = to_html([MAP], "a & b")
    row = (
        '<th scope="row">汤姆</th><td class="above" style="--share: 50%">0.90'
        '</td><td class="below" style="--share: 11%">-0.20</td>'
    )
    assert row in page
    assert '<th scope="row">&lt;eos&gt;</th><td>0.00</td><td>0.00</td>' in page
    assert '<th scope="col">a&lt;b</th>' in page
    assert "<title>a &amp; b</title>" in page
    assert page.count('tabindex="0"') == 1


@pytest.mark.usefixtures("unchecked")
def test_a_heat_map_has_a_number_for_each_cell() -> None:
    with pytest.raises(ValueError, match=r"values must be \(1, 2\)"):
        HeatMap("", ["a"], ["b", "c"], torch.zeros(2, 1))
    assert MAP.largest(0, 1) == [("Tom", pytest.approx(0.9))]
    assert len(MAP.largest(1)) == 2
