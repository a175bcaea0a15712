"""Both grammars, and the sentences outside the wide one."""

import hashlib
import itertools
import json
import random
from functools import cache

import pytest

from attention_book.data.grammar import Grammar, Phrase, sentence
from attention_book.data.lexicon import NOUNS, NUMBERS
from attention_book.data.split import Split, make_split
from corpora.wide.compounds import refer
from corpora.wide.grammar import make_wide_split, wide_sentence
from corpora.wide.leaks import find_leaks, read_pairs
from corpora.wide.outliers import draw_outliers
from corpora.wide.shapes import shape


pytestmark = pytest.mark.usefixtures("unchecked_module")
each_grammar = pytest.mark.parametrize("grammar", [sentence, wide_sentence])


@cache
def draw(grammar: Grammar) -> list[Phrase]:
    rng = random.Random(100)
    return [grammar(rng) for _ in range(4_000)]


@cache
def split_of(grammar: Grammar) -> Split:
    if grammar is wide_sentence:
        return make_wide_split(n_train=4_000, n_test=200)
    return make_split(n_train=3_000, n_test=300, seed=5)


@each_grammar
def test_no_sentence_has_two_translations(grammar: Grammar) -> None:
    answers: dict[str, str] = {}
    for phrase in draw(grammar):
        chinese = answers.setdefault(phrase.english, phrase.chinese)
        assert chinese == phrase.chinese, phrase


@each_grammar
def test_what_is_read_is_what_was_noted(grammar: Grammar) -> None:
    for phrase in draw(grammar):
        assert read_pairs(phrase.english) == phrase.pairs, phrase


@pytest.mark.parametrize(
    ("english", "pairs"),
    [
        ("the cat chased a red bird .", "chase bird|red bird"),
        ("she bought me a big hat .", "buy hat|big hat"),
        ("did you sell Anna the car that Bob lost ?", "sell car|lose car"),
        ("an apple and a hat are red .", "red apple|red hat"),
        ("the bird that is black chased Tom .", "black bird|chase Tom"),
        ("Tom saw Anna and Bob is dirty .", "see Anna|dirty Bob"),
        ("Tom saw Anna and Bob .", "see Anna|see Bob"),
        ("is that small car in the dirty house clean ?",
         "small car|dirty house|clean car"),
        ("buy a pen , two keys and a hat .",
         "buy pen|buy key|two key|buy hat"),
        ("there are no red cows in my big car .", "red cow|big car"),
        ("when he lost the key , Tom sold the house .",
         "lose key|sell house"),
        ("the big garden is clean .", ""),
        ("what did Tom buy yesterday ?", ""),
        ("the key that Tom found is lighter than Anna 's black pen .",
         "find key|light key|black pen|light pen"),
    ],
)  # fmt: skip
def test_pairs_are_read_from_the_words(english: str, pairs: str) -> None:
    expected = {tuple(pair.split()) for pair in pairs.split("|") if pair}
    assert read_pairs(english) == expected


@each_grammar
def test_no_sentence_of_training_holds_a_held_out_pair(
    grammar: Grammar,
) -> None:
    """Read from the sentences; what the grammar noted does not count."""
    training, sentences, combinations = (
        [english for english, _ in part] for part in split_of(grammar)
    )
    assert find_leaks(training) == []
    assert find_leaks(sentences) == []
    leaky = {english for english, _ in find_leaks(combinations)}
    assert leaky == set(combinations)
    planted = "Tom saw the key that is green ."
    assert find_leaks([*training, planted]) == [(planted, ("green", "key"))]


@each_grammar
def test_the_parts_do_not_overlap_and_tests_are_equally_long(
    grammar: Grammar,
) -> None:
    texts = [[english for english, _ in part] for part in split_of(grammar)]
    assert len({*itertools.chain(*texts)}) == sum(map(len, texts))
    assert [*map(len, texts)] in ([4_000, 200, 200], [3_000, 300, 300])
    _, a, b = ([len(english.split()) for english in part] for part in texts)
    assert sorted(a) == sorted(b)
    assert len(set(a)) > 10


