"""attention_book.corpus: what its grammar promises, and its tables."""

import itertools
import random
from collections import defaultdict

import pytest
import torch

from attention_book.corpus import (
    COLOURS,
    END,
    NOUNS,
    NUMBERS,
    PAD,
    PEOPLE,
    PLACES,
    QUALITIES,
    START,
    VERBS,
    Phrase,
    Vocabulary,
    is_held_out,
    make_batches,
    make_split,
    pad,
    sentence,
    statement,
    tokenise,
)


@pytest.fixture(scope="module")
def drawn() -> list[Phrase]:
    rng = random.Random(100)
    return [sentence(rng) for _ in range(20_000)]


@pytest.mark.parametrize("seeds", [range(4), range(50, 54)])
def test_no_sentence_has_two_translations(seeds: range) -> None:
    answers = defaultdict(set)
    for seed in seeds:
        rng = random.Random(seed)
        for _ in range(10_000):
            said = sentence(rng)
            answers[said.english].add(said.chinese)
    assert [e for e, found in answers.items() if len(found) > 1] == []


def test_all_that_it_teaches_occurs(drawn: list[Phrase]) -> None:
    chinese = {word for said in drawn for word in said.chinese.split()}
    measures = {measure for _, measure in NOUNS.values()}
    assert len(measures) >= 20
    assert measures <= chinese
    assert {noun for noun, _ in NOUNS.values()} <= chinese
    assert {verb.chinese for verb in VERBS} <= chinese
    assert set(PEOPLE.values()) | set(NUMBERS.values()) <= chinese
    assert {word for _, word in QUALITIES.values()} <= chinese
    assert set(COLOURS.values()) <= chinese
    wanted = "了 正在 会 不 没有 什么 谁 哪里 吗 比 因为 所以 的 这 那"
    assert set(wanted.split()) <= chinese
    texts = " ".join(said.chinese for said in drawn)
    assert all(place in texts for place in PLACES.values())


def test_every_count_has_its_measure_word(drawn: list[Phrase]) -> None:
    measure_of = dict(NOUNS.values())
    measures = set(measure_of.values())
    for said in drawn:
        words = said.chinese.split()
        for i, word in enumerate(words):
            if word in NUMBERS.values() or word in ("一", "这", "那"):
                measure = words[i + 1]
                assert measure in measures, said
                noun = next(w for w in words[i + 2 :] if w in measure_of)
                assert measure_of[noun] == measure, said
        assert "二" not in words


def test_tenses_have_their_marks(drawn: list[Phrase]) -> None:
    past = {verb.past for verb in VERBS} - {verb.plain for verb in VERBS}
    for said in drawn:
        english, chinese = said.english.split(), said.chinese.split()
        if "because" in english or "that" in english:
            continue
        if set(english) & past:
            assert "了" in chinese, said
        if {"did", "not"} <= set(english):
            assert "没有" in chinese, said
            assert "了" not in chinese, said
        if "will" in english:
            assert "会" in chinese, said
        if {"will", "not"} <= set(english):
            assert chinese[chinese.index("会") - 1] == "不", said
        if any(verb.going in english for verb in VERBS) and (
            "not" not in english
        ):
            assert "正在" in chinese, said


def test_results_are_not_under_way_nor_refused(drawn: list[Phrase]) -> None:
    results = {verb.chinese for verb in VERBS if verb.going == "-"}
    assert results == {"看见", "找到", "弄丢", "弄坏"}
    for said in drawn:
        for before, word in itertools.pairwise(said.chinese.split()):
            assert not (word in results and before in ("正在", "不", "都"))


def test_negation_has_no_doubtful_scope(drawn: list[Phrase]) -> None:
    for said in drawn:
        for clause in said.chinese.split("，"):
            words = clause.split()
            assert not {"都", "不"} <= set(words), said


def test_an_owner_and_an_adjective_share_one_de(drawn: list[Phrase]) -> None:
    describing = {*COLOURS.values(), *(word for _, word in QUALITIES.values())}
    for said in drawn:
        words = said.chinese.split()
        for i, word in enumerate(words[1:-1], start=1):
            if word in describing:
                assert (words[i - 1], words[i + 1]) != ("的", "的"), said


def test_a_and_an_are_right(drawn: list[Phrase]) -> None:
    for said in drawn:
        words = said.english.split()
        for article, following in itertools.pairwise(words):
            if article in ("a", "an"):
                assert (article == "an") == (following[0] in "aeiou"), said


