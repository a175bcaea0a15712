"""attention_book.vit against timm, Hugging Face, einops, and itself."""

import copy
import dataclasses
import io
import json
import struct
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw
from safetensors.torch import save_file
from torch import Tensor, nn

from attention_book import vit
from attention_book.checkpoints import read_tensors, write_tensors
from attention_book.images import DIGITS, Classifier, load_vit, read_digit
from attention_book.runtime import get_compute_config
from attention_book.vit import (
    ViT,
    ViTConfig,
    attention_maps,
    digits,
    fit,
    patchify,
    random_affine,
    resize,
    rollout,
)
from benchmarks.digits_model import FILES, evaluate
from tests.torch_state import randomise


BATCH = 2
SIZE = 15
PATCH = 5
CHANNELS = 3
CLASSES = 7
SMALL: dict[str, Any] = {
    "image_size": SIZE,
    "patch_size": PATCH,
    "n_channels": CHANNELS,
    "n_classes": CLASSES,
    "d_model": 24,
    "n_heads": 4,
    "d_ff": 40,
    "n_layers": 2,
}
TOKENS = 3 * 3 + 1


def a_model(**changes: Any) -> ViT:
    torch.manual_seed(1)
    model = ViT(ViTConfig(**SMALL | changes)).eval()
    randomise(model)
    return model


def images(size: int = SIZE, channels: int = CHANNELS) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, channels, size, size, generator=generator)


