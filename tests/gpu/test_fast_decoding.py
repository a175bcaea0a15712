"""Decoding on a GPU: captured steps as plain ones."""

import random
from typing import Any

import pytest
import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    beam_search,
    generate,
)
from attention_book.compute import get_compute_config
from attention_book.data.batches import pad
from attention_book.generation import cuda_graphs
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.training.loading import Example
from tests.factories import make_transformer, needs_bf16


SIZES: dict[str, Any] = {  # heads as wide as kernels want them
    "source_vocab_size": 41,
    "target_vocab_size": 43,
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 96,
}


def make_reversals(n: int, max_length: int = 23) -> list[Example]:
    """Return pairs whose target is the source backwards."""
    rng = random.Random(0)
    rows = [
        [rng.randrange(4, 41) for _ in range(rng.randint(2, max_length))]
        for _ in range(n)
    ]
    return [(row, [BOS, *reversed(row), EOS]) for row in rows]


def train_a_little(device: torch.device, **kind: Any) -> Transformer:
    """Return a model whose logits are not all alike."""
    model = make_transformer(**SIZES, norm="pre", **kind).to(device)
    config = TrainingConfig(
        max_steps=30, batch_tokens=400, learning_rate=5e-3, warmup_steps=5
    )
    batches = TranslationBatches(
        make_reversals(64, max_length=5), config, device
    )
    trainer = Trainer(model, batches, config)
    for _ in range(config.max_steps):
        trainer.step()
    return model.eval()


@pytest.mark.parametrize(
    "positions", ["sinusoidal", "learned", "rotary", "alibi"]
)
def test_captured_steps_generate_what_plain_ones_do(
    positions: str, gpu: torch.device
) -> None:
    model = train_a_little(gpu, positions=positions)
    static = CUDAGraphDecoder(model, get_compute_config(gpu, "fp32"))
    sources = [source for source, _ in make_reversals(9)]
    for rows in (1, 3, 9, 3):  # the last time with what is there already
        source, lengths = pad(sources[:rows])
        on_gpu = source.to(gpu), lengths.to(gpu)
        expected = generate(model, *on_gpu, max_length=21)
        found = generate(static, source, lengths, max_length=21)
        assert found == expected
    assert static.captured_step.cache_info().currsize == 3
    found = beam_search(static, source, lengths, max_length=21)
    assert found == beam_search(model, *on_gpu, max_length=21)


def test_captured_steps_in_bf16_generate_nearly_the_same(
    gpu: torch.device,
) -> None:
    needs_bf16(gpu)
    model = train_a_little(gpu)
    source, lengths = pad([source for source, _ in make_reversals(9)])
    full, half = (
        generate(
            CUDAGraphDecoder(model, get_compute_config(gpu, precision)),
            source,
            lengths,
            max_length=7,
        )
        for precision in ("fp32", "bf16")
    )
    same = [a[0] == b[0] for a, b in zip(full, half, strict=True)]
    assert sum(same) >= 7


def test_evicted_graphs_leave_the_others_intact(
    gpu: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_graphs, "_MAX_BUCKETS", 2)
    model = train_a_little(gpu)
    static = CUDAGraphDecoder(model, get_compute_config(gpu, "fp32"))
    sources = [source for source, _ in make_reversals(9)]
    expected = {}
    for rows in (8, 1, 4, 1, 8, 4):  # large first, so that it is shared
        found = generate(static, *pad(sources[:rows]), max_length=21)
        assert found == expected.setdefault(rows, found)
        assert static.captured_step.cache_info().currsize <= 2
