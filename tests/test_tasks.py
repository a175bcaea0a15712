"""The heads for text, their training, and the sentences they learn from."""

import random
import re
from collections import Counter
from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score
from torch import nn
from torch.testing import assert_close

from attention_book.data.batches import pad
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.tokenizers.special_tokens import BOS
from attention_book.training.classifiers import (
    TextBatches,
    predict,
    train_classifier,
)
from corpora.tasks.baselines import Alone, BagOfWords, without_positions
from corpora.tasks.reviews import Review, make_reviews
from corpora.tasks.sentences import LabelledSentence, draw_sentences
from corpora.tasks.tags import UPOS, tag_words
from corpora.wide.grammar import (
    CONSTRUCTIONS,
    draw_construction,
    wide_sentence,
)
from experiments.tasks import macro_f1
from tests.factories import make_text_config
from tests.torch_state import randomise


N_LABELS = 5
ROWS = [[BOS, 3, 7, 3, 9, 10, 2], [BOS, 8, 4]]


def make(
    kind: type[TokenClassifier] | type[SequenceClassifier],
) -> nn.Module:
    torch.manual_seed(0)
    model = kind(make_text_config(), N_LABELS)
    randomise(model)
    return model.eval()


# heads


def test_heads_label_each_token_or_the_first_for_all() -> None:
    token_ids, lengths = pad(ROWS)
    model = make(TokenClassifier)
    head = model.head
    states = model.encoder(token_ids, lengths)
    found = model(token_ids, lengths)
    assert found.shape == (2, 7, N_LABELS)
    assert_close(found, states @ head.weight.T + head.bias)

    model = make(SequenceClassifier)
    head, pooler = model.head, model.pooler
    first = model.encoder(token_ids, lengths)[:, 0]
    hidden = (first @ pooler.weight.T + pooler.bias).tanh()
    found = model(token_ids, lengths)
    assert found.shape == (2, N_LABELS)
    assert_close(found, hidden @ head.weight.T + head.bias)


def test_without_positions_order_is_lost() -> None:
    """Of tokens the labels move along, of sequences they stay."""
    token_ids = torch.tensor([ROWS[0]])
    order = [0, 4, 1, 6, 3, 2, 5]
    moved = token_ids[:, order]
    for kind in (TokenClassifier, SequenceClassifier):
        model = make(kind)
        assert not torch.allclose(model(token_ids)[0, 0], model(moved)[0, 0])
        without_positions(model)
        expected = model(token_ids)[0]
        if kind is TokenClassifier:
            expected = expected[order]
        assert torch.allclose(model(moved)[0], expected, atol=1e-5)
        loss = model(token_ids).square().sum()
        loss.backward()
        assert model.encoder.positions.table.grad is None


def test_a_bag_is_a_mean_over_real_tokens() -> None:
    bag = BagOfWords(make_text_config(), N_LABELS)
    found = bag(*pad(ROWS))
    for row, tokens in enumerate(ROWS):
        mean = bag.tokens.weight[tokens].mean(dim=0)
        assert torch.allclose(found[row], bag.head(mean), atol=1e-6)


def test_a_token_alone_knows_no_other() -> None:
    found = Alone(make_text_config(), N_LABELS)(*pad(ROWS))
    assert found.shape == (2, 7, N_LABELS)
    assert torch.allclose(found[0, 1], found[0, 3])  # both are token 3


def test_macro_f1_is_that_of_scikit_learn() -> None:
    rng = torch.Generator().manual_seed(0)
    right, other = torch.randint(N_LABELS, (2, 101), generator=rng)
    found = torch.where(torch.rand(101, generator=rng) < 0.6, right, other)
    expected = f1_score(right, found, average="macro")
    assert macro_f1(found, right) == pytest.approx(expected)
    assert macro_f1(right, right) == 1


# training


def test_examples_are_padded_with_labels_to_ignore() -> None:
    examples = [([BOS, 5, 4], [-100, 3, 2]), ([BOS, 7], [-100, 1])]
    batches = TextBatches(examples)
    (token_ids, lengths), labels, n_targets = batches.collate(examples)
    assert token_ids.tolist() == [[BOS, 5, 4], [BOS, 7, 0]]
    assert lengths.tolist() == [3, 2]
    assert labels.tolist() == [[-100, 3, 2], [-100, 1, -100]]
    assert n_targets == 3
    one_each = [([BOS, 5, 4], [3]), ([BOS, 7], [0])]
    _, labels, n_targets = batches.collate(one_each)
    assert (labels.tolist(), n_targets) == ([[3], [0]], 2)


