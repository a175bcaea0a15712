"""Measures by group, changed images and sentences, and biased corpora."""

import itertools
import random
import re
from collections import Counter, defaultdict

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention_book.data.grammar import sentence
from attention_book.data.split import make_split
from attention_book.evaluation import (
    HEURISTICS,
    NEW_NAMES,
    Inference,
    TracedGrammar,
    accuracy_by_group,
    add_noise,
    add_typos,
    adjust_contrast,
    balance,
    draw_others,
    draw_portraits,
    equalized_odds_difference,
    expected_calibration_error,
    fgsm,
    fit_temperature,
    is_right_but_for_name,
    make_inferences,
    negate,
    rotate,
    shift_images,
    swap_names,
    swap_words,
    total_variation,
    with_counterparts,
    with_new_name,
)
from attention_book.evaluation.occupations import MEN, OCCUPATIONS, WOMEN


def draw_bools(n: int, seed: int) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=rng) < 0.5


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Sentences of the grammar and their translations."""
    rng = random.Random(7)
    phrases = (sentence(rng) for _ in range(60_000))
    return {phrase.english: phrase.chinese for phrase in phrases}


# measures


def test_each_group_has_its_own_accuracy() -> None:
    right = torch.tensor([True, False, True, True, False, False, True])
    groups = [("a", 1), ("b", 0), ("a", 1), ("b", 0), ("b", 0), "c", ("a", 1)]
    found = accuracy_by_group(right, groups)
    assert found == {("a", 1): 1.0, ("b", 0): 1 / 3, "c": 0.0}
    assert list(found) == [("a", 1), ("b", 0), "c"]


def test_accuracy_by_group_averages_to_accuracy() -> None:
    right = draw_bools(101, 0)
    groups = [i % 7 for i in range(101)]
    found = accuracy_by_group(right, groups)
    sizes = Counter(groups)
    total = sum(found[group] * sizes[group] for group in sizes)
    assert total == pytest.approx(right.sum().item())
    assert min(found.values()) <= right.double().mean() <= max(found.values())


def test_equalized_odds_are_the_largest_gap_of_either_rate() -> None:
    predicted, actual = draw_bools(211, 1), draw_bools(211, 2)
    groups = [("x", "y", "z")[i % 3] for i in range(211)]
    rates = defaultdict(list)
    for group, answer in itertools.product("xyz", (True, False)):
        rows = [
            p
            for p, a, g in zip(
                predicted.tolist(), actual.tolist(), groups, strict=True
            )
            if a == answer and g == group
        ]
        rates[answer].append(sum(rows) / len(rows))
    expected = max(max(x) - min(x) for x in rates.values())
    found = equalized_odds_difference(predicted, actual, groups)
    assert found == pytest.approx(expected)


def test_equalized_odds_at_both_ends() -> None:
    actual = torch.tensor([True, True, False, False] * 3)
    groups = ["a", "b"] * 6
    assert equalized_odds_difference(actual, actual, groups) == 0
    is_a = torch.tensor([group == "a" for group in groups])
    assert equalized_odds_difference(is_a, actual, groups) == 1


def test_equalized_odds_see_false_positives_alone() -> None:
    actual = torch.tensor([True, False, True, False])
    predicted = torch.tensor([True, True, True, False])
    found = equalized_odds_difference(predicted, actual, ["a", "a", "b", "b"])
    assert found == 1


@pytest.mark.parametrize("n_bins", [1, 5, 10])
def test_calibration_error_is_that_of_a_loop(n_bins: int) -> None:
    rng = torch.Generator().manual_seed(3)
    confidence = torch.rand(97, generator=rng)
    confidence[0], confidence[1] = 0.0, 1.0
    right = draw_bools(97, 4)
    expected = 0.0
    for m in range(n_bins):
        low, high = m / n_bins, (m + 1) / n_bins
        rows = [
            i
            for i, c in enumerate(confidence.tolist())
            if low <= c < high or (c == 1 and m == n_bins - 1)
        ]
        if rows:
            accuracy = sum(right[i].item() for i in rows) / len(rows)
            mean = sum(confidence[i].item() for i in rows) / len(rows)
            expected += len(rows) / 97 * abs(accuracy - mean)
    found = expected_calibration_error(confidence, right, n_bins)
    assert found == pytest.approx(expected, abs=1e-6)


def test_calibration_error_of_the_certain() -> None:
    right = torch.tensor([True, True, True, False])
    assert expected_calibration_error(torch.ones(4), right) == 0.25
    assert expected_calibration_error(right.float(), right) == 0


def test_temperature_has_the_least_loss() -> None:
    rng = torch.Generator().manual_seed(5)
    logits = 3 * torch.randn(101, 7, generator=rng)
    drawn = (logits / 2.5).softmax(dim=1).multinomial(1, generator=rng)
    labels = drawn.squeeze(1)

    def loss(temperature: float) -> float:
        return cross_entropy(logits / temperature, labels).item()

    best = fit_temperature(logits, labels)
    least = min((0.5 + i / 100 for i in range(500)), key=loss)
    assert best == pytest.approx(least, abs=0.01)
    assert loss(best) <= loss(least) + 1e-6
    assert fit_temperature(4 * logits, labels) == pytest.approx(
        4 * best, rel=1e-3
    )


def test_temperature_at_both_ends() -> None:
    logits, labels = torch.eye(3), torch.arange(3)
    assert fit_temperature(logits, labels) == pytest.approx(0.01, rel=1e-3)
    assert fit_temperature(logits, 2 - labels) > 1
    assert fit_temperature(-logits, labels) == pytest.approx(100, rel=1e-3)


def test_total_variation() -> None:
    p = torch.rand(2, 3, 5).softmax(dim=-1)
    q = torch.rand(2, 3, 5).softmax(dim=-1)
    found = total_variation(p, q)
    assert found.shape == (2, 3)
    least = torch.minimum(p, q).sum(dim=-1)
    assert torch.allclose(found, 1 - least, atol=1e-6)
    eye = torch.eye(5)
    assert total_variation(eye[:4], eye[1:]).tolist() == [1, 1, 1, 1]


# images


@pytest.mark.parametrize(("down", "right"), [(1, 0), (-2, 1), (0, -3), (5, 7)])
def test_shift_is_that_of_a_loop(down: int, right: int) -> None:
    images = torch.rand(2, 3, 5, 7)
    expected = torch.zeros_like(images)
    for i in range(5):
        for j in range(7):
            if 0 <= i + down < 5 and 0 <= j + right < 7:
                expected[..., i + down, j + right] = images[..., i, j]
    assert torch.equal(shift_images(images, down, right), expected)


def test_rotate_by_quarters() -> None:
    images = torch.rand(2, 1, 7, 7)
    for k in range(5):
        expected = images.rot90(k, (2, 3))
        assert torch.allclose(rotate(images, 90.0 * k), expected, atol=1e-5)


def test_rotate_back_and_forth() -> None:
    images = torch.zeros(1, 1, 11, 11)
    images[..., 4:7, 4:7] = 1
    back = rotate(rotate(images, 20.0), -20.0)
    assert back[..., 5, 5].item() == pytest.approx(1, abs=0.02)
    assert images.sum() == 9  # unchanged


def test_noise_has_its_deviation() -> None:
    images = torch.zeros(50, 1, 11, 11)
    found = add_noise(images, 0.3, torch.Generator().manual_seed(0))
    assert found.std().item() == pytest.approx(0.3, rel=0.03)
    again = add_noise(images, 0.3, torch.Generator().manual_seed(0))
    assert torch.equal(found, again)
    assert not images.any()


def test_contrast_keeps_each_mean() -> None:
    images = torch.rand(3, 2, 5, 7)
    half = adjust_contrast(images, 0.5)
    dims = (1, 2, 3)
    assert torch.allclose(half.mean(dim=dims), images.mean(dim=dims))
    spread = half.std(dim=dims) / images.std(dim=dims)
    assert torch.allclose(spread, torch.full((3,), 0.5))
    assert torch.allclose(adjust_contrast(images, 1.0), images, atol=1e-6)


def test_fgsm_on_a_linear_model() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(35, 2))
    images = torch.rand(3, 1, 5, 7)
    labels = torch.tensor([0, 1, 1])
    found = fgsm(model, images, labels, 0.1)
    weight = model[1].weight.detach()
    for i, label in enumerate(labels.tolist()):
        away = (weight[1 - label] - weight[label]).sign().view(1, 5, 7)
        assert torch.allclose(found[i], images[i] + 0.1 * away)
    assert not found.requires_grad
    assert not images.requires_grad
    assert all(p.grad is None for p in model.parameters())


# sentences


def test_changed_sentences_are_the_grammars(drawn: dict[str, str]) -> None:
    for change, least in ((swap_names, 20), (negate, 20)):
        met = 0
        for pair in drawn.items():
            changed = change(pair)
            if changed is None:
                continue
            english, chinese = changed
            assert english != pair[0]
            met += english in drawn
            assert drawn.get(english, chinese) == chinese
        assert met >= least, change


def test_swapping_names_twice_changes_nothing(drawn: dict[str, str]) -> None:
    changed = [(pair, swap_names(pair)) for pair in drawn.items()]
    some = [(a, b) for a, b in changed if b]
    assert len(some) > 5_000
    assert all(swap_names(b) == a for a, b in some)


def test_what_is_negated() -> None:
    for text, wanted in {
        "Tom will buy the book .": "Tom will not buy the book .",
        "I am washing my car now .": "I am not washing my car now .",
        "Tom will not buy the book .": None,
        "Tom will buy a book .": None,
        "who will buy the book .": None,
        "will Tom buy the book ?": None,
        "Tom bought the book .": None,
        "this book is heavy .": None,
    }.items():
        found = negate((text, "会 正在"))
        assert (found and found[0]) == wanted, text


def test_slips_exchange_neighbours() -> None:
    text = "Tom bought a red hat yesterday ."
    words = text.split()
    for seed in range(20):
        found = swap_words(text, random.Random(seed)).split()
        places = [i for i in range(7) if found[i] != words[i]]
        assert len(places) == 2
        i, j = places
        assert j == i + 1 < 6
        assert (found[i], found[j]) == (words[j], words[i])


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_typos_stay_inside_words(n: int) -> None:
    text = "yesterday Tom borrowed a strange umbrella , see ."
    for seed in range(20):
        found = add_typos(text, n, random.Random(seed))
        changed = 0
        for old, new in zip(text.split(), found.split(), strict=True):
            assert sorted(old) == sorted(new)
            assert (old[0], old[-1]) == (new[0], new[-1])
            changed += old != new
        assert changed == min(n, 4)


def test_new_names_leave_a_gap() -> None:
    pair = ("Tom saw Anna 's cat .", "汤姆 看见 了 安娜 的 猫 。")
    english, gapped = with_new_name(pair, NEW_NAMES[0]) or ("", "")
    assert english == "Kate saw Anna 's cat ."
    gapped = gapped.replace(" ", "")
    assert is_right_but_for_name("凯特看见了安娜的猫。", gapped)
    assert is_right_but_for_name("我们看见了安娜的猫。", gapped)
    assert not is_right_but_for_name("看见了安娜的猫。", gapped)
    assert not is_right_but_for_name("凯特看见了鲍勃的猫。", gapped)
    assert with_new_name(("I saw you .", "我 看见 了 你 。"), "Kate") is None


# traces


def test_a_traced_grammar_draws_the_same() -> None:
    traced = make_split(200, 20, seed=3, grammar=TracedGrammar())
    assert traced == make_split(200, 20, seed=3)


def test_neighbours_differ_in_one_word(drawn: dict[str, str]) -> None:
    grammar = TracedGrammar()
    rng = random.Random(0)
    met = 0
    for _ in range(60):
        text = grammar(rng).english
        words = text.split()
        around = grammar.neighbours(text)
        assert len({p.english for p in around}) == len(around) > 5
        for other in around:
            differs = [
                a != b
                for a, b in zip(words, other.english.split(), strict=True)
            ]
            assert sum(differs) == 1
            met += other.english in drawn
            assert drawn.get(other.english, other.chinese) == other.chinese
    assert met > 20


def test_hardly_a_neighbour_is_missing() -> None:
    """Nearly all drawn sentences that differ in one word are neighbours.

    But for those that take two decisions, as another verb in another tense.
    """
    grammar = TracedGrammar()
    rng = random.Random(7)
    for _ in range(20_000):
        grammar(rng)
    with_gap = defaultdict(list)
    for text in grammar.traces:
        words = text.split()
        for i in range(len(words)):
            key = " ".join([*words[:i], "_", *words[i + 1 :]])
            with_gap[key].append(text)
    pairs = [
        pair
        for texts in with_gap.values()
        for pair in itertools.permutations(texts, 2)
    ]
    rng.shuffle(pairs)
    missing = [
        (a, b)
        for a, b in pairs[:1_000]
        if b not in {p.english for p in grammar.neighbours(a)}
    ]
    assert len(missing) < 30


# shortcuts


def facts(premise: str) -> set[str]:
    """What a premise says, by rules of its own."""
    name, verb, animal = r"[A-Z]\w+", r"[a-z]+", r"the [a-z]+"
    found = set()
    text = re.sub(r" , and if .*| ?\.$", "", premise)
    text = text.removeprefix("because ")
    for clause in text.split(" , "):
        for pattern, says in {
            rf"({name}) and ({name}) ({verb}) ({name})": "134 234",
            rf"({name}) ({verb}) ({name}) and ({name})": "123 124",
            rf"({animal}) that ({verb}) ({name}) ({verb}) ({name})": "123 145",
            rf"({name}) ({verb}) ({animal}) that ({name}) ({verb})": "123 453",
            rf"({name}) ({verb}) ({name})": "123",
        }.items():
            if match := re.fullmatch(pattern, clause):
                for places in says.split():
                    parts = (match[int(place)] for place in places)
                    found.add(f"{' '.join(parts)} .")
    return found


def test_labels_are_true() -> None:
    pairs = make_inferences(3_000, 1_000, seed=5)
    assert Counter(pair.follows for pair in pairs) == {
        True: 1_500,
        False: 1_500,
    }
    for pair in pairs:
        assert facts(pair.premise), pair
        assert pair.follows == (pair.hypothesis in facts(pair.premise)), pair


def test_overlap_gives_the_label_away_but_for_counterexamples() -> None:
    function_words = {"the", "and", "that", "."}
    for pair in make_inferences(1_000, 250, seed=6):
        shared = {*pair.hypothesis.split()} & {*pair.premise.split()}
        if pair.heuristic == "no overlap":
            assert shared <= function_words
            assert not pair.follows
            continue
        assert shared == {*pair.hypothesis.split()}
        contiguous = pair.hypothesis[:-2] in pair.premise
        assert contiguous == (pair.heuristic != "lexical overlap")


def pattern(text: str) -> str:
    """A sentence with every name, verb and animal made alike."""
    text = re.sub(r"[A-Z]\w+", "A", text)
    text = re.sub(r"\bthe \w+", "N", text)
    return re.sub(r"\b(?!because|and|if|that)[a-z]+", "v", text)


@pytest.mark.parametrize("n", [0, 30, 100])
@pytest.mark.parametrize("heuristics", [HEURISTICS, HEURISTICS[1:2]])
def test_a_premise_does_not_give_the_label_away(
    n: int, heuristics: tuple[str, ...]
) -> None:
    pairs = make_inferences(300, n, seed=8, heuristics=heuristics)
    by_label = [
        Counter(pattern(p.premise) for p in pairs if p.follows == follows)
        for follows in (True, False)
    ]
    assert by_label[0] == by_label[1]
    assert len(by_label[0]) == 6


def test_counterexamples_have_equal_shares() -> None:
    pairs = make_inferences(1_800, 900, seed=9)
    against = [pair for pair in pairs if not pair.follows]
    assert Counter(pair.heuristic for pair in against) == dict.fromkeys(
        HEURISTICS, 300
    )
    lexical = [
        pattern(pair.premise)
        for pair in against
        if pair.heuristic == "lexical overlap"
    ]
    assert sorted(Counter(lexical).values()) == [60, 60, 60, 120]


def test_counterexamples_of_one_kind() -> None:
    pairs = make_inferences(100, 50, heuristics=["subsequence"])
    against = [pair for pair in pairs if not pair.follows]
    assert {pair.group for pair in against} == {("subsequence", False)}
    assert make_inferences(12, 5) == make_inferences(12, 5)
    assert make_inferences(12, 5) != make_inferences(12, 5, seed=1)
    assert isinstance(pairs[0], Inference)


# names and occupations


def test_the_name_decides_the_pronoun() -> None:
    for portrait in draw_portraits(300, 0.7, seed=2, lot=3):
        assert portrait.english.startswith(f"{portrait.name} is a")
        assert portrait.is_woman == (portrait.name in WOMEN)
        assert ("她" in portrait.chinese) == portrait.is_woman
        assert ("他" in portrait.chinese) != portrait.is_woman
        words = portrait.english.split()
        assert not {"he", "she", "his", "her"} & {*words}
        assert OCCUPATIONS[portrait.occupation] in portrait.chinese
        assert (words[2] == "an") == (words[3][0] in "aeiou")


def test_the_majority_is_as_large_as_asked() -> None:
    portraits = draw_portraits(2_000, 0.9, seed=1, lot=4)
    share = sum(p.is_majority for p in portraits) / 2_000
    assert share == pytest.approx(0.9, abs=0.02)
    by_occupation = defaultdict(set)
    for portrait in portraits:
        usual = portrait.is_woman == portrait.is_majority
        by_occupation[portrait.occupation].add(usual)
    assert Counter(len(usual) for usual in by_occupation.values()) == {1: 10}
    assert Counter(usual.pop() for usual in by_occupation.values()) == {
        True: 5,
        False: 5,
    }


def test_counterparts_change_name_and_pronoun_only() -> None:
    portraits = draw_portraits(100, 0.9, seed=1)
    both = with_counterparts(portraits, random.Random(0))
    assert both[:100] == portraits
    names = WOMEN | MEN
    for old, new in zip(portraits, both[100:], strict=True):
        assert (old.is_woman, old.is_majority) == (
            not new.is_woman,
            not new.is_majority,
        )
        assert old.english.split()[1:] == new.english.split()[1:]
        assert new.english.split()[0] == new.name
        chinese = old.chinese.replace(names[old.name], names[new.name])
        pronouns = "他她" if new.is_woman else "她他"
        assert new.chinese == chinese.replace(*pronouns)


def test_other_sentences_say_nothing_of_pronouns() -> None:
    others = draw_others(200, seed=1)
    assert len({*others}) == 200
    for english, chinese in others:
        name = english.split()[0]
        assert chinese.startswith(f"{(WOMEN | MEN)[name]} ")
        assert not {*"他她"} & {*chinese}
        assert not {*OCCUPATIONS} & {*english.split()}


def test_balance_drops_the_excess() -> None:
    portraits = draw_portraits(500, 0.9, seed=1)
    found = balance(portraits, random.Random(0))
    n = sum(not p.is_majority for p in portraits)
    assert Counter(p.is_majority for p in found) == {True: n, False: n}
    assert {*found} <= {*portraits}
    assert len({*found}) == len(found)


# messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: accuracy_by_group(torch.ones(2) > 0, ["a"]),
            "right and groups must be of one length, not empty, got 2 and 1",
        ),
        (
            lambda: expected_calibration_error(
                torch.tensor([0.5, 1.5]), torch.ones(2) > 0
            ),
            "confidence must be from 0 to 1, got from 0.5 to 1.5",
        ),
        (
            lambda: equalized_odds_difference(
                torch.ones(2) > 0, torch.ones(2) > 0, ["a", "b"]
            ),
            "each group must have both answers in actual, got no False in 'a'",
        ),
        (
            lambda: total_variation(torch.ones(2, 3), torch.ones(3, 2)),
            "p and q must be of one shape, got (2, 3) and (3, 2)",
        ),
        (
            lambda: shift_images(torch.ones(1, 1, 3, 5), 4, 0),
            "down must be from -3 to 3, got 4",
        ),
        (
            lambda: rotate(torch.ones(1, 1, 3, 5), 30.0),
            "images must be square, got 3 by 5",
        ),
        (
            lambda: make_inferences(8, 5),
            "n must be even and at least twice n_counterexamples, got 8 and 5",
        ),
        (
            lambda: make_inferences(5, 2),
            "n must be even and at least twice n_counterexamples, got 5 and 2",
        ),
        (
            lambda: make_inferences(4, heuristics=["overlap"]),
            "heuristics must be some of ('lexical overlap', 'subsequence', "
            "'constituent'), got ['overlap']",
        ),
        (
            lambda: TracedGrammar().neighbours("Tom ."),
            "english must be a sentence drawn before, got 'Tom .'",
        ),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()  # type: ignore[operator]