# Against others


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Their package, without torchvision: its ViT does not need it."""
    reason = "transformers is not installed: no comparison with its ViT"
    monkeypatch.setitem(sys.modules, "torchvision", None)
    transformers = pytest.importorskip("transformers", reason=reason)
    transformers.logging.disable_progress_bar()
    return transformers


@pytest.fixture
def timm() -> Any:
    reason = "timm, or a torchvision that fits torch, is not installed"
    try:
        import timm
    except (ImportError, RuntimeError):
        pytest.skip(reason)
    return timm


def their_vit(hugging_face: Any, **changes: Any) -> nn.Module:
    config = {
        "image_size": SIZE,
        "patch_size": PATCH,
        "num_channels": CHANNELS,
        "num_labels": CLASSES,
        "hidden_size": 24,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
    }
    torch.manual_seed(2)
    made = hugging_face.ViTConfig(**config | changes)
    model = hugging_face.ViTForImageClassification(made).eval()
    randomise(model)
    return model


def timm_vit(timm: Any, **changes: Any) -> nn.Module:
    config = {
        "img_size": SIZE,
        "patch_size": PATCH,
        "in_chans": CHANNELS,
        "num_classes": CLASSES,
        "embed_dim": 24,
        "num_heads": 4,
        "mlp_ratio": 40 / 24,
        "depth": 2,
    }
    torch.manual_seed(2)
    made = timm.models.vision_transformer.VisionTransformer
    model = made(**config | changes).eval()
    randomise(model)
    return model


def equal_with_gradients(
    ours: ViT, theirs: nn.Module, call: Callable[[Tensor], Tensor]
) -> None:
    """The same logits, and the same gradients back at image and weights."""
    ours.requires_grad_()
    found = []
    for run in (ours, call):
        x = images().requires_grad_()
        logits = run(x)
        slope = torch.arange(logits.numel()).reshape(logits.shape).cos()
        (logits * slope).sum().backward()
        found.append((logits, x.grad))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
    total = sum(p.grad.square().sum() for p in ours.parameters())
    other = sum(p.grad.square().sum() for p in theirs.parameters())
    torch.testing.assert_close(total, other, atol=1e-5, rtol=1e-4)


def test_it_equals_hugging_face(hugging_face: Any, tmp_path: Path) -> None:
    theirs = their_vit(hugging_face)
    theirs.save_pretrained(tmp_path)
    ours = load_vit(tmp_path / "model.safetensors", n_heads=4)
    assert ours.config.epsilon == 1e-12
    equal_with_gradients(ours, theirs, lambda x: theirs(x).logits)


def test_hugging_face_without_its_head(
    hugging_face: Any, tmp_path: Path
) -> None:
    theirs = their_vit(hugging_face).vit
    theirs.save_pretrained(tmp_path)
    ours = load_vit(tmp_path / "model.safetensors", n_heads=4)
    assert ours.config.n_classes == 0
    expected = theirs(images()).last_hidden_state[:, 0]
    torch.testing.assert_close(ours(images()), expected, atol=1e-5, rtol=1e-5)


def test_larger_images_as_hugging_face_does(
    hugging_face: Any, tmp_path: Path
) -> None:
    theirs = their_vit(hugging_face)
    theirs.save_pretrained(tmp_path)
    ours = load_vit(tmp_path / "model.safetensors", n_heads=4)
    x = images(size=35)
    expected = theirs(x, interpolate_pos_encoding=True).logits
    got = resize(ours, 35)(x)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_it_equals_timm(timm: Any, tmp_path: Path, pooling: str) -> None:
    mean = {"class_token": False, "global_pool": "avg", "fc_norm": False}
    theirs = timm_vit(timm, **mean if pooling == "mean" else {})
    path = tmp_path / "timm.safetensors"
    save_file(theirs.state_dict(), path)
    ours = load_vit(path, n_heads=4)
    assert (ours.config.pooling, ours.config.epsilon) == (pooling, 1e-6)
    equal_with_gradients(ours, theirs, theirs)


def test_smaller_images_as_timm_does(timm: Any, tmp_path: Path) -> None:
    theirs = timm_vit(timm)
    path = tmp_path / "timm.safetensors"
    save_file(theirs.state_dict(), path)
    ours = resize(load_vit(path, n_heads=4), 10)
    theirs.set_input_size((10, 10))
    x = images(size=10)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)


def test_the_papers_sizes() -> None:
    counts = {
        ViT.tiny: 5_717_416,
        ViT.small: 22_050_664,
        ViT.base: 86_567_656,
        ViT.large: 304_326_632,
    }
    with torch.device("meta"):
        for make, wanted in counts.items():
            model = make()
            count = sum(p.numel() for p in model.parameters())
            assert count == wanted
            c = model.config
            assert c.d_model == 64 * c.n_heads
            assert c.d_ff == 4 * c.d_model
        changed = ViT.tiny(n_classes=0, pooling="mean", image_size=32)
    assert changed.config.d_model == 192
    assert changed.positions.table.shape == (4, 192)


# Patches


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_patches_are_squares_row_by_row(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 6, 12, generator=generator)
    patches = patchify(x, size)
    assert patches.shape == (2, 72 // size**2, 3 * size**2)
    columns = 12 // size
    for n in range(patches.shape[1]):
        top = size * (n // columns)
        left = size * (n % columns)
        square = x[:, :, top : top + size, left : left + size]
        expected = square.permute(0, 2, 3, 1).flatten(1)
        assert torch.equal(patches[:, n], expected)


def test_patches_and_a_matrix_are_a_convolution() -> None:
    convolution = nn.Conv2d(3, 11, 5, stride=5)
    expected = convolution(images()).flatten(2).mT
    weight = convolution.weight.permute(0, 2, 3, 1).flatten(1)
    got = F.linear(patchify(images(), 5), weight, convolution.bias)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("size", [0, 4, 7])
def test_a_patch_that_does_not_divide(size: int) -> None:
    wanted = f"size must divide height and width, got {size} for 15 by 15"
    with pytest.raises(ValueError, match=wanted):
        patchify(images(), size)


# The configuration


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_size": 16}, "patch_size must divide image_size = 16, got 5"),
        ({"patch_size": 0}, "patch_size must be a whole number >= 1, got 0"),
        ({"n_classes": -1}, "n_classes must be a whole number >= 0, got -1"),
        ({"n_layers": 2.0}, "n_layers must be a whole number >= 1, got 2.0"),
        ({"d_ff": True}, "d_ff must be a whole number >= 1, got True"),
        ({"n_heads": 5}, "n_heads must divide d_model = 24, got 5"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"epsilon": "0"}, r"epsilon must be in \[0, 1\), got '0'"),
        (
            {"pooling": "max"},
            r"pooling must be one of \('class', 'mean'\), got 'max'",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_numbers_that_do_not_fit(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ViTConfig(**SMALL | changes)


def test_a_configuration_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ViTConfig().d_ff = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong",
    [
        torch.zeros(2, 1, 15, 15),
        torch.zeros(2, 3, 15, 20),
        torch.zeros(3, 15, 15),
        torch.zeros(2, 3, 15, 15, dtype=torch.uint8),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_images_that_do_not_fit(wrong: Tensor) -> None:
    with pytest.raises(ValueError, match="images must be a floating") as error:
        a_model()(wrong)
    assert f"got {wrong.dtype} of shape {tuple(wrong.shape)}" in str(error)
    assert "(batch, 3, 15, 15)" in str(error)


# The model


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_order_matters_only_by_position(pooling: str) -> None:
    model = a_model(pooling=pooling)
    x = images()
    turned = x.flip(3)
    assert not torch.allclose(model(x), model(turned))
    blind = copy.deepcopy(model)
    nn.init.zeros_(blind.positions.table)
    x = x[..., :5].repeat(1, 1, 1, 3)  # the same in each column of patches
    x[..., 5:10] = 0
    moved = torch.cat([x[..., 5:10], x[..., :5], x[..., 10:]], dim=3)
    torch.testing.assert_close(blind(x), blind(moved), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_what_is_pooled(pooling: str) -> None:
    model = a_model(pooling=pooling, n_classes=0)
    x = model.encoder(model.tokens(images()))
    assert x.shape == (BATCH, TOKENS - (pooling == "mean"), 24)
    expected = x[:, 0] if pooling == "class" else x.sum(1) / 9
    torch.testing.assert_close(model(images()), expected)


def test_nothing_given_is_changed() -> None:
    model = a_model()
    x = images()
    before = x.clone()
    state = copy.deepcopy(model.state_dict())
    model(x)
    attention_maps(model, x)
    resize(model, 20)
    assert torch.equal(x, before)
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name])


def test_every_normalisation_has_the_epsilon() -> None:
    parts = a_model(epsilon=3e-4).modules()
    found = [part.eps for part in parts if isinstance(part, nn.LayerNorm)]
    assert found == [3e-4] * (2 * 2 + 1)


def test_dropout_is_for_training() -> None:
    model = a_model(dropout=0.5)
    assert torch.equal(model(images()), model(images()))
    assert not torch.equal(
        model.tokens(images()), model.train().tokens(images())
    )
    assert not torch.equal(model(images()), model(images()))
    rates = {
        part.p for part in model.modules() if isinstance(part, nn.Dropout)
    }
    assert rates == {0.5}
    assert {
        layer.self_attention.dropout for layer in model.encoder.layers
    } == {0.0}


@pytest.mark.usefixtures("unchecked")  # as readers run it
@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_it_compiles_in_one_piece(pooling: str) -> None:
    torch.compiler.reset()
    model = a_model(pooling=pooling)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for x in (images(), images()[:1]):
        torch.testing.assert_close(compiled(x), model(x))
    compiled(images()).sum().backward()
    assert model.embed.weight.grad is not None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions(dtype: torch.dtype) -> None:
    model = a_model()
    got = copy.deepcopy(model).to(dtype)(images().to(dtype))
    assert got.dtype == dtype
    torch.testing.assert_close(
        got.float(), model(images()), atol=0.1, rtol=0.1
    )
    assert (
        resize(copy.deepcopy(model).to(dtype), 20).positions.table.dtype
        == dtype
    )


# Looking inside


def test_weights_are_those_that_were_used() -> None:
    model = a_model()
    weights = attention_maps(model, images())
    assert weights.shape == (2, BATCH, 4, TOKENS, TOKENS)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    x = model.tokens(images())
    for layer, found in zip(model.encoder.layers, weights, strict=True):
        attention = layer.self_attention
        y = layer.residuals[0].norm(x)
        _, value = attention.keys_and_values(y)
        heads = (found @ value).transpose(1, 2).flatten(2)
        x = x + attention.out_proj(heads)
        x = x + layer.feed_forward(layer.residuals[1].norm(x))
    logits = model.head(model.encoder.norm(x)[:, 0])
    torch.testing.assert_close(logits, model(images()), atol=1e-5, rtol=1e-5)
    assert not any(part._forward_hooks for part in model.modules())
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_rollout_by_loops() -> None:
    weights = attention_maps(a_model(), images())
    flow = rollout(weights)
    torch.testing.assert_close(flow.sum(-1), torch.ones(BATCH, TOKENS))
    for b in range(BATCH):
        mixed = []
        for layer in weights[:, b].mean(1):
            with_own = layer + torch.eye(TOKENS)
            mixed.append(with_own / with_own.sum(-1, keepdim=True))
        torch.testing.assert_close(flow[b], mixed[1] @ mixed[0])


def test_rollout_of_one_that_looks_at_itself() -> None:
    alone = torch.eye(5).expand(3, 2, 4, 5, 5)
    torch.testing.assert_close(rollout(alone), torch.eye(5).expand(2, 5, 5))


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_another_size(pooling: str) -> None:
    model = a_model(pooling=pooling)
    same = resize(model, SIZE)
    torch.testing.assert_close(same(images()), model(images()))
    larger = resize(model, 30)
    assert (larger.config.image_size, model.config.image_size) == (30, SIZE)
    assert larger(images(size=30)).shape == (BATCH, CLASSES)
    larger.positions.table.sum().backward()  # still a parameter
    extra = int(pooling == "class")
    old = model.positions.table
    new = larger.positions.table
    assert new.shape == (36 + extra, 24)
    assert torch.equal(new[:extra], old[:extra])
    # Lines of equal position stay lines, and the mean stays about the same.
    line = copy.deepcopy(model)
    ramp = torch.arange(9.0).view(3, 3)[:, :1].expand(3, 3).reshape(9, 1)
    line.positions.table.data[extra:] = ramp.expand(9, 24)
    grid = resize(line, 30).positions.table[extra:].view(6, 6, 24)
    torch.testing.assert_close(grid, grid[:, :1, :1].expand_as(grid))
    assert (grid[1:, 0, 0] > grid[:-1, 0, 0]).all()
    with pytest.raises(ValueError, match="patch_size must divide"):
        resize(model, 16)


# Checkpoints


def timm_state(model: ViT) -> dict[str, Tensor]:
    """A model of ours, under timm's names and in its shapes."""
    state = model.state_dict()
    weight = state["embed.weight"].view(24, PATCH, PATCH, CHANNELS)
    found = {
        "cls_token": state["class_token"].view(1, 1, -1),
        "pos_embed": state["positions.table"][None],
        "patch_embed.proj.weight": weight.permute(0, 3, 1, 2),
        "patch_embed.proj.bias": state["embed.bias"],
    }
    pairs = {
        "norm1": "around.0.norm",
        "norm2": "around.1.norm",
        "attn.proj": "attention.out_proj",
        "mlp.fc1": "feed_forward.up_proj",
        "mlp.fc2": "feed_forward.down_proj",
    }
    for kind in ("weight", "bias"):
        for there, here in ("norm", "encoder.norm"), ("head", "head"):
            found[f"{there}.{kind}"] = state[f"{here}.{kind}"]
        for i in range(2):
            layer = f"encoder.layers.{i}"
            for there, here in pairs.items():
                name = f"{layer}.{here}.{kind}"
                found[f"blocks.{i}.{there}.{kind}"] = state[name]
            parts = ("q_proj", "kv_proj")
            three = [state[f"{layer}.attention.{x}.{kind}"] for x in parts]
            found[f"blocks.{i}.attn.qkv.{kind}"] = torch.cat(three)
    return {name: x.contiguous() for name, x in found.items()}


