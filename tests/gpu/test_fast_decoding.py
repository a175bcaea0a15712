"""Decoding on a GPU: captured steps as plain ones, compiled as eager."""

import random
from typing import Any

import pytest
import torch

from attention_book.corpus import BOS, EOS, pad
from attention_book.fast_decoding import (
    IncrementalDecoder,
    StaticDecoder,
    fast_generate,
)
from attention_book.fast_decoding.captured import StaticDecodingState
from attention_book.runtime import get_compute_config
from attention_book.training import (
    BatchLoader,
    Example,
    Trainer,
    TrainingConfig,
)
from attention_book.transformer import Transformer
from tests.factories import compile_backend, make_transformer


SIZES: dict[str, Any] = {  # heads as wide as kernels want them
    "source_vocab_size": 41,
    "target_vocab_size": 43,
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 96,
}
KINDS: list[dict[str, Any]] = [
    SIZES,
    SIZES | {"norm": "pre", "feed_forward": "gelu", "positions": "rotary"},
    SIZES | {"norm": "pre", "feed_forward": "swiglu", "positions": "learned"},
]


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
    batches = BatchLoader(make_reversals(64, max_length=5), config, device)
    trainer = Trainer(model, batches, config)
    for _ in range(config.max_steps):
        trainer.step()
    return model.eval()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_captured_steps_generate_what_plain_ones_do(
    positions: str, device: torch.device
) -> None:
    model = train_a_little(device, positions=positions)
    plain = IncrementalDecoder(model)
    static = StaticDecoder(model, get_compute_config(device, "fp32"))
    sources = [source for source, _ in make_reversals(9)]
    for rows in (1, 3, 9, 3):  # the last time with what is there already
        source, lengths = pad(sources[:rows])
        expected = fast_generate(plain, source, lengths, max_length=21)
        found = static.generate(source, lengths, max_length=21)
        assert found == expected
    assert len(static.buckets) == 3


def test_captured_steps_in_bf16_generate_nearly_the_same(
    device: torch.device,
) -> None:
    model = train_a_little(device)
    source, lengths = pad([source for source, _ in make_reversals(9)])
    full, half = (
        StaticDecoder(model, get_compute_config(device, precision)).generate(
            source, lengths, max_length=7
        )
        for precision in ("fp32", "bf16")
    )
    same = [a[0] == b[0] for a, b in zip(full, half, strict=True)]
    assert sum(same) >= 7


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_step_of_decoding_is_the_eager_one(
    kind: dict[str, Any], device: torch.device
) -> None:
    torch.compiler.reset()
    model = make_transformer(**kind).to(device)
    with torch.inference_mode():
        eager = StaticDecodingState(model, 3, 16, 32)
        quick = StaticDecodingState(model, 3, 16, 32)
        backend = compile_backend(device, on_cpu=kind is KINDS[1])
        step = torch.compile(
            quick.decode_step, fullgraph=True, backend=backend
        )
        source, lengths = pad([source for source, _ in make_reversals(3, 16)])
        for state in (eager, quick):
            state.prefill(source.to(device), lengths.to(device))
        for number in range(20):
            eager.decode_step()
            stance = "fail_on_recompile" if number else "default"
            with torch.compiler.set_stance(stance):
                step()
        assert torch.equal(eager.token_ids, quick.token_ids)
        assert eager.length.item() == quick.length.item() == 20
