"""attention_book.corpus: grammar, split, tokenizers, batches."""

import itertools
import random
import runpy

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


@pytest.fixture(scope="module")
def drawn() -> list[Phrase]:
    rng = random.Random(100)
    return [sentence(rng) for _ in range(4_000)]


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
    progressive = {verb.participle for verb in VERBS}
    for phrase in drawn:
        english = {*phrase.english.split()}
        chinese = phrase.chinese.split()
        if english & {"because", "that"}:
            continue
        if english & past:
            assert "了" in chinese, phrase
        if {"did", "not"} <= english:
            assert "没有" in chinese, phrase
            assert "了" not in chinese, phrase
        if "will" in english:
            before = chinese[chinese.index("会") - 1]
            assert (before == "不") or "not" not in english, phrase
        if english & progressive and "not" not in english:
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
    drawn = (statement(rng, "present") for _ in range(100_000))
    (chinese,) = itertools.islice(
        (x.chinese for x in drawn if x.english == "Tom chases Jerry"), 1
    )
    assert chinese.replace(" ", "") == "汤姆追逐杰瑞"


def test_a_split_is_the_same_again_and_shares_no_chinese() -> None:
    split = make_split(2000, 100, seed=3)
    assert split == make_split(2000, 100, seed=3) != make_split(2000, 100)
    assert make_split(7, 2) == make_split(7, 2, seed=0)
    train, *tests = ({chinese for _, chinese in part} for part in split)
    assert not train & set.union(*tests)
    assert any("than" in english.split() for english, _ in split.train)


def test_a_smaller_test_is_a_part_of_the_larger() -> None:
    """Whatever is trained on, so that a part may stand for the whole."""
    large = make_split(n_train=2000, n_test=300)
    small = make_split(n_train=1, n_test=40)
    assert set(small.sentences) < set(large.sentences)
    assert small.combinations == large.combinations[:40]
    assert make_split(n_train=1, n_test=300)[1:] == large[1:]


def test_a_tenth_of_the_pairs_is_held_out_and_no_word_is_lost() -> None:
    verbs = [verb.base for verb in VERBS]
    words = [*verbs, *COLOURS, *QUALITIES]
    held = {word: sum(is_held_out((word, n)) for n in NOUNS) for word in words}
    assert all(held[verb] < len(NOUNS) / 2 for verb in verbs)
    assert 0.07 < sum(held.values()) / len(words) / len(NOUNS) < 0.14


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
        ("He didn't, I don’t.", "He did not , I do not ."),
        ("It won't. Won't it?", "It will not . Will not it ?"),
        ("I can't", "I can not"),
        ("Shan't I? I shan't.", "Shall not I ? I shall not ."),
        ("a cant, a wont", "a cant , a wont"),
        ("Say 'so' or “so”", "Say ' so ' or “ so ”"),
        ("'s 'small", "'s ' small"),
        ("Tom’s\u3000book\t\n", "Tom 's book"),
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


@pytest.mark.parametrize("batch_tokens", [9, 30, 1000])
def test_batches_hold_all_once_and_no_more_than_they_may(
    batch_tokens: int,
) -> None:
    lengths = [random.Random(i).randint(1, 9) for i in range(200)]

    def batches_of(seed: int) -> list[list[int]]:
        return make_batches(lengths, batch_tokens, random.Random(seed))

    batches = batches_of(0)
    assert batches == batches_of(0) != batches_of(1)
    assert sorted(itertools.chain(*batches)) == [*range(200)]
    longest = [max(lengths[i] for i in batch) for batch in batches]
    sizes = [len(b) * n for b, n in zip(batches, longest, strict=True)]
    assert max(sizes) <= batch_tokens
    if batch_tokens == 30:  # of like length, and in no order
        assert sum(sizes) < 1.1 * sum(lengths)
        assert longest != sorted(longest)
        # equally long ones do not always meet the same neighbours
        assert {*map(frozenset, batches)} != {*map(frozenset, batches_of(1))}


def test_a_sentence_longer_than_a_batch_is_named() -> None:
    with pytest.raises(ValueError, match=r"batch_tokens must be 7, .* got 5"):
        make_batches([3, 7], 5, random.Random(0))
    assert make_batches([7], 7, random.Random(0)) == [[0]]
    assert make_batches([], 5, random.Random(0)) == []


def test_sentences_are_padded_at_the_end() -> None:
    token_ids, lengths = pad([[5, 6, 7], [], [8]])
    assert token_ids.tolist() == [[5, 6, 7], [PAD] * 3, [8, PAD, PAD]]
    assert lengths.tolist() == [3, 0, 1]
    assert token_ids.dtype == lengths.dtype == torch.long
    assert pad([[]])[0].shape == (1, 0)
    assert pad([[5]], 3)[0].tolist() == [[5, PAD, PAD]]
