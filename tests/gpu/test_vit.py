"""The Vision Transformer on a GPU: as on the CPU, compiled as eager."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.data.digits import Digits
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.models.vit import ViT, resize
from attention_book.training.classifiers import ImageBatches, train_classifier
from tests.factories import compile_backend, make_vit


TOLERANCE = {torch.float32: 2e-3, torch.bfloat16: 6e-2}


def a_model(**changes: Any) -> ViT:
    sizes = {"image_size": 32, "patch_size": 8, "n_classes": 11}
    shape = {"d_model": 64, "n_heads": 4, "d_ff": 96, "n_layers": 2}
    return make_vit(**sizes | shape | changes)


def images(size: int = 32) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(5, 3, size, size, generator=generator)


def results(model: torch.nn.Module, x: Tensor) -> list[Tensor]:
    """Logits, and the gradients of image and parameters, fp32 on the CPU."""
    x = x.detach().requires_grad_()
    logits = model(x)
    labels = torch.arange(len(x), device=x.device)
    F.cross_entropy(logits.float(), labels).backward()
    parts = [logits, x.grad, *(p.grad for p in model.parameters())]
    return [part.detach().float().cpu() for part in parts]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_forward_and_backward_are_those_of_the_cpu(
    pooling: str, dtype: torch.dtype, device: torch.device
) -> None:
    model = a_model(pooling=pooling)
    there = copy.deepcopy(model).to(device, dtype)
    expected = results(model, images())
    got = results(there, images().to(device, dtype))
    for a, b in zip(expected, got, strict=True):
        scale = max(1.0, a.abs().max().item())
        torch.testing.assert_close(b, a, atol=TOLERANCE[dtype] * scale, rtol=0)


@pytest.mark.slow
def test_compiled_is_eager(device: torch.device) -> None:
    torch.compiler.reset()
    model = a_model(n_layers=1).to(device)
    there = copy.deepcopy(model)
    x = images().to(device)
    compiled = torch.compile(
        there, fullgraph=True, backend=compile_backend(device)
    )
    for a, b in zip(results(model, x), results(compiled, x), strict=True):
        torch.testing.assert_close(b, a, atol=2e-3, rtol=1e-3)


def test_what_is_made_of_it_stays_on_the_device(device: torch.device) -> None:
    model = a_model()
    x = images()
    there = copy.deepcopy(model).to(device)
    larger = resize(there, 48)(images(size=48).to(device))
    flow = attention_rollout(mixing_matrices(there, [x.to(device)]))
    assert larger.device.type == flow.device.type == device.type
    torch.testing.assert_close(
        larger.cpu(), resize(model, 48)(images(size=48)), atol=2e-3, rtol=0
    )
    expected = attention_rollout(mixing_matrices(model, [x]))
    torch.testing.assert_close(flow.cpu(), expected, atol=2e-3, rtol=0)


def test_training_lowers_the_loss(device: torch.device) -> None:
    torch.manual_seed(0)
    x = torch.rand(40, 1, 8, 8)
    labels = torch.arange(40) % 4
    sizes = {"image_size": 8, "patch_size": 2, "n_channels": 1}
    model = a_model(**sizes, n_classes=4).to(device)
    data = Digits(x.to(device), labels.to(device))
    losses = train_classifier(
        model, ImageBatches(data, augmentation=0.0), n_epochs=60
    )
    assert losses[-1] < 0.5 * losses[0]
