"""The heads for text, their training, and the sentences they learn from."""

import itertools
import random
from collections import Counter
from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score
from torch import nn
from torch.testing import assert_close

from attention_book.data.batches import pad
from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    OWNERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    TIMES,
    VERBS,
)
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.tokenizers.special_tokens import BOS
from attention_book.training.classifiers import (
    TextBatches,
    predict,
    train_classifier,
)
from corpora.tasks.baselines import Alone, BagOfWords, without_positions
from corpora.tasks.sentences import (
    AGENTS,
    ROLES,
    LabelledSentence,
    draw_sentences,
    label_roles,
    swap_names,
)
from experiments.tasks import (
    by_neighbours,
    first_of_agents,
    macro_f1,
    score_agents,
    score_roles,
)
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


# sentences and their roles

LETTERS = {
    "A": "agent",
    "V": "verb",
    "P": "patient",
    "O": "owner",
    "W": "place",
    "T": "time",
    "-": "other",
}
GOLD = """
Tom/A saw/V Jerry/O 's/O cat/P ./-
Jerry/A saw/V Tom/P yesterday/T ./-
they/A will/- not/- wash/V this/P cat/P at/W school/W tomorrow/T ./-
this/- cat/- is/- bigger/- than/- the/P cow/P that/- Tom/A sold/V ./-
the/P book/P that/- Anna/A hid/V is/- lighter/- than/- her/O red/- hat/- ./-
the/P cat/P that/- Tom/A saw/V is/- bigger/- than/- Tom/O 's/O cow/- ./-
he/A hides/V that/P dirty/P hat/P in/W the/W garden/W every/T day/T ./-
I/A am/- not/- chasing/V my/O cat/P at/T this/T moment/T ./-
you/A do/- not/- draw/V our/O black/P horse/P in/W the/W kitchen/W ./-
she/A bought/V twelve/P strange/P hats/P this/T morning/T ./-
what/P did/- Tom/A buy/V last/T week/T ?/-
what/P will/- he/A lose/V ?/-
where/W did/- you/A find/V Mary/O 's/O apple/P ?/-
when/T will/- Peter/A draw/V Lily/P ?/-
did/- we/A break/V your/O clean/P lamp/P ?/-
""".strip().splitlines()


@pytest.mark.parametrize("line", GOLD)
def test_roles_are_those_set_by_hand(line: str) -> None:
    pairs = [word.rsplit("/", 1) for word in line.split()]
    expected = [LETTERS[letter] for _, letter in pairs]
    assert label_roles(" ".join(word for word, _ in pairs)) == expected


PRONOUNS = {"he": "他", "she": "她", "I": "我", "you": "你"}
PRONOUNS |= {"we": "我们", "they": "他们"}
CHINESE_VERBS = {verb.chinese for verb in VERBS}
CHINESE_NOUNS = {chinese for chinese, _ in NOUNS.values()}
CHINESE_ADJECTIVES = {*COLOURS.values(), *(q for _, q in QUALITIES.values())}
PHRASES = {  # of more than one word, or none that stand alone
    **{english: ("place", chinese) for english, chinese in PLACES.items()},
    **{e: ("time", c) for table in TIMES.values() for e, c in table.items()},
    "where": ("place", "在 哪里"),
    "when": ("time", "什么 时候"),
}
TRANSLATIONS = {
    **{form: verb.chinese for verb in VERBS for form in verb[:4]},
    **{f"{noun}s": chinese for noun, (chinese, _) in NOUNS.items()},
    **{noun: chinese for noun, (chinese, _) in NOUNS.items()},
    **{adjective: chinese for adjective, (_, chinese) in QUALITIES.items()},
    **{
        owner.removesuffix(" 's"): chinese for owner, chinese in OWNERS.items()
    },
    **COLOURS,
    **PRONOUNS,
    "what": "什么",
}
Found = Counter[tuple[str, str]]


def roles_of_english(drawn: LabelledSentence) -> Found:
    """Each role with what has it, in Chinese."""
    found: Found = Counter()
    words = [*zip(drawn.english.split(), drawn.roles, strict=True)]
    for role, group in itertools.groupby(words, lambda pair: pair[1]):
        run = [word for word, _ in group]
        if role in ("place", "time"):
            found.update(phrases_of(" ".join(run)))
        elif role != "other":
            found.update(
                (role, TRANSLATIONS[word])
                for word in run
                if word in TRANSLATIONS
            )
    return found


def phrases_of(run: str) -> list[tuple[str, str]]:
    """The places and times that a run of words of one such role is made of."""
    for english, found in PHRASES.items():
        if run == english:
            return [found]
    raise AssertionError(run)