def test_it_reads_what_timm_would_write(tmp_path: Path) -> None:
    model = a_model()
    path = tmp_path / "timm.safetensors"
    state = timm_state(model)
    save_file(state, path)
    before = torch.get_rng_state()
    found = load_vit(path, n_heads=4)
    assert torch.equal(torch.get_rng_state(), before)
    assert found.config == model.config
    assert torch.equal(found(images()), model(images()))
    assert not found.training
    found.embed.weight.sum().backward()
    save_file({name: x.half() for name, x in state.items()}, path)
    assert load_vit(path, n_heads=4).embed.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"blocks.1.attn.qkv.bias": None},
            "wanted blocks.1.attn.qkv.bias, got none",
        ),
        ({"pos_embed": None}, "wanted pos_embed, got none"),
        ({"norm.weight": None}, "wanted norm.weight, got none"),
        (
            {"blocks.0.mlp.fc2.weight": torch.zeros(24, 41)},
            r"wanted blocks.0.mlp.fc2.weight to fill \(24, 40\), got \(24, 41\)",
        ),
        (
            {"pos_embed": torch.zeros(1, 12, 24)},
            r"wanted pos_embed to fill \(10, 24\), got \(12, 24\)",
        ),
        (
            {"pos_embed": torch.zeros(10, 24)},
            r"wanted pos_embed with 3 axes, got \(10, 24\)",
        ),
        (
            {"blocks.0.ls1.gamma": torch.zeros(24)},
            "wanted a plain ViT, got blocks.0.ls1.gamma",
        ),
        ({"patch_embed.proj.weight": None}, "wanted a ViT of timm or Hugging"),
        (
            {"blocks.7.norm1.bias": torch.zeros(24)},
            "wanted blocks.2.attn.qkv.weight, got none",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit(
    tmp_path: Path, changes: dict[str, Tensor | None], message: str
) -> None:
    state: dict[str, Any] = timm_state(a_model()) | changes
    path = tmp_path / "timm.safetensors"
    save_file({k: v for k, v in state.items() if v is not None}, path)
    with pytest.raises(ValueError, match=message) as error:
        load_vit(path, n_heads=4)
    assert str(error.value).startswith(f"{path}: ")


def test_no_checkpoint_at_all(tmp_path: Path) -> None:
    path = tmp_path / "text.safetensors"
    path.write_text("hello")
    with pytest.raises(ValueError, match="wanted a safetensors file, got: "):
        load_vit(path)
    with pytest.raises(ValueError, match="wanted a file, got a folder"):
        load_vit(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_vit(tmp_path / "nothing")
    save_file(timm_state(a_model()), path)
    with pytest.raises(
        ValueError, match="n_heads must be a whole number >= 1, got 0"
    ):
        load_vit(path)


# Digits


def test_a_fifth_of_each_digit_is_held_out() -> None:
    train, test = digits()
    assert train.images.shape == (1442, 1, 8, 8)
    assert test.images.shape == (355, 1, 8, 8)
    assert train.images.min() == 0
    assert train.images.max() == 1
    counts = train.labels.bincount(), test.labels.bincount()
    for seen, held_out in zip(*counts, strict=True):
        assert held_out == (seen + held_out) // 5
    everything = torch.cat([train.images, test.images]).flatten(1)
    assert len(everything.unique(dim=0)) == 1797  # none is in both


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="first: pip install scikit-learn"):
        digits()


def test_wobbling_moves_ink_and_keeps_what_it_was_given() -> None:
    train, _ = digits()
    x = train.images[:50]
    chance = torch.Generator().manual_seed(0)
    before = x.clone()
    torch.testing.assert_close(
        random_affine(x, 0.0, chance), x, atol=1e-5, rtol=0
    )
    moved = random_affine(x, 0.1, chance)
    assert torch.equal(x, before)
    assert (moved - x).abs().mean() > 0.02
    assert ((moved - x).abs().amax(dim=(1, 2, 3)) > 0.05).all()
    assert not torch.equal(moved, random_affine(x, 0.1, chance))
    again = random_affine(x, 0.1, torch.Generator().manual_seed(3))
    expected = random_affine(x, 0.1, torch.Generator().manual_seed(3))
    assert torch.equal(again, expected)


def test_training_depends_on_its_seed_alone() -> None:
    train, _ = digits()
    some = vit.Digits(train.images[:130], train.labels[:130])
    runs = []
    for seed in (0, 0, 1):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        losses = fit(model, some, n_epochs=9, learning_rate=0.01, seed=seed)
        assert len(losses) == 9 * 3
        assert not model.training
        runs.append(losses)
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][-1] < 0.9 * runs[0][0]


