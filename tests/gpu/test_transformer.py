"""The whole model on a GPU: as on the CPU, compiled as eager, cached as not."""

import copy
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_book.corpus import BOS, EOS, pad
from attention_book.fast_decoding import (
    IncrementalDecoder,
    StaticDecoder,
    write,
)
from attention_book.fast_decoding.captured import StaticDecodingState
from attention_book.non_autoregressive import MaskedTransformer, masked_loss
from attention_book.runtime import ComputeConfig, get_compute_config
from attention_book.training import (
    Example,
    Trainer,
    TrainingConfig,
    make_batch,
    translation_loss,
)
from attention_book.transformer import Transformer, TransformerConfig


N_WORDS = 41
KINDS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "feed_forward": "gelu", "positions": "rotary"},
    {"norm": "pre", "feed_forward": "swiglu", "positions": "learned"},
]
TOLERANCE = {"fp32": 2e-3, "bf16": 6e-2}


def a_config(**changes: Any) -> TransformerConfig:
    shape = {"d_model": 64, "n_heads": 4, "d_ff": 96, "n_layers": 2}
    kinds = {
        "source_vocab_size": N_WORDS,
        "target_vocab_size": N_WORDS + 2,
        "dropout": 0.0,
    }
    return TransformerConfig(**shape | kinds | changes)