def roles_of_chinese(chinese: str) -> Found:
    """The same, from the Chinese side alone."""
    found: Found = Counter()
    for role, phrase in PHRASES.values():
        if f" {phrase} " in chinese:
            found[role, phrase] += 1
            chinese = chinese.replace(f" {phrase} ", " ")
    words = chinese.split()
    people = {*PEOPLE.values(), *PRONOUNS.values()}
    agent = 0
    for i, word in enumerate(words):
        if word not in people:
            continue
        after = words[i + 1 : i + 3]
        if after[0] == "那" or (after[0] == "的" and after[1] != "？"):
            found["owner", word] += 1
        elif after[0] in ("。", "？", "吗", "的"):
            found["patient", word] += 1
        else:
            found["agent", word] += 1
            agent = i
    verb = next(
        i for i in range(agent, len(words)) if words[i] in CHINESE_VERBS
    )
    found["verb", words[verb]] += 1
    for word in words[verb + 1 :]:
        if word in CHINESE_ADJECTIVES:
            found["patient", word] += 1
        if word in CHINESE_NOUNS or word == "什么":
            found["patient", word] += 1
            break
    return found


@pytest.fixture(scope="module")
def drawn(unchecked_module: None) -> list[LabelledSentence]:
    return draw_sentences(5_000, seed=3)


def test_roles_agree_with_the_chinese(drawn: list[LabelledSentence]) -> None:
    for sentence in drawn:
        expected = roles_of_chinese(sentence.chinese)
        assert roles_of_english(sentence) == expected, sentence


def test_sentences_differ_and_have_one_agent(
    drawn: list[LabelledSentence],
) -> None:
    assert len({sentence.english for sentence in drawn}) == 5_000
    assert len({sentence.chinese for sentence in drawn}) == 5_000
    for english, roles, agent, _ in drawn:
        words = english.split()
        assert len(words) == len(roles)
        assert [*zip(words, roles, strict=True)].count((agent, "agent")) == 1
        assert roles.count("agent") == roles.count("verb") == 1
        assert roles[-1] == "other"
    assert {agent for *_, agent, _ in drawn} == {*AGENTS}
    assert len(AGENTS) == 14
    assert {role for s in drawn for role in s.roles} == {*ROLES}
    assert draw_sentences(7, seed=3) == drawn[:7]
    assert draw_sentences(7, seed=4) != drawn[:7]


def test_names_may_be_agent_patient_or_owner(
    drawn: list[LabelledSentence],
) -> None:
    roles: dict[str, set[str]] = {name: set() for name in PEOPLE}
    for sentence in drawn:
        words = sentence.english.split()
        for word, role in zip(words, sentence.roles, strict=True):
            if word in roles:
                roles[word].add(role)
    assert all(x == {"agent", "patient", "owner"} for x in roles.values())


def test_names_exchanged_are_the_same_words_with_another_agent(
    drawn: list[LabelledSentence],
) -> None:
    n_twins = 0
    for sentence in drawn:
        twin = swap_names(sentence)
        names = {*sentence.english.split()} & {*PEOPLE}
        assert (twin is not None) == (len(names) == 2)
        if twin is None:
            continue
        n_twins += 1
        for text, other in zip(sentence[::3], twin[::3], strict=True):
            assert text != other
            assert sorted(text.split()) == sorted(other.split())
        assert {sentence.agent, twin.agent} == names
        assert label_roles(twin.english) == twin.roles
        assert roles_of_english(twin) == roles_of_chinese(twin.chinese)
        assert swap_names(twin) == sentence
    assert n_twins > 1_000


# what is recorded of them


def test_counting_asks_three_words_then_two_then_one() -> None:
    def labelled(line: str) -> LabelledSentence:
        words = [word.rsplit("/", 1) for word in line.split()]
        english = " ".join(word for word, _ in words)
        return LabelledSentence(english, [role for _, role in words], "", "")

    training = ["a/1 b/2 c/3", "d/4 b/5 c/6", "d/4 b/5 c/6", "d/4 b/7 e/8"]
    test = ["a/ b/ c/", "e/ b/ c/", "d/ b/ a/", "c/ b/ a/", "a/ b/ e/"]
    found = by_neighbours([*map(labelled, training)], [*map(labelled, test)])
    assert "".join(found) == "126" + "856" + "451" + "651" + "178"


def test_the_first_that_could_act_is_found() -> None:
    english = "Anna 's cat is bigger than the cow that Tom sold ."
    assert first_of_agents(english) == "Anna"
    assert first_of_agents("what did he buy ?") == "he"


def test_scores_of_roles_are_by_word_name_and_sentence(
    drawn: list[LabelledSentence],
) -> None:
    test = [s for s in drawn if swap_names(s) is not None][:2]
    right = torch.tensor([ROLES.index(role) for s in test for role in s.roles])
    words = [word for s in test for word in s.english.split()]
    found = right.clone()
    found[next(i for i, word in enumerate(words) if word in PEOPLE)] += 1
    n = len(words)
    n_names = sum(word in PEOPLE for word in words)
    scores = score_roles(found, right, test)
    assert scores["words"] == pytest.approx(1 - 1 / n)
    assert scores["names"] == pytest.approx(1 - 1 / n_names)
    assert scores["sentences"] == 0.5
    assert scores["F1"] == macro_f1(found, right)


def test_scores_of_agents_want_both_of_a_pair() -> None:
    right = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 4, 5])
    found = torch.tensor([0, 1, 9, 9, 0, 1, 2, 9, 9, 9])
    two = torch.tensor([True, True, False, True])
    scores = score_agents(found, right, two, 4)
    assert scores == {
        "all": 0.5,
        "two names": pytest.approx(2 / 3),
        "both": pytest.approx(1 / 3),
    }