def test_the_wide_training_has_no_narrow_test() -> None:
    """So that "A corpus" may score the same model."""
    training = {english for english, _ in split_of(wide_sentence).train}
    for part in make_split(n_train=1, n_test=1000)[1:]:
        assert not {english for english, _ in part} & training


def test_the_sentences_of_a_seed_never_change() -> None:
    """Saved models and their scores stand on them."""
    for grammar, digest in {
        sentence: "500c072d70c770d4d0c66e81944775e4"
        "fb7af5865aaeaf81f1e58943152b9eec",
        wide_sentence: "eb75e1d810d15ae374f1ab416b262fb0"
        "18708782c421e37f286dfe824d860d1f",
    }.items():
        text = json.dumps(list(split_of(grammar)), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_every_count_has_its_measure_word() -> None:
    measure_of = dict(NOUNS.values())
    for phrase in draw(wide_sentence):
        words = phrase.chinese.split()
        for i, word in enumerate(words[:-1]):
            if word in (*NUMBERS.values(), "一"):
                if words[i + 1] == "个" and "one" in phrase.english.split():
                    continue  # 一 个 小 的, a small one
                nouns = [w for w in words[i + 2 :] if w in measure_of]
                if words[i + 2] not in ("比", "在"):  # 一 只 比 猫 更 大 的 鸟
                    nouns = nouns[:1]
                measures = {measure_of[noun] for noun in nouns}
                assert words[i + 1] in measures, phrase


@pytest.mark.parametrize(
    ("first", "english", "chinese"),
    [
        ("Anna found the keys", "they are in the garden", "它们 在 花园 里"),
        ("Anna found the keys", "Tom bought them", "汤姆 买 了 它们"),
        ("Anna found the key", "Tom bought them", "汤姆 买 了 他们"),
        ("Anna found the keys", "they are friends", "他们 是 朋友"),
        ("Anna found the keys", "they bought them", "他们 买 了 他们"),
    ],
)
def test_they_are_things_where_only_things_were_named(
    first: str, english: str, chinese: str
) -> None:
    second = Phrase(english, chinese.replace("它们", "他们"))
    assert refer(Phrase(first, ""), second) == Phrase(english, chinese)


def test_what_newcomers_type_is_in_the_grammar() -> None:
    known = {shape(phrase.english) for phrase in draw(wide_sentence)}
    typed = ("the cat is black .", "an apple is red .", "Tom found the key .")
    assert {*map(shape, typed)} <= known
    assert shape("open") not in known


def test_outliers_are_in_no_known_shape_and_leak_nothing() -> None:
    sentences = [english for english, _ in split_of(wide_sentence).train]
    outliers = draw_outliers(sentences, 1_500)
    assert len(set(outliers)) == 1_500
    assert not {shape(text) for text in outliers} & {*map(shape, sentences)}
    assert find_leaks(outliers) == []
    assert draw_outliers(sentences, 20) == outliers[:20]
    assert draw_outliers(sentences, 20, seed=1) != outliers[:20]
    words = {word for text in sentences for word in text.split()}
    new = {word for text in outliers for word in text.split()} - words
    assert {"were", "week"} >= new - {"day", "year", "moment"}
    digest = hashlib.sha256("\n".join(outliers).encode()).hexdigest()
    assert digest == (  # the bundled model has learnt from such
        "ccb1e37cf72c5454047908d3ac139a52fb1af93fc370bc614268a4630c024e4d"
    )


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Tom saw a red book .", "Anna found the pen .", False),
        ("Tom bought a red book .", "Anna sold one pen .", True),
        ("he saw me in the garden .", "she chased us at school .", True),
        ("a big apple", "a red and pretty book", False),
        ("a big hat", "a pretty , red book", True),
        ("Tom finds it", "Tom hides it", False),
        ("the cat that is red hid", "my cat hid", True),
        ("the cats that is red hid", "my cats hid", False),
        ("Tom saw them and a key .", "Tom saw her .", True),
    ],
)
def test_shapes(one: str, other: str, alike: bool) -> None:
    assert (shape(one) == shape(other)) is alike
