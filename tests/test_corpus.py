"""attention_book.corpus: grammar, split, tokenizers, batches."""

import hashlib
import itertools
import json
import random
import runpy
from collections import defaultdict

import pytest
import torch

from attention_book.data.batches import make_batches, pad
from attention_book.data.grammar import Phrase, sentence, statement
from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    QUALITIES,
    VERBS,
)
from attention_book.data.split import is_held_out, make_split
from attention_book.tokenizers.punctuation import detokenize, tokenize
from attention_book.tokenizers.special_tokens import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
)
from attention_book.tokenizers.words import Tokenizer, WordTokenizer
from corpora.wide.leaks import find_leaks, read_pairs


@pytest.fixture(scope="module")
def drawn() -> list[Phrase]:
    rng = random.Random(100)
    return [sentence(rng) for _ in range(8_000)]


def test_no_sentence_has_two_translations(drawn: list[Phrase]) -> None:
    answers = defaultdict(set)
    for phrase in drawn:
        answers[phrase.english].add(phrase.chinese)
    assert [e for e, found in answers.items() if len(found) > 1] == []


def test_every_count_has_its_measure_word(drawn: list[Phrase]) -> None:
    measure_of = dict(NOUNS.values())
    measures = set(measure_of.values())
    for phrase in drawn:
        words = phrase.chinese.split()
        for i, word in enumerate(words):
            if word in NUMBERS.values() or word in ("一", "这", "那"):
                measure = words[i + 1]
                assert measure in measures, phrase
                noun = next(w for w in words[i + 2 :] if w in measure_of)
                assert measure_of[noun] == measure, phrase
        assert "二" not in words


def test_tenses_have_their_marks(drawn: list[Phrase]) -> None:
    past = {verb.past for verb in VERBS} - {verb.base for verb in VERBS}
    for phrase in drawn:
        english = phrase.english.split()
        chinese = phrase.chinese.split()
        if "because" in english or "that" in english:
            continue
        if set(english) & past:
            assert "了" in chinese, phrase
        if {"did", "not"} <= set(english):
            assert "没有" in chinese, phrase
            assert "了" not in chinese, phrase
        if "will" in english:
            assert "会" in chinese, phrase
        if {"will", "not"} <= set(english):
            assert chinese[chinese.index("会") - 1] == "不", phrase
        if any(verb.participle in english for verb in VERBS) and (
            "not" not in english
        ):
            assert "正在" in chinese, phrase


def test_verbs_of_results_are_never_progressive_nor_refused(
    drawn: list[Phrase],
) -> None:
    results = {verb.chinese for verb in VERBS if verb.participle == "-"}
    assert results == {"看见", "找到", "弄丢", "弄坏"}
    for phrase in drawn:
        for before, word in itertools.pairwise(phrase.chinese.split()):
            assert not (word in results and before in ("正在", "不", "都"))


def test_full_stops_articles_and_spaces_are_right(
    drawn: list[Phrase],
) -> None:
    for phrase in drawn:
        for text in phrase.english, phrase.chinese:
            assert text == " ".join(text.split())
            assert not set("{}-") & set(text)
        assert phrase.english[-1] + phrase.chinese[-1] in (".。", "?？")
        for article, following in itertools.pairwise(phrase.english.split()):
            if article in ("a", "an"):
                assert (article == "an") == (following[0] in "aeiou"), phrase


def test_the_sentence_of_the_book_is_in_the_grammar() -> None:
    rng = random.Random(0)
    for _ in range(100_000):
        phrase = statement(rng, "present")
        if phrase.english == "Tom chases Jerry":
            assert phrase.chinese.replace(" ", "") == "汤姆追逐杰瑞"
            return
    pytest.fail("never drawn")


def test_the_split_holds_its_promises() -> None:
    split = make_split(n_train=2000, n_test=100, seed=3)
    assert [len(part) for part in split] == [2000, 100, 100]
    everything = [english for part in split for english, _ in part]
    assert len(set(everything)) == len(everything)
    assert make_split(2000, 100, seed=3) == split
    assert make_split(2000, 100, seed=4) != split
    assert make_split(7, 2) == make_split(7, 2, seed=0)