@pytest.mark.parametrize("kind", [TokenClassifier, SequenceClassifier])
def test_a_trained_classifier_knows_its_examples(kind: Any) -> None:
    rng = random.Random(0)
    examples = []
    for length in (3, 4, 5, 6) * 8:
        words = [rng.randrange(3, 13) for _ in range(length)]
        labels = [-100, *(word % 2 for word in words)]
        if kind is SequenceClassifier:
            labels = [words[0] % 2]
        examples.append(([BOS, *words], labels))
    torch.manual_seed(0)
    model = kind(make_text_config(), 2)
    found, right = predict(model, examples)
    assert not torch.equal(found, right)
    assert right.tolist() == [
        label for _, labels in examples for label in labels if label >= 0
    ]
    batches = TextBatches(examples, batch_tokens=40)
    train_classifier(model, batches, n_epochs=20, learning_rate=1e-2)
    assert not model.training
    found, _ = predict(model, examples)
    assert (found == right).double().mean() > 0.95


@pytest.mark.usefixtures("unchecked")
def test_what_can_not_be_trained_is_named() -> None:
    batches = TextBatches([([BOS, 5, 4], [3])])
    with pytest.raises(ValueError, match="n_epochs must be at least 1"):
        train_classifier(make(SequenceClassifier), batches, n_epochs=0)
    with pytest.raises(ValueError, match="examples must not be empty"):
        TextBatches([])


# parts of speech

GOLD = """
that/PRON is/AUX that/DET cat/NOUN ./PUNCT
that/DET one/NOUN is/AUX not/PART red/ADJ ./PUNCT
is/AUX that/DET one/NOUN big/ADJ ?/PUNCT
is/AUX this/PRON one/NUM big/ADJ book/NOUN ?/PUNCT
are/AUX those/PRON books/NOUN ?/PUNCT
are/AUX those/PRON books/NOUN ,/PUNCT Tom/PROPN ?/PUNCT
are/AUX those/DET books/NOUN black/ADJ ?/PUNCT
where/ADV are/AUX those/DET books/NOUN ?/PUNCT
are/AUX these/PRON six/NUM ropes/NOUN that/PRON Tom/PROPN bought/VERB ?/PUNCT
are/AUX these/PRON six/NUM ropes/NOUN she/PRON bought/VERB ?/PUNCT
are/AUX these/DET six/NUM ropes/NOUN in/ADP the/DET garden/NOUN ?/PUNCT
are/AUX these/DET two/NUM books/NOUN Tom/PROPN 's/PART ?/PUNCT
are/AUX these/DET hats/NOUN that/PRON Tom/PROPN bought/VERB black/ADJ ?/PUNCT
was/AUX that/PRON a/DET chair/NOUN ?/PUNCT
is/AUX that/PRON red/ADJ ?/PUNCT
those/PRON are/AUX light/ADJ and/CCONJ big/ADJ ./PUNCT
those/DET light/ADJ and/CCONJ big/ADJ cats/NOUN hid/VERB there/ADV ./PUNCT
Tom/PROPN bought/VERB this/PRON this/DET morning/NOUN ./PUNCT
Tom/PROPN bought/VERB that/PRON last/ADJ week/NOUN ./PUNCT
there/PRON is/VERB a/DET cat/NOUN there/ADV ./PUNCT
in/ADP the/DET garden/NOUN ,/PUNCT there/PRON are/VERB no/DET cats/NOUN ./PUNCT
in/ADP Tom/PROPN 's/PART red/ADJ house/NOUN there/PRON was/VERB one/NUM key/NOUN
Anna/PROPN ,/PUNCT there/PRON were/VERB not/PART books/NOUN ./PUNCT
are/VERB there/PRON cats/NOUN ?/PUNCT
the/DET cat/NOUN there/ADV is/AUX black/ADJ ./PUNCT
is/AUX the/DET cat/NOUN there/ADV black/ADJ ?/PUNCT
in/ADP the/DET house/NOUN is/AUX a/DET cat/NOUN ./PUNCT
no/INTJ ,/PUNCT he/PRON saw/VERB her/PRON red/ADJ one/NOUN ./PUNCT
no/INTJ ./PUNCT
no/INTJ
when/ADV did/AUX he/PRON hide/VERB ?/PUNCT
when/SCONJ he/PRON hid/VERB ,/PUNCT she/PRON did/AUX not/PART see/VERB it/PRON
he/PRON hid/VERB when/SCONJ she/PRON will/AUX see/VERB him/PRON ./PUNCT
buy/VERB her/PRON her/PRON book/NOUN ,/PUNCT please/INTJ !/PUNCT
a/DET cat/NOUN is/AUX bigger/ADJ than/ADP every/DET day/NOUN ./PUNCT
Tom/PROPN hides/VERB because/SCONJ nine/NUM cows/NOUN were/AUX chasing/VERB him/PRON
""".strip().splitlines()


