"""attention_book.models.mask_predict against a plain computation of the same."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.data.batches import pad
from attention_book.generation.mask_predict import mask_predict
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
    refine,
)
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.training.loading import make_batch
from attention_book.training.mask_predict import mask_predict_loss, random_mask
from tests.factories import KINDS, make_config
from tests.torch_state import randomise


TARGET_VOCAB_SIZE = 11  # without <mask>
MAX_TARGET_LENGTH = 9
EXAMPLES = [
    ([3, 4, 5, 6, 7], [BOS, 4, 5, 6, 7, 8, 9, 3, EOS]),
    ([8, 9], [BOS, 3, 5, EOS]),
    ([12, 4, 10], [BOS, 9, 8, 7, 6, EOS]),
]
LENGTHS = torch.tensor([7, 2, 4])  # of the translations
SOURCES = pad([source for source, _ in EXAMPLES])
ON_CPU = torch.device("cpu")


def make_masked_config(**changes: Any) -> MaskedTransformerConfig:
    sizes = vars(make_config(target_vocab_size=TARGET_VOCAB_SIZE + 1))
    options = {"norm": "pre", "max_target_length": MAX_TARGET_LENGTH}
    return MaskedTransformerConfig(**sizes | options | changes)


def make_model(**changes: Any) -> MaskedTransformer:
    torch.manual_seed(1)
    model = MaskedTransformer(make_masked_config(**changes)).eval()
    randomise(model)
    with torch.no_grad():
        model.fertility.weight.mul_(0.2)
        model.fertility.bias.fill_(1.0)
    return model


def encoded(model: MaskedTransformer) -> tuple[Tensor, Tensor]:
    """What refine takes: the sources' memory and its mask."""
    return model.encode(*SOURCES)


def plain_logits(
    model: MaskedTransformer, source: list[int], target: Tensor
) -> tuple[Tensor, Tensor]:
    """The logits of each position, and the memory, of one sentence."""
    memory = model.encoder(model.source_embedding(torch.tensor([source])))
    x = model.target_embedding(target[None])
    x = model.decoder(x, memory, is_causal=False)[0]
    return x @ model.target_embedding.tokens.weight.T, memory


def plain_loss(model: MaskedTransformer, masked: Tensor) -> Tensor:
    """The loss sentence by sentence, without padding and packing."""
    token_losses = []
    length_losses = []
    lengths = torch.arange(1, MAX_TARGET_LENGTH + 1)
    for (source, target), row in zip(EXAMPLES, masked, strict=True):
        labels = torch.tensor(target[1:-1])
        n = len(labels)
        x = torch.where(row[:n], model.mask_id, labels)
        logits, memory = plain_logits(model, source, x)
        token_losses.append(
            F.cross_entropy(logits, labels, reduction="none")[row[:n]]
        )
        scores = -2 * (lengths - model.fertility(memory).sum()) ** 2
        length_losses.append(F.cross_entropy(scores, torch.tensor(n - 1)))
    token_loss = torch.cat(token_losses).mean()
    return token_loss + torch.stack(length_losses).mean() / 10


@pytest.mark.parametrize("kind", [*KINDS, {"norm": "post"}])
def test_loss_and_gradients_equal_a_plain_computation(
    kind: dict[str, Any],
) -> None:
    model = make_model(**kind)
    batch = make_batch(EXAMPLES, ON_CPU)
    generator = torch.Generator().manual_seed(5)
    loss = mask_predict_loss(model, batch, generator=generator)
    masked = random_mask(LENGTHS, 8, torch.Generator().manual_seed(5))
    plain = plain_loss(model, masked)
    torch.testing.assert_close(loss, plain)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    expected = torch.autograd.grad(plain, parameters)
    torch.testing.assert_close(gradients, expected, atol=1e-5, rtol=1e-4)
    generator.manual_seed(5)
    assert abs(mask_predict_loss(model, batch, 0.3, generator) - loss) > 1e-3


def test_masks_from_one_to_all_tokens_and_no_padding() -> None:
    for n in (1, 3, 5):
        lengths = torch.full((2000,), n)
        masked = random_mask(lengths, 7, torch.Generator().manual_seed(0))
        assert not masked[:, n:].any()
        counts = masked.sum(1).bincount(minlength=n + 1)
        assert counts[0] == 0
        assert counts[1:].min() > 0.8 * 2000 / n
        positions = masked.sum(0)[:n]  # each as often as the others
        assert positions.max() < 1.15 * positions.min()


def test_scores_of_lengths_peak_at_the_sum_of_fertilities() -> None:
    model = make_model()
    memory, mask = encoded(model)
    scores = model.score_lengths(memory, mask)
    assert scores.shape == (3, MAX_TARGET_LENGTH)
    other = memory.masked_fill(~mask[:, 0, 0, :, None], 77.0)
    assert torch.equal(model.score_lengths(other, mask), scores)
    with torch.no_grad():
        model.fertility.weight.zero_()
        model.fertility.bias.fill_(1.5)
    scores = model.score_lengths(memory, mask)
    assert scores[1].argmax() + 1 == 3  # 2 tokens of 1.5
    fresh = MaskedTransformer(make_masked_config())
    assert fresh.fertility.bias.item() == 1  # a token for a token


