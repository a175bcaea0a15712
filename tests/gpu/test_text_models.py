"""Taggers, classifiers and language models on a GPU: as on the CPU, compiled as eager."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.caches import KeyValueCache
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.models.text import SequenceClassifier, TokenClassifier
from tests.factories import compile_backend, make_text_config


TOLERANCE = {torch.float32: 2e-3, torch.bfloat16: 6e-2}
TOKENS = torch.arange(21).view(3, 7) % 13
LENGTHS = torch.tensor([7, 2, 5])


def a_model(kind: str) -> nn.Module:
    torch.manual_seed(0)
    if kind == "causal":
        return CausalLanguageModel(make_text_config())
    config = make_text_config(norm="post", n_segments=2)
    if kind == "masked":
        return MaskedLanguageModel(config)
    if kind == "tagger":
        return TokenClassifier(config, 5)
    return SequenceClassifier(config, 5)


def results(kind: str, model: nn.Module, device: torch.device) -> list[Tensor]:
    """Logits of real tokens, and gradients, in fp32 on the CPU."""
    arguments = [TOKENS.to(device)]
    if kind != "causal":
        arguments.append(LENGTHS.to(device))
    logits = model(*arguments)
    if logits.ndim == 3:
        real = torch.arange(7, device=device) < LENGTHS.to(device)[:, None]
        logits = logits[real]
    labels = torch.arange(len(logits), device=device) % 5
    F.cross_entropy(logits.float(), labels).backward()
    grads = [p.grad for p in model.parameters()]
    parts = [logits, *(grad for grad in grads if grad is not None)]
    return [part.detach().float().cpu() for part in parts]


KINDS = ["causal", "masked", "tagger", "classifier"]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
def test_forward_and_backward_are_those_of_the_cpu(
    kind: str, dtype: torch.dtype, device: torch.device
) -> None:
    model = a_model(kind)
    there = copy.deepcopy(model).to(device, dtype)
    expected = results(kind, model, torch.device("cpu"))
    got = results(kind, there, device)
    for a, b in zip(expected, got, strict=True):
        scale = max(1.0, a.abs().max().item())
        torch.testing.assert_close(b, a, atol=TOLERANCE[dtype] * scale, rtol=0)


@pytest.mark.parametrize(
    "kind", [pytest.param("causal", marks=pytest.mark.slow), "masked"]
)
def test_compiled_is_eager(kind: str, device: torch.device) -> None:
    torch.compiler.reset()
    model = a_model(kind).to(device)
    compiled = torch.compile(
        copy.deepcopy(model),
        fullgraph=True,
        backend=compile_backend(device, on_cpu=kind == "causal"),
    )
    pairs = zip(
        results(kind, model, device),
        results(kind, compiled, device),
        strict=True,
    )
    for a, b in pairs:
        torch.testing.assert_close(b, a, atol=2e-3, rtol=1e-3)


@torch.no_grad()
def test_caches_are_where_the_model_is(device: torch.device) -> None:
    model = a_model("causal").to(device).eval()
    tokens = TOKENS.to(device)
    caches = [KeyValueCache(7) for _ in model.encoder.encoder.layers]
    steps = [model(part, caches) for part in tokens.split([3, 1, 3], dim=1)]
    found = torch.cat(steps, dim=1)
    assert found.device.type == device.type
    torch.testing.assert_close(found, model(tokens), atol=2e-3, rtol=0)
