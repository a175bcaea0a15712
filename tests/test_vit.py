"""attention_book.vit against PyTorch, and itself; against others see images."""

import copy
import re
import sys
from pathlib import Path

import einops
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_book import (
    Trainer,
    TrainingConfig,
    load_checkpoint,
    save_checkpoint,
    validation_loss,
)
from attention_book.data.digits import Digits, load_digits
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT, patchify, resize
from attention_book.training.classifiers import (
    ImageBatches,
    classification_loss,
    random_affine,
    train_classifier,
)
from attention_book.training.config import learning_rate_at
from tests.factories import (
    make_images,
    make_random_vit,
    make_vit,
    make_vit_config,
)


DIGIT_SIZES = {"image_size": 8, "n_channels": 1, "n_classes": 10}


# Patches


@pytest.mark.parametrize("size", [1, 3])
def test_patches_are_squares_row_by_row(size: int) -> None:
    x = torch.arange(2.0 * 3 * 6 * 12).view(2, 3, 6, 12)
    wanted = einops.rearrange(
        x, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=size, p2=size
    )
    assert torch.equal(patchify(x, size), wanted)


# The model


@pytest.mark.usefixtures("unchecked")
def test_numbers_and_images_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="divide image_size = 16, got 5"):
        make_vit_config(image_size=16)
    with pytest.raises(ValueError, match="n_classes must be a whole number"):
        make_vit_config(n_classes=-1)
    model = make_vit()
    for shape in (2, 1, 15, 15), (2, 3, 15, 20), (3, 15, 15):
        message = f"images must be (batch, 3, 15, 15), got shape {shape}"
        with pytest.raises(ValueError, match=re.escape(message)):
            model(torch.zeros(shape))


def test_the_size_of_the_paper() -> None:
    """ViT-L, Dosovitskiy et al. (2021), table 1."""
    config = ViTConfig(d_model=1024, n_heads=16, d_ff=4096, n_layers=24)
    with torch.device("meta"):
        model = ViT(config)
    assert sum(p.numel() for p in model.parameters()) == 304_326_632


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_order_matters_only_by_position(pooling: str) -> None:
    model = make_random_vit(pooling=pooling)
    x = make_images()
    flipped = x.flip(3)
    assert not torch.allclose(model(x), model(flipped))
    blind = copy.deepcopy(model)
    nn.init.zeros_(blind.positions.table)
    x = x[..., :5].repeat(1, 1, 1, 3)  # the same in each column of patches
    x[..., 5:10] = 0
    moved = torch.cat([x[..., 5:10], x[..., :5], x[..., 10:]], dim=3)
    assert_close(blind(x), blind(moved), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_what_is_pooled(pooling: str) -> None:
    model = make_random_vit(pooling=pooling, n_classes=0)
    x = model.encoder(model.tokens(make_images()))
    assert x.shape == (2, 10 - (pooling == "mean"), 24)
    expected = x[:, 0] if pooling == "class" else x.sum(1) / 9
    assert_close(model(make_images()), expected)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_export_with_any_number_of_images() -> None:
    model = make_random_vit()
    batch = {"images": {0: torch.export.Dim("batch")}}
    whole = torch.export.export(model, (make_images(),), dynamic_shapes=batch)
    x = make_images().repeat(4, 1, 1, 1)[:7]
    assert_close(whole.module()(x), model(x))


def test_every_normalisation_has_the_eps() -> None:
    parts = make_random_vit(eps=3e-4).modules()
    found = [part.eps for part in parts if isinstance(part, nn.LayerNorm)]
    assert found == [3e-4] * (2 * 2 + 1)


def test_dropout_is_for_training() -> None:
    model = make_random_vit(dropout=0.5)
    x = make_images()
    assert torch.equal(model(x), model(x))
    assert not torch.equal(model.tokens(x), model.train().tokens(x))
    parts = [*model.modules()]
    rates = {part.p for part in parts if isinstance(part, nn.Dropout)}
    assert rates == {0.5}
    for layer in model.encoder.layers:
        assert layer.self_attention.dropout == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions(dtype: torch.dtype) -> None:
    expected = make_random_vit()(make_images())
    model = make_random_vit().to(dtype)
    got = model(make_images().to(dtype))
    assert got.dtype == resize(model, 20).positions.table.dtype == dtype
    assert_close(got.float(), expected, atol=0.1, rtol=0.1)


# Another size


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_another_size(pooling: str) -> None:
    model, images = make_random_vit(pooling=pooling), make_images()
    before = copy.deepcopy(model.state_dict())
    assert_close(resize(model, 15)(images), model(images))
    larger = resize(model, 30)
    assert (larger.config.image_size, model.config.image_size) == (30, 15)
    assert larger(make_images(size=30)).shape == (2, 7)
    larger.positions.table.sum().backward()  # still a parameter
    assert torch.equal(images, make_images())
    assert_close(model.state_dict(), before, rtol=0, atol=0)
    with pytest.raises(ValueError, match="patch_size must divide"):
        resize(model, 16)


@pytest.mark.parametrize("pooling", ["class", "mean"])
@pytest.mark.parametrize("size", [10, 30])
def test_a_grid_that_shrinks_is_smoothed_and_no_other(
    size: int, pooling: str
) -> None:
    model = make_random_vit(pooling=pooling)
    nn.init.normal_(model.positions.table)
    first, old = model.positions.table.split([int(pooling == "class"), 9])
    grid = F.interpolate(
        old.T.view(1, 24, 3, 3),
        size // 5,
        mode="bicubic",
        antialias=size < 15,
    )
    expected = torch.cat([first, grid[0].flatten(1).T])
    assert_close(resize(model, size).positions.table, expected)


# Digits


def test_a_fifth_of_each_digit_is_held_out() -> None:
    train, test = load_digits()
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
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match="first: pip install scikit-learn"):
        load_digits()