def test_stops_and_spaces_are_tidy(drawn: list[Phrase]) -> None:
    for said in drawn:
        for text in said.english, said.chinese:
            assert text == " ".join(text.split())
            assert not set("{}-") & set(text)
        assert said.english[-1] + said.chinese[-1] in (".。", "?？")


def test_the_sentence_of_the_book_is_in_the_grammar() -> None:
    rng = random.Random(0)
    for _ in range(300_000):
        said = statement(rng, "present")
        if said.english == "Tom chases Jerry":
            assert said.chinese.replace(" ", "") == "汤姆追逐杰瑞"
            return
    pytest.fail("never drawn")


def test_the_split_holds_its_promises() -> None:
    split = make_split(n_train=4000, n_test=200, seed=3)
    assert [len(part) for part in split] == [4000, 200, 200]
    everything = [english for part in split for english, _ in part]
    assert len(set(everything)) == len(everything)
    assert make_split(4000, 200, seed=3) == split
    assert make_split(4000, 200, seed=4) != split

    part_of = {e: i for i, part in enumerate(split) for e, _ in part}
    rng, checked = random.Random(3), set()
    while len(checked) < 2000:
        said = sentence(rng)
        if (part := part_of.get(said.english)) is not None:
            held_out = any(is_held_out(pair) for pair in said.pairs)
            assert held_out == (part == 2)
            checked.add(said.english)


def test_pairs_are_noted_for_what_stands_in_the_sentence() -> None:
    rng, kinds = random.Random(1), set()
    for _ in range(3000):
        said = sentence(rng)
        words = said.english.split()
        for first, noun in said.pairs:
            assert noun in words or f"{noun}s" in words, said
            forms = [v for v in VERBS if v.plain == first]
            kinds.add("verb" if forms else "other")
            if forms:
                assert set(forms[0][:4]) & set(words), said
            else:
                assert first in words, said
    assert kinds == {"verb", "other"}


def test_a_tenth_of_the_pairs_is_held_out_and_no_word_is_lost() -> None:
    for verb in VERBS:
        kept = [n for n in NOUNS if not is_held_out((verb.plain, n))]
        assert len(kept) > len(NOUNS) / 2
    pairs = [(v.plain, n) for v in VERBS for n in NOUNS]
    pairs += [(a, n) for a in (*COLOURS, *QUALITIES) for n in NOUNS]
    share = sum(map(is_held_out, pairs)) / len(pairs)
    assert 0.07 < share < 0.14


def test_a_vocabulary_goes_there_and_back_and_names_the_unknown() -> None:
    vocabulary = Vocabulary(["b a", "c a ."])
    assert len(vocabulary) == 7
    assert vocabulary.words[:3] == ["<pad>", "<start>", "<end>"]
    numbers = vocabulary.encode("c b a .")
    assert vocabulary.decode([START, *numbers, PAD, END, 3]) == "c b a ."
    assert vocabulary.encode("") == []
    with pytest.raises(ValueError, match=r"^unknown words: x y$"):
        vocabulary.encode("a x b y")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Tom chases Jerry.", "Tom chases Jerry ."),
        ("  Is this Tom's?", "Is this Tom 's ?"),
        ("a , b", "a , b"),
        ("", ""),
    ],
)
def test_punctuation_stands_apart(text: str, tokens: str) -> None:
    assert tokenise(text) == tokens


@pytest.mark.parametrize("max_tokens", [9, 20, 1000])
def test_batches_hold_all_once_and_no_more_than_they_may(
    max_tokens: int,
) -> None:
    lengths = [random.Random(i).randint(1, 9) for i in range(200)]
    rng = random.Random(0)
    batches = make_batches(lengths, max_tokens, rng)
    assert sorted(i for batch in batches for i in batch) == list(range(200))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) * longest <= max_tokens
    again = make_batches(lengths, max_tokens, random.Random(0))
    assert again == batches
    assert make_batches(lengths, max_tokens, rng) != batches or (
        max_tokens == 1000
    )


def test_a_sentence_longer_than_a_batch_is_named() -> None:
    with pytest.raises(ValueError, match=r"max_tokens must be 7, .* got 5"):
        make_batches([3, 7], 5, random.Random(0))
    assert make_batches([], 5, random.Random(0)) == []


def test_sentences_are_padded_at_the_end() -> None:
    table, lengths = pad([[5, 6, 7], [8]])
    assert table.tolist() == [[5, 6, 7], [8, PAD, PAD]]
    assert lengths.tolist() == [3, 1]
    assert table.dtype == lengths.dtype == torch.long
