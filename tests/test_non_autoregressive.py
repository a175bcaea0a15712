"""attention_book.non_autoregressive against a plain computation of the same."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.corpus import BOS, EOS, PAD, pad
from attention_book.non_autoregressive import (
    MaskedTransformer,
    hide,
    lowest,
    mask_predict,
    masked_loss,
    refine,
)
from attention_book.scoring import padding_mask
from attention_book.training import Batch, Trainer, TrainingConfig, make_batch
from attention_book.transformer import TransformerConfig
from tests.twins import randomise


SOURCE = 13
TARGET = 11
LONGEST = 9  # two vocabularies, the longest length
EXAMPLES = [
    ([3, 4, 5, 6, 7], [BOS, 4, 5, 6, 7, 8, 9, 3, EOS]),
    ([8, 9], [BOS, 3, 5, EOS]),
    ([12, 4, 10], [BOS, 9, 8, 7, 6, EOS]),
]
LENGTHS = torch.tensor([7, 2, 4])  # of the translations


def a_model(
    norm: str = "pre", positions: str = "sinusoidal"
) -> MaskedTransformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        source_vocab_size=SOURCE,
        target_vocab_size=TARGET + 1,
        d_model=24,
        n_heads=3,
        d_ff=40,
        n_layers=2,
        dropout=0.0,
        norm=norm,
        positions=positions,
    )
    model = MaskedTransformer(config, max_length=LONGEST).eval()
    randomise(model)
    with torch.no_grad():
        model.fertility.weight.mul_(0.2)
        model.fertility.bias.fill_(1.0)
    return model


def a_batch() -> Batch:
    return make_batch(EXAMPLES, torch.device("cpu"))


def sources() -> tuple[Tensor, Tensor]:
    return pad([source for source, _ in EXAMPLES])


def plain_loss(model: MaskedTransformer, hidden: Tensor) -> Tensor:
    """The loss sentence by sentence, without padding and packing."""
    words = []
    lengths = []
    for (source, target), row in zip(EXAMPLES, hidden, strict=True):
        inside = torch.tensor([target[1:-1]])
        n = inside.shape[1]
        memory = model.encoder(model.source_embedding(torch.tensor([source])))
        read = torch.where(row[None, :n], model.mask_word, inside)
        x = model.decoder(
            model.target_embedding(read), memory, is_causal=False
        )
        logits = (x @ model.target_embedding.tokens.weight.T)[row[None, :n]]
        right = inside[row[None, :n]]
        words += list(F.cross_entropy(logits, right, reduction="none"))
        total = model.fertility(memory).sum()
        each = torch.stack(
            [-2 * (i - total) ** 2 for i in range(1, LONGEST + 1)]
        )
        lengths.append(F.cross_entropy(each, torch.tensor(n - 1)))
    return torch.stack(words).mean() + torch.stack(lengths).mean() / 10


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_loss_and_gradients_equal_a_plain_computation(
    norm: str, positions: str
) -> None:
    model = a_model(norm, positions)
    batch = a_batch()
    generator = torch.Generator().manual_seed(5)
    loss = masked_loss(model, batch, generator=generator)
    hidden = hide(LENGTHS, 8, torch.Generator().manual_seed(5))
    plain = plain_loss(model, hidden)
    torch.testing.assert_close(loss, plain)
    parameters = list(model.parameters())
    for one, other in zip(
        torch.autograd.grad(loss, parameters),
        torch.autograd.grad(plain, parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_smoothing_reaches_the_loss() -> None:
    model = a_model()
    batch = a_batch()
    plain, smooth = (
        masked_loss(model, batch, rate, torch.Generator().manual_seed(5))
        for rate in (0.0, 0.3)
    )
    assert abs(plain - smooth) > 1e-3


def test_hides_from_one_to_all_words_and_no_padding() -> None:
    lengths = torch.tensor([1, 3, 5]).repeat_interleave(2000)
    hidden = hide(lengths, 7, torch.Generator().manual_seed(0))
    real = padding_mask(lengths, 7)[:, 0, 0]
    assert not (hidden & ~real).any()
    for n in (1, 3, 5):
        rows = hidden[lengths == n]
        counts = rows.sum(1).bincount(minlength=n + 1)
        assert counts[0] == 0
        assert counts[1:].min() > 0.8 * 2000 / n
        places = rows.sum(0)[:n]  # each place as often as the others
        assert places.max() < 1.15 * places.min()


def test_training_repeats_itself() -> None:
    losses = []
    for _ in range(2):
        config = TrainingConfig(n_steps=3, batch_tokens=40)
        trainer = Trainer(a_model(), EXAMPLES, config, masked_loss)
        losses.append([trainer.step() for _ in range(3)])
    assert losses[0] == losses[1]
    assert len(set(losses[0])) == 3


def test_lowest_takes_the_first_of_equals() -> None:
    scores = torch.tensor([[0.0, 2.0, 1.0, 0.0], [3.0, 3.0, 3.0, 3.0]])
    wanted = [[True, False, True, True], [True, False, False, False]]
    assert lowest(scores, torch.tensor([3, 1])).tolist() == wanted


def test_scores_of_lengths_peak_at_the_sum_of_fertilities() -> None:
    model = a_model()
    source, lengths = sources()
    memory, mask = model.encode(source, lengths)
    scores = model.score_lengths(memory, mask)
    assert scores.shape == (3, LONGEST)
    other = memory.masked_fill(~mask[:, 0, 0, :, None], 77.0)
    assert torch.equal(model.score_lengths(other, mask), scores)
    with torch.no_grad():
        model.fertility.weight.zero_()
        model.fertility.bias.fill_(1.5)
    scores = model.score_lengths(memory, mask)
    assert (scores.argmax(1) + 1)[1:2].tolist() == [3]  # 2 words of 1.5


@pytest.mark.parametrize("passes", [1, 2, 3, 7, 12])
def test_each_pass_hides_the_right_number(passes: int) -> None:
    model = a_model()
    memory, mask = model.encode(*sources())
    drafts = list(refine(model, memory, mask, LENGTHS, passes))
    assert len(drafts) == passes
    real = torch.arange(7) < LENGTHS[:, None]
    before = None
    for t, draft in enumerate(drafts):
        n = [n * (passes - t) // passes for n in LENGTHS.tolist()]
        assert draft.hidden.sum(1).tolist() == n
        assert not (draft.hidden & ~real).any()
        assert (draft.words[~real] == PAD).all()
        assert (draft.sure[~real] == 0).all()
        assert (draft.sure <= 0).all()
        if before is not None:
            kept = real & ~draft.hidden
            assert torch.equal(draft.words[kept], before.words[kept])
            assert torch.equal(draft.sure[kept], before.sure[kept])
            for row in range(3):  # what is rubbed out was the least sure
                out = before.sure[row][draft.hidden[row]]
                stay = before.sure[row][kept[row]]
                if len(out) and len(stay):
                    assert out.max() <= stay.min()
        before = draft


def test_one_pass_is_the_plain_argmax() -> None:
    model = a_model()
    memory, mask = model.encode(*sources())
    (draft,) = refine(model, memory, mask, LENGTHS, 1)
    for row, n in enumerate(LENGTHS.tolist()):
        alone = torch.tensor([EXAMPLES[row][0]])
        x = model.target_embedding(torch.full((1, n), model.mask_word))
        x = model.decoder(
            x, model.encoder(model.source_embedding(alone)), is_causal=False
        )
        logits = x @ model.target_embedding.tokens.weight.T
        best = logits[0, :, 3:TARGET].argmax(-1) + 3
        assert draft.words[row, :n].tolist() == best.tolist()
        allowed = logits[0, :, 3:TARGET].log_softmax(-1).amax(-1)
        torch.testing.assert_close(draft.sure[row, :n], allowed)


@pytest.mark.parametrize("passes", [1, 3])
def test_never_writes_a_special_word(passes: int) -> None:
    model = a_model()
    special = [PAD, BOS, EOS, model.mask_word]
    source, lengths = sources()
    memory, mask = model.encode(source, lengths)
    with torch.no_grad():  # each of the four would win everywhere
        bias = torch.zeros_like(model.decoder.norm.bias).fill_(30.0)
        model.decoder.norm.bias.copy_(bias)
        model.target_embedding.tokens.weight[special] = 5.0
    *_, draft = refine(model, memory, mask, LENGTHS, passes)
    written = draft.words[torch.arange(7) < LENGTHS[:, None]]
    assert not torch.isin(written, torch.tensor(special)).any()
    found = mask_predict(model, source, lengths, passes=passes, n_lengths=2)
    assert all(3 <= word < TARGET for words in found for word in words)


@pytest.mark.parametrize("n_lengths", [1, 4, LONGEST])
def test_a_batch_equals_one_by_one_and_repeats(n_lengths: int) -> None:
    model = a_model()
    options = {"passes": 3, "n_lengths": n_lengths}
    together = mask_predict(model, *sources(), **options)
    assert together == mask_predict(model, *sources(), **options)
    alone = [
        mask_predict(model, *pad([source]), **options)[0]
        for source, _ in EXAMPLES
    ]
    assert together == alone
    assert len({len(words) for words in together}) > 1


def test_takes_the_best_of_several_lengths() -> None:
    model = a_model()
    source, lengths = sources()
    found = mask_predict(model, source, lengths, passes=2, n_lengths=4)
    memory, mask = model.encode(source, lengths)
    likely = model.score_lengths(memory, mask).log_softmax(-1)
    for row in range(3):
        best = []
        for i in likely[row].topk(4).indices.tolist():
            n = torch.tensor([i + 1])
            one = slice(row, row + 1)
            *_, draft = refine(model, memory[one], mask[one], n, 2)
            score = (likely[row, i] + draft.sure.sum()) / (i + 1)
            best.append((score.item(), draft.words[0].tolist()))
        assert found[row] == max(best)[1]


def test_what_is_decoded_leaves_the_model_and_its_input_alone() -> None:
    model = a_model()
    source, lengths = sources()
    before = source.clone(), lengths.clone()
    found = mask_predict(model, source, lengths, passes=2)
    assert torch.equal(source, before[0])
    assert torch.equal(lengths, before[1])
    assert all(p.grad is None for p in model.parameters())
    assert found == mask_predict(model, source, lengths, passes=2)


def test_errors_name_what_was_wanted() -> None:
    model = a_model()
    source, lengths = sources()
    with pytest.raises(ValueError, match="passes must be positive, got 0"):
        mask_predict(model, source, lengths, passes=0)
    for n in (0, LONGEST + 1):
        wanted = f"n_lengths must be from 1 to {LONGEST}, got {n}"
        with pytest.raises(ValueError, match=wanted):
            mask_predict(model, source, lengths, n_lengths=n)
    for bad in ([5, 0, 3], [5, 2, 6]):
        wanted = rf"sources must have from 1 to 5 words, got \[5, {bad[1]}, "
        with pytest.raises(ValueError, match=wanted):
            mask_predict(model, source, torch.tensor(bad))
    with pytest.raises(ValueError, match=r"from 1 to 5 words, got \[\]"):
        mask_predict(model, source[:0], lengths[:0])
    memory, mask = model.encode(source, lengths)
    with pytest.raises(ValueError, match="translations must have from 1 to 9"):
        list(refine(model, memory, mask, torch.tensor([7, 2, 10]), 1))
    for target in ([BOS, EOS], [BOS, *[3] * 10, EOS]):
        batch = make_batch([([3], target)], torch.device("cpu"))
        with pytest.raises(ValueError, match="translations must have from 1"):
            masked_loss(model, batch)
    with pytest.raises(ValueError, match="max_length must be positive, got 0"):
        MaskedTransformer(model.config, max_length=0)