def test_random_affine_moves_ink_and_keeps_its_input(data: Digits) -> None:
    x = data.images[:50]
    before = x.clone()

    def draw(strength: float, seed: int = 0) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return random_affine(x, strength, generator)

    assert_close(draw(0.0), x, atol=1e-5, rtol=0)
    moved = draw(0.1)
    assert torch.equal(x, before)
    assert (moved - x).abs().mean() > 0.02
    assert ((moved - x).abs().amax(dim=(1, 2, 3)) > 0.05).all()
    assert torch.equal(moved, draw(0.1))
    assert not torch.equal(moved, draw(0.1, seed=3))


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def test_training_depends_on_its_seed_alone(data: Digits) -> None:
    runs = []
    for seed in (0, 0, 1):
        model = linear()
        batches = ImageBatches(data, seed=seed)
        runs.append(
            train_classifier(model, batches, n_epochs=9, learning_rate=0.01)
        )
        assert not model.training
    assert len(runs[0]) == 9 * 3
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][-1] < 0.9 * runs[0][0]


@pytest.mark.slow
def test_it_overfits_one_batch(data: Digits) -> None:
    some = Digits(data.images[:40], data.labels[:40])
    model = make_vit(**DIGIT_SIZES, patch_size=2)
    batches = ImageBatches(some, augmentation=0.0)
    train_classifier(model, batches, n_epochs=120, learning_rate=4e-3)
    assert (model(some.images).argmax(1) == some.labels).all()


@pytest.fixture(scope="module")
def data() -> Digits:
    train, _ = load_digits()
    return Digits(train.images[:130], train.labels[:130])


def test_the_same_number_is_the_same_batch(data: Digits) -> None:
    batches = ImageBatches(data, batch_size=50, seed=3)
    again = ImageBatches(data, batch_size=50, seed=3)
    assert len(batches) == 3
    first = [batches[number] for number in range(7)]
    for number in (6, 2, 0, 5):
        assert_close(again[number], first[number], rtol=0, atol=0)
    other = ImageBatches(data, batch_size=50, seed=4)
    assert not torch.equal(other[0].labels, first[0].labels)
    assert [batch.n_targets for batch in first] == [50, 50, 30] * 2 + [50]