@pytest.mark.parametrize("iterations", [1, 3, 7, 12])
def test_each_iteration_masks_the_right_number(iterations: int) -> None:
    model = make_model()
    drafts = list(refine(model, *encoded(model), LENGTHS, iterations))
    assert len(drafts) == iterations
    real = torch.arange(7) < LENGTHS[:, None]
    before = None
    for t, draft in enumerate(drafts):
        k = [n * (iterations - t) // iterations for n in LENGTHS.tolist()]
        assert draft.masked.sum(1).tolist() == k
        assert not (draft.masked & ~real).any()
        assert (draft.token_ids[~real] == PAD).all()
        assert (draft.log_probs[~real] == 0).all()
        assert (draft.log_probs <= 0).all()
        if before is not None:
            kept = real & ~draft.masked
            assert torch.equal(draft.token_ids[kept], before.token_ids[kept])
            assert torch.equal(draft.log_probs[kept], before.log_probs[kept])
            for row in range(3):  # what is masked was the least probable
                again = before.log_probs[row][draft.masked[row]]
                stay = before.log_probs[row][kept[row]]
                if len(again) and len(stay):
                    assert again.max() <= stay.min()
        before = draft


def test_one_iteration_is_the_plain_argmax() -> None:
    model = make_model()
    (draft,) = refine(model, *encoded(model), LENGTHS, 1)
    for row, n in enumerate(LENGTHS.tolist()):
        x = torch.full((n,), model.mask_id)
        logits, _ = plain_logits(model, EXAMPLES[row][0], x)
        allowed = logits[:, 3:TARGET_VOCAB_SIZE]
        assert torch.equal(draft.token_ids[row, :n], allowed.argmax(-1) + 3)
        log_probs = allowed.log_softmax(-1).amax(-1)
        torch.testing.assert_close(draft.log_probs[row, :n], log_probs)


def test_special_tokens_are_never_predicted() -> None:
    model = make_model()
    special = [PAD, BOS, EOS, model.mask_id]
    memory, mask = encoded(model)
    with torch.no_grad():  # each of the four would win everywhere
        model.decoder.norm.bias.fill_(30.0)
        model.target_embedding.tokens.weight[special] = 5.0
    for draft in refine(model, memory, mask, LENGTHS, 3):
        predicted = draft.token_ids[torch.arange(7) < LENGTHS[:, None]]
        assert not torch.isin(predicted, torch.tensor(special)).any()
    found = mask_predict(model, *SOURCES, iterations=3, n_lengths=2)
    assert all(3 <= i < TARGET_VOCAB_SIZE for row in found for i in row)


@pytest.mark.parametrize("n_lengths", [1, 4, MAX_TARGET_LENGTH + 1])
def test_a_batch_equals_one_by_one_and_repeats(n_lengths: int) -> None:
    model = make_model()
    options = {"iterations": 3, "n_lengths": n_lengths}
    together = mask_predict(model, *SOURCES, **options)
    assert together == mask_predict(model, *SOURCES, **options)
    for (source, _), found in zip(EXAMPLES, together, strict=True):
        assert mask_predict(model, *pad([source]), **options) == [found]
    assert len({len(token_ids) for token_ids in together}) > 1


@pytest.mark.parametrize("is_flat", [False, True])
def test_takes_the_best_of_several_lengths(
    is_flat: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    if is_flat:  # all lengths are equally likely
        flat = torch.zeros(3, MAX_TARGET_LENGTH)
        monkeypatch.setattr(model, "score_lengths", lambda *_: flat)
    found = mask_predict(model, *SOURCES, iterations=2, n_lengths=4)
    memory, mask = encoded(model)
    likely = model.score_lengths(memory, mask).log_softmax(-1)
    shortest = []
    for row in range(3):
        best = []
        for i in likely[row].topk(4).indices.tolist():
            n = torch.tensor([i + 1])
            one = slice(row, row + 1)
            *_, draft = refine(model, memory[one], mask[one], n, 2)
            score = (likely[row, i] + draft.log_probs.sum()) / (i + 1)
            best.append((score.item(), draft.token_ids[0].tolist()))
        assert found[row] == max(best)[1]
        shortest.append(min(len(token_ids) for _, token_ids in best))
    assert [*map(len, found)] != shortest  # as it would be of sums


def test_it_translates_under_autocast() -> None:
    with torch.autocast("cpu"):
        assert len(mask_predict(make_model(), *SOURCES)) == 3


def test_errors_name_what_was_wanted() -> None:
    model = make_model()
    source, lengths = SOURCES
    with pytest.raises(ValueError, match="iterations must be at least 1"):
        mask_predict(model, source, lengths, iterations=0)
    with pytest.raises(ValueError, match=r"lengths must be from 1 to 5, got"):
        mask_predict(model, source, torch.tensor([5, 0, 3]))
    with pytest.raises(ValueError, match="number of sentences must be"):
        mask_predict(model, source[:0], lengths[:0])
    wanted = "target lengths must be from 1 to 9, got "
    with pytest.raises(ValueError, match=wanted):
        list(refine(model, *encoded(model), torch.tensor([7, 2, 10]), 1))
    for n in 0, 10:
        batch = make_batch([([3], [BOS, *[3] * n, EOS])], ON_CPU)
        with pytest.raises(ValueError, match=wanted):
            mask_predict_loss(model, batch)
    with pytest.raises(ValueError, match="max_target_length must be a who"):
        make_masked_config(max_target_length=0)
