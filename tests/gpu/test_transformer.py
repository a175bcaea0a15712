"""The whole model on a GPU: as on the CPU, compiled as eager."""

import contextlib
import copy
import random
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    translation_loss,
)
from attention_book.attention.fused import fused_attention
from attention_book.compute import (
    Kernel,
    compute_context,
    get_compute_config,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.training.loading import Example, make_batch
from attention_book.training.mask_predict import mask_predict_loss
from tests.factories import (
    KINDS,
    compile_backend,
    make_config,
    make_transformer,
    needs_bf16,
)


SIZES: dict[str, Any] = {  # heads as wide as kernels want them
    "source_vocab_size": 41,
    "target_vocab_size": 43,
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 96,
}
SIZED = [SIZES | kind for kind in KINDS]
TOLERANCE = {"fp32": 2e-3, "bf16": 6e-2}


def make_reversals(n: int, max_length: int = 23) -> list[Example]:
    """Return pairs whose target is the source backwards."""
    rng = random.Random(0)
    rows = [
        [rng.randrange(4, 41) for _ in range(rng.randint(2, max_length))]
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
@pytest.mark.parametrize("kind", SIZED)
def test_a_training_step_is_that_of_the_cpu(
    kind: dict[str, Any], precision: Any, device: torch.device
) -> None:
    if precision == "bf16":
        needs_bf16(device)
    model = make_transformer(**kind)
    examples = make_reversals(11)
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


def test_the_masked_loss_is_that_of_the_cpu(device: torch.device) -> None:
    torch.manual_seed(0)
    config = MaskedTransformerConfig(**vars(make_config(**SIZES)))
    model = MaskedTransformer(config)
    there = copy.deepcopy(model).to(device)
    results = []
    for each, where in ((model, torch.device("cpu")), (there, device)):
        batch = make_batch(make_reversals(11), where)
        generator = torch.Generator().manual_seed(0)
        loss = mask_predict_loss(each, batch, 0.1, generator)
        results.append(gradients(loss, each))
    for a, b in zip(*results, strict=True):
        assert_close(a, b, TOLERANCE["fp32"])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_training_a_translator_lowers_the_loss(
    precision: Any, device: torch.device
) -> None:
    if precision == "bf16":
        needs_bf16(device)
    compute = get_compute_config(device, precision)
    config = TrainingConfig(
        max_steps=40,
        batch_tokens=400,
        learning_rate=5e-3,
        warmup_steps=10,
        precision=compute.precision,
    )
    model = make_transformer(**SIZES, norm="pre", dropout=0.1).to(device)
    batches = TranslationBatches(
        make_reversals(64, max_length=5), config, device
    )
    trainer = Trainer(model, batches, config)
    losses = [trainer.step() for _ in range(config.max_steps)]
    assert sum(losses[-5:]) < 0.75 * sum(losses[:5])


def test_a_step_leaves_the_global_random_generator_alone(
    device: torch.device,
) -> None:
    config = TrainingConfig(max_steps=2, batch_tokens=100)
    torch.manual_seed(1)
    expected = torch.rand(5, device=device)
    torch.manual_seed(1)
    model = make_transformer(**SIZES, dropout=0.3).to(device)
    batches = TranslationBatches(make_reversals(5), config, device)
    trainer = Trainer(model, batches, config)
    torch.manual_seed(1)
    trainer.step()
    assert torch.equal(torch.rand(5, device=device), expected)


def compiled(function: Any, backend: str) -> Any:
    """Compile for all shapes, without graph breaks."""
    torch.compiler.reset()
    return torch.compile(
        function, fullgraph=True, dynamic=True, backend=backend
    )


def no_recompile(number: int) -> Any:
    """From the second call on, compiling again is an error."""
    stance = "fail_on_recompile" if number else "default"
    return torch.compiler.set_stance(stance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "precision"),
    [*zip(SIZED, ("fp32", "bf16", "fp32", "fp32"), strict=True)],
)
def test_a_compiled_training_step_is_the_eager_one_at_all_lengths(
    kind: dict[str, Any], precision: Any, device: torch.device
) -> None:
    if precision == "bf16":
        needs_bf16(device)
    compute = get_compute_config(device, precision)
    eager = make_transformer(**kind, n_layers=1).to(device)
    quick = copy.deepcopy(eager)
    # What inductor makes of it on the CPU, tests/wheel_worker.py tries.
    backend = compile_backend(device, on_cpu=False)
    loss_fn = compiled(translation_loss, backend)
    shapes = ((3, 5), (4, 9), (5, 23), (7, 300), (8, 400))
    for number, (n, max_length) in enumerate(shapes):
        batch = make_batch(make_reversals(n, max_length), device)
        for model in (eager, quick):
            model.zero_grad()
        with compute.autocast(), no_recompile(number):
            eager_loss = translation_loss(eager, batch, 0.1)
            quick_loss = loss_fn(quick, batch, 0.1)
        expected = gradients(eager_loss, eager)
        for a, b in zip(expected, gradients(quick_loss, quick), strict=True):
            assert_close(a, b, TOLERANCE[precision] / 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIZED)
def test_a_compiled_encoder_is_the_eager_one_at_all_lengths(
    kind: dict[str, Any], device: torch.device
) -> None:
    model = make_transformer(**kind, n_layers=1).to(device)
    backend = compile_backend(device, on_cpu=kind is SIZED[3])
    encode = compiled(model.encode, backend)
    for number, n in enumerate((3, 8, 17, 130)):
        source = torch.randint(4, 41, (n + 1, n), device=device)
        lengths = torch.randint(1, n + 1, (n + 1,), device=device)
        with torch.no_grad(), no_recompile(number):
            got, _ = encode(source, lengths)
            expected, _ = model.encode(source, lengths)
        assert_close(expected, got, 1e-3)


def test_kernels_agree(gpu: torch.device) -> None:
    needs_bf16(gpu)
    x = torch.randn(2, 4, 128, 64, device=gpu, dtype=torch.bfloat16)
    results = []
    for kernel in get_args(Kernel)[1:]:  # the first is auto
        with contextlib.suppress(ValueError):  # one that is not there
            compute = get_compute_config(gpu, "bf16", kernel)
            with compute_context(compute):
                results.append(fused_attention(x, x, x, is_causal=True))
    assert len(results) == (4 if gpu.type == "cuda" else 2)
    for result in results[:-1]:
        assert_close(results[-1].float(), result.float(), 3e-2)
