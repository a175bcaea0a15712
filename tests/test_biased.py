"""corpora.biased: changed sentences, shortcuts, and occupations."""

import itertools
import random
import re
from collections import Counter, defaultdict

import pytest

from attention_book.data.grammar import sentence
from attention_book.data.split import make_split
from corpora.biased.occupations import (
    MEN,
    OCCUPATIONS,
    WOMEN,
    balance,
    draw_occupations,
    draw_others,
    with_counterparts,
)
from corpora.biased.replays import ReplayableGrammar
from corpora.biased.sentences import (
    NEW_NAMES,
    add_typos,
    is_right_but_for_name,
    negate,
    swap_names,
    swap_words,
    with_new_name,
)
from corpora.biased.shortcuts import HEURISTICS, make_inferences


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Sentences of the grammar and their translations."""
    rng = random.Random(7)
    phrases = (sentence(rng) for _ in range(30_000))
    return {phrase.english: phrase.chinese for phrase in phrases}


# sentences


def test_changed_sentences_are_the_grammars(drawn: dict[str, str]) -> None:
    for change in swap_names, negate:
        met = 0
        for pair in drawn.items():
            changed = change(pair)
            if changed is None:
                continue
            english, chinese = changed
            assert english != pair[0]
            met += english in drawn
            assert drawn.get(english, chinese) == chinese
            if change is swap_names:
                assert swap_names(changed) == pair
        assert met >= 20, change


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
        i = next(k for k in range(7) if found[k] != words[k])
        assert i < 5  # the mark stays at the end
        found[i], found[i + 1] = found[i + 1], found[i]
        assert found == words


@pytest.mark.parametrize("n", [2, 9])
def test_typos_stay_inside_words(n: int) -> None:
    text = "yesterday Tom borrowed a strange umbrella , see ."
    assert add_typos(text, 0, random.Random(0)) == text
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
    traced = make_split(200, 20, seed=3, grammar=ReplayableGrammar())
    assert traced == make_split(200, 20, seed=3)


def test_neighbours_differ_in_one_word(drawn: dict[str, str]) -> None:
    grammar = ReplayableGrammar()
    rng = random.Random(0)
    met = 0
    for _ in range(60):
        text = grammar(rng).english
        words = text.split()
        around = grammar.neighbours(text)
        assert len({p.english for p in around}) == len(around) > 5
        for english, chinese, *_ in around:
            pairs = zip(words, english.split(), strict=True)
            assert sum(a != b for a, b in pairs) == 1
            met += english in drawn
            assert drawn.get(english, chinese) == chinese
    assert met > 20


@pytest.mark.slow
def test_hardly_a_neighbour_is_missing() -> None:
    """Nearly all drawn sentences that differ in one word are neighbours.

    But for those that take two decisions, as another verb in another tense.
    """
    grammar = ReplayableGrammar()
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
    assert sum(pair.follows for pair in pairs) == 1_500
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


@pytest.mark.parametrize("n", [0, 30])
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
    kinds = Counter(pair.heuristic for pair in against)
    assert kinds == dict.fromkeys(HEURISTICS, 300)
    lexical = [p.premise for p in against if p.heuristic == "lexical overlap"]
    patterns = Counter(map(pattern, lexical))
    assert sorted(patterns.values()) == [60, 60, 60, 120]
    pairs = make_inferences(100, 50, heuristics=["subsequence"])
    assert {p.group for p in pairs if not p.follows} == {
        ("subsequence", False)
    }
    assert make_inferences(12, 5) == make_inferences(12, 5)
    assert make_inferences(12, 5) != make_inferences(12, 5, seed=1)


# names and occupations


def test_the_name_decides_the_pronoun() -> None:
    for one in draw_occupations(300, 0.7, seed=2, lot=3):
        assert one.english.startswith(f"{one.name} is a")
        assert one.is_woman == (one.name in WOMEN)
        assert ("她" in one.chinese) == one.is_woman
        assert ("他" in one.chinese) != one.is_woman
        words = one.english.split()
        assert not {"he", "she", "his", "her"} & {*words}
        assert OCCUPATIONS[one.occupation] in one.chinese
        assert (words[2] == "an") == (words[3][0] in "aeiou")


def test_the_majority_is_as_large_as_asked() -> None:
    drawn = draw_occupations(2_000, 0.9, seed=1, lot=4)
    share = sum(p.is_majority for p in drawn) / 2_000
    assert share == pytest.approx(0.9, abs=0.02)
    usual = {(p.occupation, p.is_woman == p.is_majority) for p in drawn}
    assert len(usual) == len({occupation for occupation, _ in usual}) == 10
    assert sum(is_woman for _, is_woman in usual) == 5


def test_counterparts_change_name_and_pronoun_only() -> None:
    drawn = draw_occupations(100, 0.9, seed=1)
    both = with_counterparts(drawn, random.Random(0))
    assert both[:100] == drawn
    names = WOMEN | MEN
    for old, new in zip(drawn, both[100:], strict=True):
        assert old.is_woman != new.is_woman
        assert old.is_majority != new.is_majority
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
    drawn = draw_occupations(500, 0.9, seed=1)
    found = balance(drawn, random.Random(0))
    n = sum(not p.is_majority for p in drawn)
    assert Counter(p.is_majority for p in found) == {True: n, False: n}
    assert {*found} <= {*drawn}
    assert len({*found}) == len(found)