def test_each_epoch_has_each_image_once_in_other_ways(data: Digits) -> None:
    plain = ImageBatches(data, batch_size=50, augmentation=0.0)
    epochs = [
        torch.cat([plain[3 * epoch + i].inputs[0] for i in range(3)])
        for epoch in range(2)
    ]
    assert not torch.equal(*epochs)
    for epoch in epochs:
        distance = torch.cdist(epoch.flatten(1), data.images.flatten(1))
        assert distance.argmin(dim=1).unique().numel() == 130
        assert distance.amin(dim=1).max() == 0
    one = Digits(data.images[:1], data.labels[:1])
    batches = ImageBatches(one)
    assert not torch.equal(batches[0].inputs[0], batches[1].inputs[0])
    assert torch.equal(batches[1].labels, one.labels)


def test_the_fingerprint_tells_batches_apart(data: Digits) -> None:
    images, labels = data
    fingerprint = ImageBatches(data).fingerprint()
    assert ImageBatches(data).fingerprint() == fingerprint
    other = (
        ImageBatches(data, batch_size=63),
        ImageBatches(data, augmentation=0.2),
        ImageBatches(data, seed=1),
        ImageBatches(Digits(images[1:], labels[1:])),
        ImageBatches(Digits(images + 1e-3, labels)),
        ImageBatches(Digits(images, labels.flip(0))),
    )
    digests = {fingerprint, *(batches.fingerprint() for batches in other)}
    assert len(digests) == 1 + len(other)


def test_batches_that_can_not_be_made(data: Digits) -> None:
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        ImageBatches(data, batch_size=0)
    with pytest.raises(ValueError, match="data must not be empty"):
        ImageBatches(Digits(data.images[:0], data.labels[:0]))


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_the_loss_by_hand(data: Digits, label_smoothing: float) -> None:
    model = linear()
    batch = ImageBatches(data)[0]
    log_probs = model(batch.inputs[0]).log_softmax(dim=-1)
    right = log_probs[torch.arange(64), batch.labels]
    keep = 1 - label_smoothing
    expected = -(keep * right + label_smoothing * log_probs.mean(dim=-1))
    got = classification_loss(model, batch, label_smoothing)
    assert_close(got, expected.mean())


def test_training_is_adamw_in_a_plain_loop(data: Digits) -> None:
    """The Trainer's steps, with PyTorch's own optimizer and no clipping."""
    model, plain = linear(), linear()
    batches = ImageBatches(data)
    losses = train_classifier(model, batches, n_epochs=4, learning_rate=0.3)
    optimizer = torch.optim.AdamW(plain.parameters(), weight_decay=0.05)
    config = TrainingConfig(max_steps=12, learning_rate=0.3, warmup_steps=1)
    for step in range(1, 13):
        optimizer.param_groups[0]["lr"] = learning_rate_at(step, config)
        batch = batches[step - 1]
        loss = F.cross_entropy(plain(batch.inputs[0]), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert abs(loss.item() - losses[step - 1]) < 1e-4
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert_close(a, b, atol=1e-4, rtol=1e-4)


def a_trainer(data: Digits) -> Trainer:
    config = TrainingConfig(max_steps=6, learning_rate=1e-2, warmup_steps=2)
    model = make_vit(**DIGIT_SIZES, patch_size=4, dropout=0.2)
    batches = ImageBatches(data, batch_size=50)
    return Trainer(model, batches, config, classification_loss)


def test_training_resumes_from_a_checkpoint(
    data: Digits, tmp_path: Path
) -> None:
    path = tmp_path / "vit.safetensors"
    trainer = a_trainer(data)
    for _ in range(2):
        trainer.step()
    save_checkpoint(path, trainer)
    expected = [trainer.step() for _ in range(4)]
    resumed = a_trainer(data)
    load_checkpoint(path, resumed)
    assert [resumed.step() for _ in range(4)] == expected
    other = a_trainer(Digits(data.images[1:], data.labels[1:]))
    with pytest.raises(ValueError, match="made with corpus digest"):
        load_checkpoint(path, other)


def test_validation_loss_is_the_mean_over_images(data: Digits) -> None:
    trainer = a_trainer(data)
    batches = ImageBatches(data, batch_size=50, augmentation=0.0)
    with torch.no_grad():
        logits = trainer.model.eval()(data.images)
    expected = F.cross_entropy(logits, data.labels).item()
    trainer.model.train()
    assert abs(validation_loss(trainer, batches) - expected) < 1e-5