def test_no_sentence_of_training_holds_a_held_out_pair() -> None:
    """Read from the sentences; what the grammar noted does not count."""
    split = make_split(20_000, 500)
    train, sentences, combinations = (
        [english for english, _ in part] for part in split
    )
    assert find_leaks(train) == []
    assert find_leaks(sentences) == []
    assert {english for english, _ in find_leaks(combinations)} == set(
        combinations
    )
    assert any("than" in english.split() for english in train)
    seen = {chinese for _, chinese in split.train}
    for part in split[1:]:
        assert not seen & {chinese for _, chinese in part}


def test_both_tests_have_equally_long_sentences() -> None:
    _, *tests = make_split(n_train=500, n_test=400, seed=6)
    lengths = [
        sorted(len(english.split()) for english, _ in part) for part in tests
    ]
    assert lengths[0] == lengths[1]
    assert len(set(lengths[0])) > 10


def test_a_smaller_test_is_a_part_of_the_larger() -> None:
    """Whatever is trained on, so that a part may stand for the whole."""
    large = make_split(n_train=2000, n_test=300)
    small = make_split(n_train=1, n_test=40)
    assert set(small.sentences) < set(large.sentences)
    assert small.combinations == large.combinations[:40]
    assert make_split(n_train=1, n_test=300)[1:] == large[1:]


def test_what_is_read_is_what_was_noted(drawn: list[Phrase]) -> None:
    for phrase in drawn:
        assert read_pairs(phrase.english) == phrase.pairs, phrase


def test_the_sentences_of_a_seed_never_change() -> None:
    """Saved models and their scores stand on them."""
    split = make_split(n_train=3000, n_test=300, seed=5)
    text = json.dumps(list(split), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "500c072d70c770d4d0c66e81944775e4fb7af5865aaeaf81f1e58943152b9eec"
    )


def test_a_tenth_of_the_pairs_is_held_out_and_no_word_is_lost() -> None:
    for verb in VERBS:
        kept = [n for n in NOUNS if not is_held_out((verb.base, n))]
        assert len(kept) > len(NOUNS) / 2
    pairs = [(v.base, n) for v in VERBS for n in NOUNS]
    pairs += [(a, n) for a in (*COLOURS, *QUALITIES) for n in NOUNS]
    fraction = sum(map(is_held_out, pairs)) / len(pairs)
    assert 0.07 < fraction < 0.14


def test_encode_and_decode_are_inverse_and_unknown_words_are_named() -> None:
    tokenizer = WordTokenizer.train(["b a", "c a ."])
    assert tokenizer.words == [*SPECIAL_TOKENS, ".", "a", "b", "c"]
    assert SPECIAL_TOKENS == ("<pad>", "<bos>", "<eos>")
    assert (PAD, BOS, EOS) == (0, 1, 2)
    assert isinstance(tokenizer, Tokenizer)
    assert len(tokenizer) == 7
    token_ids = tokenizer.encode("c b a.")
    assert token_ids == [6, 5, 4, 3]
    assert tokenizer.decode([BOS, *token_ids, PAD, EOS, 3]) == "c b a."
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""
    with pytest.raises(ValueError, match=r"^unknown words: x y$"):
        tokenizer.encode("a x b y x a y")


def test_other_capitals_are_taken_only_where_they_must() -> None:
    tokenizer = WordTokenizer.train(["This this may May"])
    this, capital = tokenizer.encode("this This")
    assert this != capital
    assert WordTokenizer.train(["this"]).encode("This THIS") == [3, 3]
    with pytest.raises(ValueError, match="unknown words: THEY"):
        tokenizer.encode("This THEY")


