"""attention_book.training against plain PyTorch."""

import copy
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    translation_loss,
    validation_loss,
)
from attention_book import _checks as checks
from attention_book.tokenizers.special_tokens import PAD
from attention_book.training.config import learning_rate_at
from attention_book.training.loading import Example, make_batch, to_device
from attention_book.training.losses import cross_entropy
from attention_book.training.parallel import DataParallel, ParallelStrategy
from tests.factories import (
    KINDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    make_examples,
    make_trainer,
    make_transformer,
)
from tests.factories import TRAINING as CONFIG


CPU = torch.device("cpu")
EXACTLY = {"atol": 0, "rtol": 0}


def take_steps(trainer: Trainer, n: int) -> Trainer:
    for _ in range(n):
        trainer.step()
    return trainer


def state_of(trainer: Trainer) -> list[torch.Tensor]:
    state = trainer.optimizer.state_dict()["state"]
    kinds = [value for kinds in state.values() for value in kinds.values()]
    tensors = [*trainer.model.parameters(), *kinds]
    return [tensor.detach().clone() for tensor in tensors]


def assert_same(one: Trainer, other: Trainer) -> None:
    assert one.losses == other.losses
    torch.testing.assert_close(state_of(one), state_of(other), **EXACTLY)


@contextmanager
def unchanged(trainer: Trainer) -> Iterator[None]:
    """Whatever happens inside `with`, the trainer stays as it was."""
    losses = [*trainer.losses]
    before = state_of(trainer)
    yield
    assert trainer.losses == losses
    torch.testing.assert_close(state_of(trainer), before, **EXACTLY)


SHARED = {"share_embeddings": True, "target_vocab_size": 13, "n_heads": 1}


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_cross_entropy_by_hand(label_smoothing: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 5)
    weight = torch.randn(11, 5)
    targets = torch.randint(11, (7,))
    log_probs = (x @ weight.T).log_softmax(-1)
    total = 0.0
    for row, target in zip(log_probs, targets, strict=True):
        total -= (1 - label_smoothing) * row[target].item()
        total -= label_smoothing * row.mean().item()
    found = cross_entropy(x, weight, targets, label_smoothing)
    assert found.item() == pytest.approx(total / 7, rel=1e-5)


@pytest.mark.parametrize("changes", [*KINDS, SHARED])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_without_padding_the_loss_is_the_same(
    changes: dict[str, Any], label_smoothing: float
) -> None:
    model = make_transformer(**changes)
    batch = make_batch(make_examples(6), CPU)
    assert len(set(batch.source_lengths.tolist())) > 1
    assert len(set(batch.target_lengths.tolist())) > 1
    logits = model(batch.source, batch.source_lengths, batch.target[:, :-1])
    theirs = F.cross_entropy(
        logits.flatten(0, 1),
        batch.target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=label_smoothing,
    )
    ours = translation_loss(model, batch, label_smoothing)
    torch.testing.assert_close(ours, theirs)
    parameters = list(model.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(ours, parameters),
        torch.autograd.grad(theirs, parameters),
        atol=1e-5,
        rtol=1e-4,
    )


def test_batches_have_both_ends_and_lengths() -> None:
    pairs = [("a b", "c"), ("d", "e f g")]
    examples = encode_pairs(pairs, SOURCE_WORDS, TARGET_WORDS)
    assert examples == [([3, 4], [1, 5, 2]), ([6], [1, 7, 8, 9, 2])]
    batch = make_batch(examples, CPU)
    assert batch.source.tolist() == [[3, 4], [6, PAD]]
    assert batch.source_lengths.tolist() == [2, 1]
    assert batch.target.tolist() == [[1, 5, 2, PAD, PAD], [1, 7, 8, 9, 2]]
    assert batch.target_lengths.tolist() == [3, 5]
    assert batch.source_layout.mask.flatten().tolist() == [1, 1, 1, 0]
    assert batch.target_layout.indices.tolist() == [0, 1, 4, 5, 6, 7]
    assert batch.n_targets == 6


def test_an_empty_source_does_no_harm() -> None:
    examples = [([], [1, 3, 2]), ([4, 5], [1, 2])]
    take_steps(make_trainer(examples=examples), 2)  # it wants finite losses


