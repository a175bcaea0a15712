"""Language models: nothing leaks, masks are drawn right, counts add up."""

import math
import random
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attention_book import generate_text
from attention_book.generation.text import fill_blank
from attention_book.models.config import TextConfig
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
    mask_tokens,
)
from attention_book.tokenizers.special_tokens import EOS, PAD
from corpora.ngrams import NGramModel


CONFIG = TextConfig(
    vocab_size=23, max_length=11, d_model=12, n_heads=3, d_ff=28, n_layers=2
)


def make(kind):
    torch.manual_seed(0)
    model = kind(CONFIG).eval()
    with torch.no_grad():  # so that tokens and positions matter
        model.encoder.tokens.weight.normal_()
        model.encoder.positions.table.normal_()
    return model


@pytest.fixture
def causal():
    return make(CausalLanguageModel)


@pytest.fixture
def masked():
    return make(MaskedLanguageModel)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, 22, shape, generator=generator)


@pytest.mark.parametrize("changed", [0, 3, 6])
def test_only_a_causal_model_reads_no_later_token(causal, masked, changed):
    token_ids = draw(2, 7)
    other = token_ids.clone()
    other[:, changed] = 3 + (other[:, changed] - 2) % 19
    before, after = causal(token_ids), causal(other)
    assert before.shape == (2, 7, 23)
    assert_close(before[:, :changed], after[:, :changed])
    changes = (before - after)[:, changed:].abs().amax(dim=-1)
    assert changes.min() > 1e-4  # and every other one reads it
    changes = (masked(token_ids) - masked(other)).abs().amax(dim=-1)
    assert changes.min() > 1e-4


def test_both_models_share_trunk_and_embeddings(causal, masked):
    """One trunk, with the mask as the only difference, and two heads."""
    masked.encoder.load_state_dict(causal.encoder.state_dict())
    token_ids = draw(2, 5)
    table = causal.encoder.tokens.weight
    x = causal.encoder(token_ids, is_causal=True)
    assert_close(causal(token_ids), x @ table.T)
    x = masked.encoder(token_ids)
    x = masked.norm(F.gelu(masked.transform(x)))
    wanted = x @ table.T + masked.bias
    assert_close(masked(token_ids), wanted)
    last = causal.encoder(token_ids[:, :1]), masked.encoder(token_ids[:, :1])
    assert_close(*last)  # of one token, both see the same


# Masking