def test_the_picture_shows_what_the_tokenizer_gives() -> None:
    drawn = runpy.run_path("docs/diagrams/corpus.py")
    sentences = drawn["SENTENCES"]
    assert [tokenize(text) for text in sentences] == drawn["TOKENS"]
    tokenizer = WordTokenizer.train(sentences)
    token_ids, _ = pad([tokenizer.encode(text) for text in sentences])
    assert token_ids.tolist() == drawn["IDS"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Tom chases Jerry.", "Tom chases Jerry ."),
        ("  Is this Tom's?", "Is this Tom 's ?"),
        ("a , b", "a , b"),
        ("He didn't, I don’t.", "He did not , I do not ."),
        ("It won't. Won't it?", "It will not . Will not it ?"),
        ("I can't", "I can not"),
        ("Can't you? You can’t!", "Can not you ? You can not !"),
        ("Shan't I? I shan't.", "Shall not I ? I shall not ."),
        ("a cant, a wont", "a cant , a wont"),
        ("Say 'so' or “so”", "Say ' so ' or “ so ”"),
        ("'s 'small", "'s ' small"),
        ("Tom’s\u3000book\t\n", "Tom 's book"),
        ("", ""),
    ],
)
def test_punctuation_stands_apart(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens
    assert tokenize(tokens) == tokens


def test_detokenize_leaves_the_spaces_that_people_type() -> None:
    for tokens, text in [
        ("Is this Tom 's book ?", "Is this Tom's book?"),
        ("so , it is . Wait !", "so, it is. Wait!"),
        ("我 的 书 ， 她 的 吗 ？", "我的书，她的吗？"),
        ("我 有 two 本 书", "我有 two 本书"),
        ("the 'small book", "the 'small book"),
    ]:
        assert detokenize(tokens) == text


def test_tokenize_undoes_detokenize(drawn: list[Phrase]) -> None:
    for phrase in drawn[:500]:
        assert tokenize(detokenize(phrase.english)) == phrase.english
        assert " " not in detokenize(phrase.chinese)


@pytest.mark.parametrize("batch_tokens", [9, 20, 1000])
def test_batches_hold_all_once_and_no_more_than_they_may(
    batch_tokens: int,
) -> None:
    lengths = [random.Random(i).randint(1, 9) for i in range(200)]
    rng = random.Random(0)
    batches = make_batches(lengths, batch_tokens, rng)
    assert sorted(i for batch in batches for i in batch) == list(range(200))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) * longest <= batch_tokens
    again = make_batches(lengths, batch_tokens, random.Random(0))
    assert again == batches
    assert make_batches(lengths, batch_tokens, rng) != batches or (
        batch_tokens == 1000
    )


def test_a_sentence_longer_than_a_batch_is_named() -> None:
    with pytest.raises(ValueError, match=r"batch_tokens must be 7, .* got 5"):
        make_batches([3, 7], 5, random.Random(0))
    assert make_batches([7], 7, random.Random(0)) == [[0]]
    assert make_batches([], 5, random.Random(0)) == []


def test_batches_are_of_like_length_and_in_no_order() -> None:
    lengths = [random.Random(i).randint(1, 9) for i in range(200)]
    batches = make_batches(lengths, 30, random.Random(0))
    positions = sum(len(b) * max(lengths[i] for i in b) for b in batches)
    assert positions < 1.1 * sum(lengths)
    longest = [max(lengths[i] for i in b) for b in batches]
    assert longest != sorted(longest)
    # equally long ones do not always meet the same neighbours
    again = make_batches(lengths, 30, random.Random(1))
    assert {frozenset(b) for b in batches} != {frozenset(b) for b in again}


def test_sentences_are_padded_at_the_end() -> None:
    token_ids, lengths = pad([[5, 6, 7], [], [8]])
    assert token_ids.tolist() == [[5, 6, 7], [PAD] * 3, [8, PAD, PAD]]
    assert lengths.tolist() == [3, 0, 1]
    assert token_ids.dtype == lengths.dtype == torch.long
    assert pad([[]])[0].shape == (1, 0)
    assert pad([[5]], 3)[0].tolist() == [[5, PAD, PAD]]