@pytest.mark.parametrize("line", GOLD)
def test_tags_are_those_set_by_hand(line: str) -> None:
    words, tags = zip(*(w.rsplit("/", 1) for w in line.split()), strict=True)
    assert tag_words(" ".join(words)) == [*tags]


@pytest.fixture(scope="module")
def drawn(unchecked_module: None) -> list[LabelledSentence]:
    return draw_sentences(10_000, seed=3)


def test_the_chinese_of_each_sentence_agrees_with_its_tags(
    drawn: list[LabelledSentence],
) -> None:
    for english, tags, kind, chinese in drawn:
        pairs = [*zip(english.split(), tags, strict=True)]
        counts = Counter(pairs)
        zh = chinese.split()
        be = ("is", "was", "are", "were")
        exists = [word for word, tag in pairs if word in be and tag == "VERB"]
        assert counts["there", "ADV"] == zh.count("那里"), english
        assert counts["there", "PRON"] == len(exists) <= 1, english
        if exists:
            assert kind == "existence", english
            assert {"有", "没有"} & {*zh}, english
        asked = chinese.count("什么 时候")
        assert counts["when", "ADV"] == asked, english
        assert counts["when", "SCONJ"] == zh.count("当"), english
        answered = zh[0] == "不" and zh[1:2] != ["要"]
        assert counts["no", "INTJ"] == answered, english


def test_sentences_differ_and_carry_their_labels(
    drawn: list[LabelledSentence],
) -> None:
    assert len({sentence.english for sentence in drawn}) == 10_000
    for english, tags, kind, _ in drawn:
        assert len(english.split()) == len(tags)
        assert {*tags} <= {*UPOS}
        assert kind in CONSTRUCTIONS
    several: dict[str, set[str]] = {}
    for english, tags, *_ in drawn:
        for word, name in zip(english.split(), tags, strict=True):
            several.setdefault(word, set()).add(name)
    assert {word for word in several if len(several[word]) > 1} == {
        *"is was are were this that these those one no there when".split()
    }
    assert draw_sentences(7, seed=3) == draw_sentences(7, seed=3)
    assert draw_sentences(7, seed=4) != draw_sentences(7, seed=3)


def test_the_wide_grammar_draws_these_constructions(
    unchecked_module: None,
) -> None:
    assert len(CONSTRUCTIONS) == 14
    known = {draw_construction(random.Random(s))[0] for s in range(2_000)}
    assert known == {*CONSTRUCTIONS}
    ends = {wide_sentence(random.Random(s)).english[-1] for s in range(200)}
    assert {*".?!"} < ends


# reviews


Reviews = tuple[list[Review], list[Review]]  # to learn from, to test with


@pytest.fixture(scope="module")
def reviews() -> Reviews:
    return make_reviews()


@pytest.mark.parametrize(
    ("text", "form", "is_positive"),
    [
        ("the bed was clean .", "plain", True),
        ("the bed was ugly .", "plain", False),
        ("the bed was not clean .", "negation", False),
        ("the bed was never ugly .", "negation", True),
        ("nobody says the bed was dirty .", "negation", True),
        ("nobody says the bed was not dirty .", "double", False),
        ("the bed was dirty , not clean .", "contrast", False),
        ("the bed was clean , not dirty .", "contrast", True),
        ("the bed was not dirty but clean .", "contrast", True),
        ("the bed was not clean but dirty .", "contrast", False),
    ],
)
def test_verdicts_are_those_given_by_hand(
    text: str, form: str, is_positive: bool, reviews: Reviews
) -> None:
    known = {review.text: review for part in reviews for review in part}
    assert known[text] == Review(text, is_positive, form)


def test_only_contrasts_have_a_twin_with_the_same_words(
    reviews: Reviews,
) -> None:
    for part in reviews:
        assert len({review.text for review in part}) == len(part)
        bags: dict[tuple[str, ...], list[Review]] = {}
        for review in part:
            bag = tuple(sorted(review.text.split()))
            bags.setdefault(bag, []).append(review)
        for same in bags.values():
            if same[0].form == "contrast":
                assert [*sorted(r.is_positive for r in same)] == [False, True]
            else:
                assert len(same) == 1


def test_tests_hold_unseen_combinations_of_known_words(
    reviews: Reviews,
) -> None:
    training, test = reviews
    words = "clean dirty cheap dear lovely ugly safe risky good bad".split()

    def combinations(part: list[Review]) -> set[tuple[str, str]]:
        return {
            (re.findall(r"the (\w+) was", review.text)[0], word)
            for review in part
            for word in words
            if word in review.text.split()
        }

    assert not combinations(training) & combinations(test)
    assert {w for r in test for w in r.text.split()} <= {
        w for r in training for w in r.text.split()
    }
    assert make_reviews(1) != reviews
    assert make_reviews(0) == reviews
