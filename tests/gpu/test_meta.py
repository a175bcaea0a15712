"""On `meta`, where a tensor has a shape and a device and no numbers.

What makes a tensor on the CPU that should lie beside the others, or reads a
number on the way, fails here as it would on a GPU, or would wait for it.
"""

from typing import Any

import pytest
import torch

from attention_book import translation_loss
from attention_book.generation.cuda_graphs import StaticStep
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.models.transformer import Transformer
from attention_book.models.vit import ViT
from attention_book.training.loading import make_batch
from tests.factories import KINDS, make_config, make_examples, make_vit_config


META = torch.device("meta")


def make_model(**kind: Any) -> Transformer:
    with META:
        return Transformer(make_config(**kind, dropout=0.1))


def assert_has_gradients(model: torch.nn.Module) -> None:
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.device == META
        assert parameter.grad.shape == parameter.shape


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_step(kind: dict[str, Any]) -> None:
    model = make_model(**kind).train()
    loss = translation_loss(model, make_batch(make_examples(7), META), 0.1)
    assert loss.device == META
    assert loss.shape == ()
    loss.backward()
    assert_has_gradients(model)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_decoding(kind: dict[str, Any]) -> None:
    model = make_model(**kind).eval()
    source = torch.zeros(3, 5, dtype=torch.long, device=META)
    lengths = torch.zeros(3, dtype=torch.long, device=META)
    with torch.inference_mode():
        step = StaticStep(model, 4, 16, 32)
        step.encode(source, lengths)
        step.compute()
    assert step.logits.device == META
    assert step.logits.shape == (4, 11)
    if kind.get("positions") != "alibi":
        decoder = IncrementalDecoder(model)
        on_cpu = torch.zeros(3, 5, dtype=torch.long), torch.tensor([5, 2, 1])
        state, logits = decoder.prefill(*on_cpu, 7)
        for _ in range(2):
            logits = state.step(lengths)
        assert logits.device == META
        assert logits.shape == (3, 11)


def test_a_vision_transformer() -> None:
    with META:
        model = ViT(make_vit_config())
    logits = model(torch.zeros(4, 3, 15, 15, device=META))
    assert logits.shape == (4, 7)
    logits.sum().backward()
    assert_has_gradients(model)