def a_model(**changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(a_config(**changes))


def some_examples(n: int, longest: int = 23) -> list[Example]:
    """The target says what the source says, backwards."""
    rng = random.Random(0)
    rows = [
        [rng.randrange(4, N_WORDS) for _ in range(rng.randint(2, longest))]
        for _ in range(n)
    ]
    return [(row, [BOS, *reversed(row), EOS]) for row in rows]


def gradients(loss: Tensor, model: torch.nn.Module) -> list[Tensor]:
    loss.backward()
    found = [loss, *(p.grad for p in model.parameters())]
    return [x.detach().float().cpu() for x in found if x is not None]


def assert_close(a: Tensor, b: Tensor, tolerance: float) -> None:
    scale = max(1.0, a.abs().max().item())
    torch.testing.assert_close(b, a, atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_step_is_that_of_the_cpu(
    kind: dict[str, Any], precision: Any, device: str
) -> None:
    model = a_model(**kind)
    examples = some_examples(11)
    there = copy.deepcopy(model).to(device)
    cpu = torch.device("cpu")
    compute = get_compute_config(device, precision)
    expected = gradients(
        translation_loss(model, make_batch(examples, cpu), 0.1), model
    )
    with compute.autocast():
        loss = translation_loss(
            there, make_batch(examples, compute.device), 0.1
        )
    for a, b in zip(expected, gradients(loss, there), strict=True):
        assert_close(a, b, TOLERANCE[precision])


def test_filling_in_blanks_is_that_of_the_cpu(device: str) -> None:
    torch.manual_seed(0)
    model = MaskedTransformer(a_config())
    examples = some_examples(11)
    there = copy.deepcopy(model).to(device)
    parts = []
    for place, each in (("cpu", model), (device, there)):
        batch = make_batch(examples, torch.device(place))
        chance = torch.Generator().manual_seed(0)
        parts.append(gradients(masked_loss(each, batch, 0.1, chance), each))
    for a, b in zip(*parts, strict=True):
        assert_close(a, b, TOLERANCE["fp32"])


@pytest.mark.parametrize("precision", ["auto", "fp32", "bf16", "fp16"])
def test_training_a_translator_lowers_the_loss(
    precision: Any, device: str
) -> None:
    compute = get_compute_config(device, precision)
    config = TrainingConfig(
        max_steps=60,
        batch_tokens=600,
        learning_rate=5e-3,
        warmup_steps=10,
        precision=compute.precision,
    )
    model = a_model(norm="pre", dropout=0.1).to(compute.device)
    trainer = Trainer(model, some_examples(64, longest=5), config)
    losses = [trainer.step() for _ in range(config.max_steps)]
    assert sum(losses[-5:]) < 0.75 * sum(losses[:5])


def test_dropout_leaves_other_chance_alone(device: str) -> None:
    config = TrainingConfig(max_steps=2, batch_tokens=100)
    torch.manual_seed(1)
    expected = torch.rand(5, device=device)
    torch.manual_seed(1)
    trainer = Trainer(
        a_model(dropout=0.3).to(device), some_examples(5), config
    )
    torch.manual_seed(1)
    trainer.step()
    assert torch.equal(torch.rand(5, device=device), expected)


def compiled(function: Any, device: str, **how: Any) -> Any:
    """Compile without breaks; on the CPU, quickly: no machine code is made."""
    torch.compiler.reset()
    backend = "eager" if device == "cpu" else "inductor"
    return torch.compile(function, fullgraph=True, backend=backend, **how)


def as_it_is(number: int) -> Any:
    """From the second call on, compiling again is an error."""
    stance = "fail_on_recompile" if number else "default"
    return torch.compiler.set_stance(stance)


@pytest.mark.parametrize(
    ("kind", "precision"),
    [(KINDS[0], "fp32"), (KINDS[1], "bf16"), (KINDS[2], "fp32")],
)
def test_a_compiled_training_step_is_the_eager_one_at_all_lengths(
    kind: dict[str, Any], precision: Any, device: str
) -> None:
    compute = get_compute_config(device, precision)
    eager = a_model(**kind).to(device)
    quick = copy.deepcopy(eager)
    loss_fn = compiled(translation_loss, device, dynamic=True)
    shapes = ((3, 5), (4, 9), (5, 23), (7, 300), (8, 400))
    for number, (rows, longest) in enumerate(shapes):
        batch = make_batch(some_examples(rows, longest), compute.device)
        for model in (eager, quick):
            model.zero_grad()
        with compute.autocast(), as_it_is(number):
            losses = (
                translation_loss(eager, batch, 0.1),
                loss_fn(quick, batch, 0.1),
            )
        expected = gradients(losses[0], eager)
        for a, b in zip(expected, gradients(losses[1], quick), strict=True):
            assert_close(a, b, TOLERANCE[precision] / 4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_encoder_is_the_eager_one_at_all_lengths(
    kind: dict[str, Any], device: str
) -> None:
    model = a_model(**kind).eval().to(device)
    encode = compiled(model.encode, device, dynamic=True)
    for number, n in enumerate((3, 8, 17, 130)):
        source = torch.randint(4, N_WORDS, (n + 1, n), device=device)
        lengths = torch.randint(1, n + 1, (n + 1,), device=device)
        with torch.no_grad(), as_it_is(number):
            (a, _), (b, _) = (
                f(source, lengths) for f in (encode, model.encode)
            )
        assert_close(b, a, 1e-3)


def a_writer(device: str, **kind: Any) -> Transformer:
    """A model that has learnt a little, lest all scores be alike."""
    model = a_model(norm="pre", **kind).to(device)
    config = TrainingConfig(
        max_steps=30, batch_tokens=400, learning_rate=5e-3, warmup_steps=5
    )
    trainer = Trainer(model, some_examples(64, longest=5), config)
    for _ in range(config.max_steps):
        trainer.step()
    return model.eval()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_writing_by_recorded_steps_is_writing_plainly(
    positions: str, device: str
) -> None:
    model = a_writer(device, positions=positions)
    plain = IncrementalDecoder(model)
    static = StaticDecoder(model, get_compute_config(device, "fp32"))
    sources = [source for source, _ in some_examples(9)]
    for rows in (1, 3, 9, 3):  # the last time with what is there already
        source, lengths = pad(sources[:rows])
        expected = write(plain, source, lengths, max_length=21)
        found = static.write(source, lengths, max_length=21)
        assert found == expected
    assert len(static.rooms) == 3


def test_recorded_steps_in_bf16_write_nearly_the_same(device: str) -> None:
    model = a_writer(device)
    source, lengths = pad([source for source, _ in some_examples(9)])
    full, half = (
        StaticDecoder(model, get_compute_config(device, precision)).write(
            source, lengths, max_length=7
        )
        for precision in ("fp32", "bf16")
    )
    same = [a[0] == b[0] for a, b in zip(full, half, strict=True)]
    assert sum(same) >= 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_step_of_decoding_is_the_eager_one(
    kind: dict[str, Any], device: str
) -> None:
    model = a_model(**kind).eval().to(device)
    with torch.inference_mode():
        eager = StaticDecodingState(model, 3, 16, 32)
        quick = StaticDecodingState(model, 3, 16, 32)
        step = compiled(quick.step, device)
        source, lengths = pad([source for source, _ in some_examples(3, 16)])
        for writing in (eager, quick):
            writing.begin(source.to(device), lengths.to(device))
        for number in range(20):
            eager.step()
            with as_it_is(number):
                step()
        assert torch.equal(eager.words, quick.words)
        assert eager.place.item() == quick.place.item() == 20


def test_kernels_agree(device: str) -> None:
    if device == "cpu":
        pytest.skip("the CPU has one fused kernel, which other tests use")
    from attention_book.runtime import BACKENDS, compute_context
    from attention_book.scoring import fused_attention

    compute = get_compute_config(device, "bf16")
    x = torch.randn(2, 4, 128, 64, device=device, dtype=torch.bfloat16)
    results = []
    for kernel in BACKENDS:
        one: ComputeConfig = replace(compute, kernel=kernel)
        with compute_context(one):
            results.append(fused_attention(x, x, x, is_causal=True))
    for result in results[:-1]:
        assert_close(results[-1].float(), result.float(), 3e-2)