def test_one_batch_can_be_learnt_by_heart() -> None:
    train, _ = digits()
    some = vit.Digits(train.images[:40], train.labels[:40])
    sizes = {"image_size": 8, "patch_size": 2, "n_channels": 1}
    torch.manual_seed(0)
    model = ViT(ViTConfig(**SMALL | sizes | {"n_classes": 10}))
    fit(model, some, n_epochs=120, learning_rate=4e-3, amount=0.0)
    assert (model(some.images).argmax(1) == some.labels).all()


# The classifier


RESULTS = Path("benchmarks/results/digits-model.json")


def test_the_committed_weights_score_what_is_written_down() -> None:
    written = json.loads(RESULTS.read_text())["correct"]
    found = evaluate()
    assert set(found) == {"held out", *FILES} == set(written)
    for name, percent in found.items():
        assert percent >= 97
        assert abs(percent - written[name]) <= 0.6  # two of 355 digits


def test_the_file_is_small() -> None:
    assert DIGITS.stat().st_size < 500_000


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier.load()


def a_seven(
    size: int = 60, mode: str = "L", ink: Any = 0, paper: Any = 255
) -> Any:
    image = Image.new(mode, (size, size), paper)
    corners = [(0.3, 0.2), (0.7, 0.2), (0.45, 0.8)]
    points = [(size * x, size * y) for x, y in corners]
    ImageDraw.Draw(image).line(points, fill=ink, width=max(1, size // 12))
    return image


def test_answers_are_probabilities_best_first(classifier: Classifier) -> None:
    answer = classifier.classify(a_seven())
    labels, shares = zip(*answer, strict=True)
    assert labels[0] == "7"
    assert sorted(labels) == list("0123456789")
    assert list(shares) == sorted(shares, reverse=True)
    assert abs(sum(shares) - 1) < 1e-5


def test_where_and_how_exactly(classifier: Classifier) -> None:
    coarse = Classifier.load(compute=get_compute_config("cpu", "bf16"))
    assert coarse.model.embed.weight.dtype == torch.bfloat16
    expected = dict(classifier.classify(a_seven()))
    for label, share in coarse.classify(a_seven()):
        assert abs(share - expected[label]) < 0.05


def test_the_model_is_copied() -> None:
    config = {"image_size": 8, "patch_size": 4, "n_channels": 1}
    model = ViT(ViTConfig(**SMALL | config, dropout=0.5)).train()
    own = Classifier(model, list("abcdefg"))
    before = own.classify(a_seven())
    nn.init.zeros_(model.head.weight)
    assert own.classify(a_seven()) == before
    assert model.training


MODES: dict[str, dict[str, Any]] = {
    "grey": {"mode": "L"},
    "light on dark": {"mode": "L", "ink": 230, "paper": 20},
    "pale": {"mode": "L", "ink": 180, "paper": 220},
    "colour": {"mode": "RGB", "ink": (20, 20, 160), "paper": (250, 240, 200)},
    "transparent": {
        "mode": "RGBA",
        "ink": (9, 9, 9, 255),
        "paper": (0, 0, 0, 0),
    },
    "light on nothing": {
        "mode": "RGBA",
        "ink": (255, 255, 255, 255),
        "paper": (255, 255, 255, 0),
    },
    "grey with alpha": {"mode": "LA", "ink": (0, 255), "paper": (0, 0)},
    "one bit": {"mode": "1", "ink": 0, "paper": 1},
    "print": {"mode": "CMYK", "ink": (0, 0, 0, 255), "paper": (0, 0, 0, 0)},
    "16 bits": {"mode": "I;16", "ink": 700, "paper": 60_000},
    "32 bits": {"mode": "I", "ink": 60_000, "paper": 1_000},
    "fractions": {"mode": "F", "ink": 0.9, "paper": 0.1},
    "many colours": {"mode": "HSV", "ink": (0, 0, 0), "paper": (0, 0, 255)},
}


@pytest.mark.parametrize("kind", MODES)
def test_any_mode(kind: str) -> None:
    expected = read_digit(a_seven())
    torch.testing.assert_close(
        read_digit(a_seven(**MODES[kind])), expected, atol=0.02, rtol=0
    )


def test_a_palette_and_turned_pixels(tmp_path: Path) -> None:
    expected = read_digit(a_seven())
    path = tmp_path / "seven.png"
    a_seven().convert("P", palette=Image.Palette.ADAPTIVE).save(path)
    with Image.open(path) as image:
        assert image.mode == "P"
    torch.testing.assert_close(read_digit(path), expected, atol=0.02, rtol=0)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter when shown
    turned = a_seven().transpose(Image.Transpose.ROTATE_90)
    turned.save(tmp_path / "seven.jpg", exif=exif, quality=95)
    got = read_digit(str(tmp_path / "seven.jpg"))
    torch.testing.assert_close(got, expected, atol=0.05, rtol=0)


@pytest.mark.parametrize("size", [24, 61, 300, 1700])
def test_any_size_and_any_place(size: int) -> None:
    expected = read_digit(a_seven(120))
    image = Image.new("L", (size + 37, 2 * size), 255)
    image.paste(a_seven(size), (30, size // 3))
    got = read_digit(image)
    assert (got - expected).abs().mean() < 0.06
    assert got.shape == (1, 8, 8)
    assert got.mean() > 0.15
    assert got.max() <= 1


@pytest.mark.parametrize("width", [1, 5, 40])
@pytest.mark.parametrize("lean", [0, 90])
def test_thin_lines_are_thickened(lean: int, width: int) -> None:
    image = Image.new("L", (400, 400), "white")
    ends = [(150 + lean, 50), (150, 350)]
    ImageDraw.Draw(image).line(ends, fill=0, width=width)
    got = read_digit(image)
    assert got.mean() >= 0.16
    assert got.max() > 0.7
    if not lean:
        assert got[0, :, 3:5].mean() > 0.6


def test_what_is_given_stays_as_it_is() -> None:
    image = a_seven(900)
    before = image.tobytes()
    read_digit(image)
    assert (image.size, image.tobytes()) == ((900, 900), before)


def truncated(kind: str) -> bytes:
    file = io.BytesIO()
    a_seven(300).save(file, kind)
    return file.getvalue()[: len(file.getvalue()) // 2]


def huge() -> bytes:
    """A PNG that claims to be 20,000 by 20,000."""
    head = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(b"0"))
    file = b"\x89PNG\r\n\x1a\n"
    for chunk in chunks:
        file += struct.pack(">I", len(chunk) - 4) + chunk
        file += struct.pack(">I", zlib.crc32(chunk))
    return file


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.png", b"hello", "wanted an image, got another kind of file"),
        ("b.png", b"", "wanted an image, got another kind of file"),
        ("c.png", truncated("PNG"), "wanted an image, got: "),
        ("d.jpg", truncated("JPEG"), "wanted an image, got: "),
        ("e.png", huge(), r"wanted an image, got: Image size \(400000000 pix"),
    ],
)
def test_what_is_no_image(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        read_digit(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_a_picture_that_is_only_suspiciously_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 3000)  # 3,600 warn
    a_seven().save(tmp_path / "seven.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as a reader may have it
        with pytest.raises(ValueError, match="an image, got: Image size"):
            read_digit(tmp_path / "seven.png")


def test_no_file_and_no_permission(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wanted an image, got a folder"):
        read_digit(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_digit(tmp_path / "nothing.png")


@pytest.mark.parametrize("mode", ["L", "RGBA", "I;16", "F"])
@pytest.mark.parametrize("shade", [0, 255])
def test_nothing_is_drawn(tmp_path: Path, mode: str, shade: int) -> None:
    wanted = "wanted something drawn, got an empty image"
    image = Image.new(
        mode, (30, 30), (shade,) * 4 if mode == "RGBA" else shade
    )
    with pytest.raises(ValueError, match=f"^image: {wanted}"):
        read_digit(image)
    if mode == "L":
        image.save(tmp_path / "empty.png")
        with pytest.raises(ValueError, match=f"empty.png: {wanted}"):
            read_digit(tmp_path / "empty.png")


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    message = r'run first: pip install "attention-book\[vision\]"'
    with pytest.raises(ImportError, match=message):
        read_digit("seven.png")


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    config = ViTConfig(
        **SMALL | {"image_size": 8, "patch_size": 4, "n_channels": 1}
    )
    own = Classifier(ViT(config), list("abcdefg"))
    own.save(path)
    found = Classifier.load(path)
    assert found.labels == list("abcdefg")
    assert found.model.config == config
    assert found.classify(a_seven()) == own.classify(a_seven())


BROKEN: dict[str, tuple[dict[str, str | None], str]] = {
    "no configuration": ({"vit": None}, "has no 'vit'"),
    "no labels": ({"labels": None}, "has no 'labels'"),
    "another entry": ({"vit": '{"x": 1}'}, "is no ViT of ours: "),
    "a list": ({"vit": "[1]"}, "is no ViT of ours: "),
    "half a text": ({"vit": "{"}, "is no ViT of ours: "),
    "a number": ({"vit": '{"d_ff": 0}'}, "d_ff must be a whole number >= 1"),
    "a shape": ({"vit": "{}"}, "wanted class_token to fill"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_is_no_classifier(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "other.safetensors"
    tensors, notes = read_tensors(DIGITS)
    changes, message = BROKEN[kind]
    changed = {k: v for k, v in (notes | changes).items() if v is not None}
    write_tensors(path, tensors, changed)
    with pytest.raises(ValueError, match=message) as error:
        Classifier.load(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_file_that_lacks_a_parameter_or_was_altered(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    tensors, notes = read_tensors(DIGITS)
    del tensors["head.bias"]
    write_tensors(path, tensors, notes)
    with pytest.raises(ValueError, match=r"has no head\.bias"):
        Classifier.load(path)
    save_file(tensors, path)
    with pytest.raises(ValueError, match="altered, or not written by"):
        Classifier.load(path)


@pytest.mark.parametrize("changes", [{"n_channels": 3}, {"n_classes": 9}])
def test_a_model_that_is_no_classifier(changes: dict[str, int]) -> None:
    sizes = {
        "image_size": 8,
        "patch_size": 4,
        "n_channels": 1,
        "n_classes": 10,
    }
    model = ViT(ViTConfig(**SMALL | sizes | changes))
    with pytest.raises(
        ValueError, match="model must have n_channels, image_s"
    ):
        Classifier(model, list("0123456789"))