def test_learning_rates_by_hand() -> None:
    paper = TrainingConfig(  # of d_model 16
        schedule="inverse_sqrt", warmup_steps=4, learning_rate=1 / 8
    )
    for step in range(1, 50):  # equation 3
        expected = 16**-0.5 * min(step**-0.5, step * 4**-1.5)
        assert learning_rate_at(step, paper) == pytest.approx(expected)
    cosine = TrainingConfig(max_steps=110, warmup_steps=10, learning_rate=2.0)
    for step, expected in (
        (1, 0.2),
        (5, 1.0),
        (10, 2.0),  # the peak is the learning rate
        (60, 2 * (0.02 + 0.98 / 2)),  # half way from there to the end
        (110, 0.04),
        (150, 0.04),
    ):
        assert learning_rate_at(step, cosine) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["cosine", "inverse_sqrt"])
@pytest.mark.parametrize("warmup_steps", [1, 7, 20, 30])
def test_peaks_are_the_learning_rate(schedule: Any, warmup_steps: int) -> None:
    config = TrainingConfig(
        max_steps=20, warmup_steps=warmup_steps, schedule=schedule
    )
    rates = [learning_rate_at(step, config) for step in range(1, 41)]
    assert max(rates) == config.learning_rate
    assert rates.index(max(rates)) == warmup_steps - 1


def test_rates_of_averages_are_checked() -> None:
    for betas in (0.9, (0.9, 1.0), (0.9,)):
        with pytest.raises(ValueError, match=r"^betas.* got "):
            TrainingConfig(betas=betas)


def numbered() -> list[Example]:
    """Each example has a token of its own."""
    return [([i + 3] * (i % 4 + 1), [1, 3, 2]) for i in range(31)]


def test_batches_hold_each_example_once_an_epoch() -> None:
    batches = TranslationBatches(numbered(), TrainingConfig(batch_tokens=12))
    n = len(batches)
    orders = []
    for epoch in range(3):
        passed = [batches[epoch * n + i] for i in range(n)]
        firsts = [w for b in passed for w in b.source[:, 0].tolist()]
        assert sorted(firsts) == list(range(3, 34))
        for batch in passed:
            assert batch.source.numel() <= 12
            assert batch.target.numel() <= 12
        orders.append(firsts)
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    one = TranslationBatches(numbered(), CONFIG)
    other = TranslationBatches(numbered(), CONFIG)
    assert one.fingerprint() == other.fingerprint()
    numbers = [0, 40, 3, 41, 0, 99]
    found = [one[i] for i in numbers]
    for i, batch in reversed(list(zip(numbers, found, strict=True))):
        assert torch.equal(other[i].source, batch.source)
    seeded = TranslationBatches(numbered(), replace(CONFIG, seed=1))
    assert seeded.order != TranslationBatches(numbered(), CONFIG).order
    fewer = TranslationBatches(numbered()[1:], CONFIG)
    assert fewer.fingerprint() != one.fingerprint()


def test_no_examples_or_one_too_long() -> None:
    with pytest.raises(ValueError, match=r"^examples must not be empty$"):
        TranslationBatches([], CONFIG)
    with pytest.raises(ValueError, match="batch_tokens must be 30"):
        TranslationBatches([([3], [4] * 30)], CONFIG)


def test_tensors_go_to_a_gpu_in_one_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies: list[Any] = []

    def to(tensor: torch.Tensor, *where: Any, **options: Any) -> torch.Tensor:
        copies.append(options)
        return tensor.clone()

    tensors = [
        torch.arange(6).view(2, 3).T,
        torch.tensor(7),
        torch.empty(0, 2, dtype=torch.long),
        torch.tensor([0.5, -1.0]),
        torch.tensor([[True], [False], [True]]),
    ]
    assert to_device(tensors[:1], CPU)[0] is tensors[0]
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    monkeypatch.setattr(torch.Tensor, "to", to)
    found = to_device(tensors, torch.device("cuda"))
    torch.testing.assert_close([*found], tensors, **EXACTLY)
    assert copies == [{"non_blocking": True}]


class Logged:
    """A source of batches that notes which of them it makes."""

    def __init__(self, batches: Any, log: list[str]) -> None:
        self.batches = batches
        self.log = log

    def __getitem__(self, number: int) -> Any:
        self.log.append(f"make {number}")
        return self.batches[number]


READS = "item tolist cpu numpy __bool__ __int__ __float__ __index__ nonzero"