def mask(token_ids, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return mask_tokens(token_ids, 22, generator, **options)


def within(found, n, p):
    """Whether a count of n draws is within 5 standard deviations."""
    return abs(found - n * p) <= 5 * math.sqrt(n * p * (1 - p))


def test_the_shares_of_masking_are_15_and_80_10_10():
    token_ids = draw(200, 500)
    inputs, labels = mask(token_ids)
    chosen = labels != -100
    n = int(chosen.sum())
    assert within(n, token_ids.numel(), 0.15)
    assert torch.equal(labels[chosen], token_ids[chosen])
    assert torch.equal(inputs[~chosen], token_ids[~chosen])
    is_mask = inputs[chosen] == 22
    assert within(int(is_mask.sum()), n, 0.8)
    # a random token is the right one in 1 of 19 cases
    changed = (inputs[chosen] != token_ids[chosen]) & ~is_mask
    assert within(int(changed.sum()), n, 0.1 * 18 / 19)
    drawn = Counter(inputs[chosen][changed].tolist())
    assert set(drawn) == set(range(3, 22))
    assert all(within(k, drawn.total(), 1 / 19) for k in drawn.values())


def test_special_tokens_and_padding_are_never_chosen_nor_drawn():
    token_ids = draw(50, 40)
    token_ids[:, 0], token_ids[:, 30], token_ids[:, 31:] = 1, EOS, PAD
    inputs, labels = mask(token_ids, mlm_probability=1.0)
    special = token_ids < 3
    assert torch.equal(inputs[special], token_ids[special])
    assert torch.equal(labels != -100, ~special)
    assert inputs[~special].min() >= 3


def test_all_chosen_tokens_can_become_masks_or_stay():
    token_ids = draw(20, 30)
    always = {"mask_replace_prob": 1.0, "random_replace_prob": 0.0}
    inputs, labels = mask(token_ids, **always)
    assert (inputs[labels != -100] == 22).all()
    never = {"mask_replace_prob": 0.0, "random_replace_prob": 0.0}
    assert torch.equal(mask(token_ids, **never)[0], token_ids)
    assert (mask(token_ids, mlm_probability=0.0)[1] == -100).all()


def test_masking_depends_on_its_generator_alone():
    token_ids = draw(5, 7)
    copy = token_ids.clone()
    first = mask(token_ids, seed=3)
    torch.manual_seed(11)
    again = mask(token_ids, seed=3)
    assert torch.equal(token_ids, copy)
    assert torch.equal(first[0], again[0])
    assert not torch.equal(first[0], mask(token_ids, seed=5)[0])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mlm_probability": 1.5}, "from 0 to 1"),
        ({"mask_replace_prob": 0.8, "random_replace_prob": 0.3}, "together"),
        ({"mask_id": 10}, "from 0 to 9, got"),
        ({"mask_id": 3}, "mask_id must be at least 4"),
    ],
)
def test_masking_says_what_is_wrong(options, message):
    arguments = {"mask_id": 22, "generator": torch.Generator()} | options
    with pytest.raises(ValueError, match=message):
        mask_tokens(draw(5, 7), **arguments)


# Generation


def plain(model, prompt, max_length):
    """Greedy, with everything computed again for each token."""
    ids = list(prompt)
    while len(ids) < max_length:
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
        if ids[-1] == EOS:
            break
    return ids


@pytest.mark.parametrize("n_prompt", [1, 5])
def test_cached_generation_equals_plain_generation(causal, n_prompt):
    for seed in range(3):
        prompt = draw(1, n_prompt, seed=seed)[0].tolist()
        found = generate_text(causal, prompt, max_length=11)
        assert found == plain(causal, prompt, 11)
        assert found[:n_prompt] == prompt


def test_generation_stops_at_eos(causal):
    prompt = [1, 5]
    whole = generate_text(causal, prompt, max_length=11, eos_id=None)
    assert len(whole) == 11
    eos_id = whole[4]
    found = generate_text(causal, prompt, max_length=11, eos_id=eos_id)
    assert found == whole[: whole.index(eos_id, 2) + 1]


def test_the_strategy_chooses_each_token(causal):
    logits = []

    def least(found):
        logits.append(found)
        return found.argmin(-1)

    ids = generate_text(
        causal, [1, 5], max_length=7, next_token=least, eos_id=None
    )
    wanted = causal(torch.tensor([ids]))[0, 1:-1]
    assert_close(torch.cat(logits), wanted)
    assert ids[2:] == wanted.argmin(-1).tolist()


@pytest.mark.parametrize(("n_prompt", "max_length"), [(0, 5), (5, 5), (5, 12)])
def test_generation_says_what_does_not_fit(causal, n_prompt, max_length):
    message = f"positions.* prompt of {n_prompt} and max_length {max_length}"
    with pytest.raises(ValueError, match=message):
        generate_text(causal, [5] * n_prompt, max_length=max_length)


def test_blanks_are_filled_with_the_most_probable_tokens(masked):
    token_ids = [1, 5, 22, 7, 22]
    logits = masked(torch.tensor([token_ids]))[0]
    found = fill_blank(masked, token_ids, 22, n_best=22)
    assert len(found) == 2
    for candidates, i in zip(found, (2, 4), strict=True):
        p = logits[i, :22].softmax(-1)  # and never `<mask>`
        ids, shares = zip(*candidates, strict=True)
        assert sorted(ids) == list(range(22))
        assert shares == pytest.approx(p[list(ids)].tolist())
        assert list(shares) == sorted(shares, reverse=True)