class Waits(TorchFunctionMode):
    """Notes what would have to wait, were the tensors on a GPU."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.__name__ in READS.split():
            self.log.append("wait")
        return func(*args, **kwargs or {})


class Second(ParallelStrategy):
    rank = 1
    size = 2


@pytest.mark.parametrize(
    ("strategy", "numbers"),
    [(ParallelStrategy(), range(6)), (Second(), (1, 3, 5))],
)
def test_each_batch_is_made_once_and_none_too_many(
    strategy: ParallelStrategy, numbers: Sequence[int]
) -> None:
    log: list[str] = []
    config = replace(CONFIG, max_steps=3, accumulation_steps=2)
    trainer = make_trainer(config, strategy=strategy)
    trainer.batches = Logged(trainer.batches, log)
    take_steps(trainer, 3)
    assert log == [f"make {number}" for number in numbers]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_step_waits_for_a_gpu_once(
    precision: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as on a GPU, where no check looks at values
    monkeypatch.setattr(checks, "is_readable", lambda x: False)
    log: list[str] = []
    config = replace(CONFIG, precision=precision, accumulation_steps=2)
    trainer = make_trainer(config, dropout=0.1)
    made = {i: trainer.batches[i] for i in range(6)}  # on the CPU, always
    trainer.batches = Logged(made, log)
    with Waits(log):
        trainer.step()
        trainer.step()
    # two batches, one ahead, and only then the wait
    makes = [f"make {number}" for number in range(5)]
    assert log == [*makes[:3], "wait", *makes[3:], "wait"]


def test_a_batch_made_ahead_is_used_for_its_number_only() -> None:
    log: list[str] = []
    trainer = make_trainer()
    trainer.batches = Logged(trainer.batches, log)
    trainer.step()
    state = trainer.state_dict()
    assert log == ["make 0", "make 1"]
    trainer.load_state_dict({"losses": torch.zeros(4)})  # batch 4 is next
    trainer.step()
    assert log[2:] == ["make 4", "make 5"]
    trainer.load_state_dict(state)
    trainer.step()
    assert log[4:] == ["make 1", "make 2"]


def test_accumulation_averages_the_batches() -> None:
    config = replace(CONFIG, accumulation_steps=3, max_grad_norm=math.inf)
    trainer = make_trainer(config)
    for number in range(1, 3):
        before = copy.deepcopy(trainer.model)
        loss = trainer.step()
        losses = [
            translation_loss(before, trainer.batches[3 * number - 3 + i])
            for i in range(3)
        ]
        mean = sum(losses, torch.zeros(())) / 3
        assert loss == pytest.approx(mean.item(), rel=1e-5)
        wanted = torch.autograd.grad(mean, list(before.parameters()))
        grads = tuple(p.grad for p in trainer.model.parameters())
        torch.testing.assert_close(grads, wanted, atol=1e-6, rtol=1e-4)


def test_a_step_is_adamw_with_the_rate_and_the_clipping() -> None:
    config = replace(
        CONFIG, max_grad_norm=0.01, weight_decay=0.5, betas=(0.7, 0.8)
    )
    trainer = make_trainer(config)
    model = make_transformer()
    plain = torch.optim.AdamW(
        model.parameters(), betas=(0.7, 0.8), weight_decay=0.5
    )
    for number in range(1, 4):
        trainer.step()
        plain.zero_grad()
        translation_loss(model, trainer.batches[number - 1]).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        assert norm > 0.1  # there was something to clip
        plain.param_groups[0]["lr"] = learning_rate_at(number, config)
        plain.step()
        grads = [p.grad.norm() for p in trainer.model.parameters()]
        clipped = torch.stack(grads).norm().item()
        assert clipped == pytest.approx(0.01, rel=1e-3)
        torch.testing.assert_close(
            trainer.model.state_dict(),
            model.state_dict(),
            atol=1e-5,
            rtol=1e-4,
        )


def test_smoothing_and_dropout_are_used() -> None:
    config = replace(CONFIG, learning_rate=1e-30)
    alone = make_examples(1)  # the same batch every time
    (plain,) = {*take_steps(make_trainer(config, alone), 3).losses}
    smoothed = make_trainer(replace(config, label_smoothing=0.1), alone)
    assert smoothed.step() != plain
    losses = {plain}
    for seed in range(3):
        dropping = make_trainer(replace(config, seed=seed), alone, dropout=0.5)
        losses |= {*take_steps(dropping, 2).losses}
    assert len(losses) == 1 + 3 * 2


def test_an_untrained_model_repeats_what_it_read() -> None:
    """Residuals carry the embedding to the output layer, which it is tied to."""
    model = make_transformer(norm="pre", d_model=96)
    batch = make_batch(make_examples(6), CPU)
    read = batch.target[:, :-1]
    guess = model(batch.source, batch.source_lengths, read).argmax(-1)
    assert torch.equal(guess[read != PAD], read[read != PAD])


def test_the_callers_random_numbers_are_left_alone(unchecked: None) -> None:
    trainer = make_trainer(dropout=0.3)
    validation = TranslationBatches(make_examples(9), CONFIG)
    torch.manual_seed(7)
    random.seed(7)
    before = torch.get_rng_state(), random.getstate()
    take_steps(trainer, 2)
    validation_loss(trainer, validation)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    other = make_trainer(dropout=0.3)
    torch.manual_seed(8)  # nor do they matter to the training
    assert take_steps(other, 2).losses == trainer.losses


@pytest.mark.parametrize("training", [True, False])
def test_validation_loss_is_the_mean_of_targets(training: bool) -> None:
    trainer = make_trainer(replace(CONFIG, label_smoothing=0.3), dropout=0.5)
    model = trainer.model.train(training)
    examples = make_examples(13, seed=1)
    found = validation_loss(trainer, TranslationBatches(examples, CONFIG))
    assert model.training == training
    model.eval()
    losses = [
        (translation_loss(model, make_batch([e], CPU)).item(), len(e[1]) - 1)
        for e in examples
    ]
    n_targets = sum(n for _, n in losses)
    mean = sum(loss * n for loss, n in losses) / n_targets
    assert found == pytest.approx(mean, rel=1e-5)
    assert all(p.grad is None for p in model.parameters())


def spoil_loss(trainer: Trainer) -> Callable[[], None]:
    return trainer.model.target_embedding.register_forward_hook(
        lambda module, inputs, output: output * math.inf
    ).remove


def spoil_gradient(trainer: Trainer) -> Callable[[], None]:
    parameter = next(trainer.model.encoder.parameters())
    return parameter.register_hook(lambda grad: grad * math.inf).remove


@pytest.mark.parametrize("spoil", [spoil_loss, spoil_gradient])
@pytest.mark.parametrize("max_grad_norm", [1.0, math.inf])
def test_it_stops_before_parameters_are_ruined(
    spoil: Callable[[Trainer], Callable[[], None]], max_grad_norm: float
) -> None:
    config = replace(CONFIG, max_grad_norm=max_grad_norm)
    trainer = take_steps(make_trainer(config, dropout=0.1), 3)
    mend = spoil(trainer)
    message = r"^step 4: the loss is .*, the gradient norm (nan|inf)$"
    with unchanged(trainer):
        for _ in range(2):
            with pytest.raises(ArithmeticError, match=message):
                trainer.step()
    mend()
    unspoilt = take_steps(make_trainer(config, dropout=0.1), 5)
    assert_same(take_steps(trainer, 2), unspoilt)


def test_a_gradient_that_overflows_is_scaled_less_down_to_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = make_trainer()
    spoil_gradient(trainer)
    monkeypatch.setattr(trainer.scaler, "get_scale", lambda: 1.0)
    with pytest.raises(ArithmeticError, match=r"gradient norm (nan|inf)$"):
        trainer.step()
    monkeypatch.setattr(trainer.scaler, "get_scale", lambda: 2.0)
    trainer.step()
    spoil_loss(trainer)  # which no scale mends
    with pytest.raises(ArithmeticError, match=r"the loss is (nan|inf)"):
        trainer.step()


def test_bf16_is_close_and_not_the_same() -> None:
    whole = take_steps(make_trainer(), 4)
    half = take_steps(make_trainer(replace(CONFIG, precision="bf16")), 4)
    gaps = [abs(a - b) for a, b in zip(whole.losses, half.losses, strict=True)]
    assert 0 < max(gaps) < 0.1
    assert all(p.dtype == torch.float32 for p in half.model.parameters())


def test_work_that_can_not_be_shared_evenly_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 1)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 3)
    strategy = DataParallel()
    with pytest.raises(ValueError, match="processes, 3, got 4"):
        make_trainer(replace(CONFIG, accumulation_steps=4), None, strategy)