def test_blanks_say_what_is_wrong(masked):
    with pytest.raises(ValueError, match="must hold mask_id 22"):
        fill_blank(masked, [1, 5, 7], 22)
    with pytest.raises(ValueError, match="from 0 to 22, got 23"):
        fill_blank(masked, [22, 23], 22)
    with pytest.raises(ValueError, match="n_best must be at least 1"):
        fill_blank(masked, [22], 22, n_best=0)


# n-grams


@pytest.mark.parametrize("n", [1, 2, 5])
def test_probabilities_of_n_grams_add_up_to_one(n):
    rng = random.Random(0)
    token_ids = [int(rng.expovariate(0.5)) % 11 for _ in range(300)]
    model = NGramModel(token_ids, n, 13)
    for length in range(7):
        for _ in range(20):
            context = [rng.randrange(13) for _ in range(length)]
            p = model.probabilities(context)
            assert p.shape == (13,)
            assert p.min() > 0
            assert p.sum().item() == pytest.approx(1)
            used = context[max(0, length - n + 1) :]
            assert torch.equal(p, model.probabilities(used))


def test_a_bigram_model_equals_kneser_and_ney_by_hand():
    """The text a b a c a b d, as 0 1 0 2 0 1 3."""
    model = NGramModel([0, 1, 0, 2, 0, 1, 3], 2, 5)
    # bigrams ab 2, ba 1, ac 1, ca 1, bd 1: D = 4 / (4 + 2 · 1)
    discount = 4 / 6
    # in front of a: b and c; of b: a; of c: a; of d: b. D = 3 / (3 + 2 · 1)
    lower = 3 / 5
    rest = lower * 4 / 5 / 5
    unigram = [(2 - lower) / 5 + rest, *[(1 - lower) / 5 + rest] * 3, rest]
    assert model.probabilities([]).tolist() == pytest.approx(unigram)
    left = discount * 2 / 3  # two different tokens follow a, three times
    wanted = [left * p for p in unigram]
    wanted[1] += (2 - discount) / 3
    wanted[2] += (1 - discount) / 3
    assert model.probabilities([0]).tolist() == pytest.approx(wanted)
    # nothing follows the last token of all, nor one that is not in the text
    assert model.probabilities([3]).tolist() == pytest.approx(unigram)
    assert model.probabilities([4]).tolist() == pytest.approx(unigram)


def test_sentences_begin_with_raw_counts():
    """Three sentences, which all but the first follow a 3."""
    text = [1, 0, 3, 1, 0, 3, 1, 2, 3]
    model = NGramModel(text, 3, 5, bos_id=1)
    # in front of 3: 0 and 2; of 1: 3; of 0 and 2: 1. D = 3 / (3 + 2 · 1)
    rest = 3 / 5 * 4 / 5 / 5
    unigram = [0.4 / 5 + rest] * 3 + [1.4 / 5 + rest, rest]
    # of 03, 31, 23 what is in front counts, and 10 is there 2 times, 12 once
    discount = 4 / (4 + 2 * 1)
    wanted = [discount * 2 / 3 * p for p in unigram]
    wanted[0] += (2 - discount) / 3
    wanted[2] += (1 - discount) / 3
    assert model.probabilities([1]).tolist() == pytest.approx(wanted)
    without = NGramModel(text, 3, 5).probabilities([1])
    assert without[0] == without[2]  # both only ever after 3, 1


def test_n_grams_say_what_is_wrong():
    with pytest.raises(ValueError, match="n must be from 1 to 2 tokens, got"):
        NGramModel([1, 2], 3, 5)
    with pytest.raises(ValueError, match="from 0 to 4, got 1 to 5"):
        NGramModel([1, 5], 1, 5)
