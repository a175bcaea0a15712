"""attention_book.texts: readers, cleaning, subwords."""

import itertools
import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from attention_book.data.cleaning import clean, split_pairs
from attention_book.data.copies import with_copies
from attention_book.data.readers import read_tsv
from attention_book.data.similarity import SimilarTexts, dedup_key
from attention_book.data.sources import (
    both_directions,
    load_corpus,
    train_tokenizers,
)
from attention_book.data.split import make_split
from attention_book.tokenizers.bpe import (
    BPETokenizer,
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.tokenizers.directions import with_direction
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.tokenizers.words import WordTokenizer


GOOD = [("Hello.", "你好。"), ("Go on.", "继续。")]


@pytest.mark.parametrize(
    "content",
    [
        "Hello.\t你好。\r\nGo on.\t继续。\r\n",
        "\ufeffHello.\t你好。\tCC-BY\n\n  \n Go on. \t 继续。",
    ],
)
def test_tab_separated_texts_are_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content.encode())
    assert read_tsv(path) == read_tsv(str(path)) == GOOD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\n\nc\t \n", r":3: wanted source, tab, target, got 'c'$"),
        (b"\tb\n", r":1: wanted source, tab, target, got 'b'$"),
        (b"a\tb\n\xb4\xf2\tc", r": wanted UTF-8, got byte 0xb4 at 4$"),
        (b"x" * 99, r":1: .* got 'x{40}'$"),
    ],
)
def test_a_bad_text_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=f"^{re.escape(str(path))}{message}"
    ) as caught:
        read_tsv(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pair", "cleaned"),
    [
        ((" a\n  b\t", "甲\u3000乙\n"), ("a b", "甲 乙")),
        (("cafe\u0301", "咖啡"), ("café", "咖啡")),
    ],
)
def test_messages_are_normalized(
    pair: tuple[str, str], cleaned: tuple[str, str]
) -> None:
    assert clean([pair]) == [cleaned]


def test_cleaning_keeps_what_can_be_learnt_once() -> None:
    good = ("out of memory", "内存不足")
    for source, target in [
        ("", "空"),
        ("12 %s!", "十二"),  # no word
        ("GNU", "gnu."),  # not translated
        ("word", ""),
        ("a" * 201, "长" * 100),
        ("a" * 190, "长" * 201),
        ("a" * 200, "短"),  # too different
        ("a", "长" * 40),
    ]:
        assert clean([(source, target), good]) == [good], source
    other = ("out  of\u200b memory", "没内存了")
    assert clean([good, other, good]) == [good, ("out of memory", other[1])]
    assert clean([("a" * 200, "长" * 200)]) != []
    assert clean([good], max_length=12) == []
    assert clean([good], max_length=13) == [good]
    assert clean([]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Page 1 of 2", "page %d of %d:"),
        ("STRASSE", "straße"),
        ("e-mail", "Email"),
        ("%-5.2f no", "%2$lu no"),
        ("%(name)s no", "{name} {0:d} no"),
        ("snake_case", "snake case"),
        ("打开 GNU 文件", "打开GNU文件。"),
        ("ＯＫ（好）", "OK (好)"),
    ],
)
def test_trivial_variants_have_one_dedup_key(one: str, other: str) -> None:
    assert dedup_key(one) == dedup_key(other) != dedup_key(f"{other} a")
    for alike in (
        [(one, "甲"), (other, "乙")],
        [("x", one), ("y", other)],
    ):
        for seed in range(9):
            train, test = split_pairs([("else", "别的"), *alike], 1, seed)
            apart = [("else", "别的")] if test[0] in alike else alike
            assert sorted(train) == sorted(apart)


def test_a_split_of_pairs_is_drawn_and_the_same_again() -> None:
    letters = string.ascii_lowercase
    pairs = [(x + y, y + x + y) for x in letters for y in letters]
    train, test = split_pairs(pairs, 50, seed=3)
    assert len(test) == 50
    assert sorted(train + test) == sorted(pairs)
    assert split_pairs(pairs, 50, seed=3) == (train, test)
    assert split_pairs(pairs, 50)[1] != test != pairs[:50]
    assert split_pairs(pairs, 50) == split_pairs(pairs, 50, seed=0)
    everything, none = split_pairs(pairs, 0)
    assert (sorted(everything), none) == (sorted(pairs), [])
    for few, n, got in (
        ([], 0, "0 and 0 of 0"),
        ([("a", "b")] * 9, 1, "0 and 9 of 9"),
        (pairs[:9], 9, "9 and 0 of 9"),
    ):
        with pytest.raises(ValueError, match=f"wanted {n} .*, got {got}"):
            split_pairs(few, n)


def near(one: str, other: str) -> bool:
    """Similarity as the page defines it, counted in the plainest way."""
    a, b = (
        {key[i : i + 3] for i in range(max(1, len(key) - 2))}
        for key in map(dedup_key, (one, other))
    )
    return len(a & b) / len(a | b) >= 0.5


def test_no_near_copy_of_a_test_sentence_is_trained_on() -> None:
    pairs = make_split(600, 1, seed=5).train
    texts = [english for english, _ in pairs]
    similar = SimilarTexts(texts)
    for text in texts[:60]:
        found = [i for i, other in enumerate(texts) if near(text, other)]
        assert similar.near(text) == found
    # what both share, exactly half, is what most texts have
    common = ["abcdefg", "abcdefgxyz", "abcdefguvw", "abcdefghijkl"]
    assert near(common[0], common[3])
    assert SimilarTexts(common).near(common[3]) == [0, 3]
    assert similar.nearest(f"Yes, {texts[7]}") == 7
    assert similar.nearest("汉字") is similar.nearest("") is None
    train, test = split_pairs(pairs, 40, seed=1)
    assert sorted([*train, *test]) == sorted(pairs)
    assert len(test) == 40
    for x, y in test:
        assert not any(near(x, a) or near(y, b) for a, b in train)


def test_near_copies_stay_together_and_large_groups_are_not_drawn() -> None:
    apart = [
        (3 * f"{i:c}{j:c}", 3 * f"{j:c}{i:c}")
        for i in range(97, 117)
        for j in range(117, 122)
    ]
    chain = [
        ("abcdefghij"[i:] + "klmnopqrst"[:i], f"{0x4E00 + i:c}")
        for i in range(11)
    ]
    assert near(chain[0][0], chain[1][0])
    assert not near(chain[0][0], chain[-1][0])
    for seed in range(5):
        train, test = split_pairs(apart + chain, 20, seed)
        assert {*chain} <= {*train}
        train, test = split_pairs(apart + chain[:2], 60, seed)
        assert len({*chain[:2]} & {*test}) in (0, 2)


ODD = [
    "",
    " a  b ",
    "😀👩\u200d👩\u200d👧 é e\u0301",
    "<eos> and <pad><bos>",
    "\0\x01\x7f\x1b[0m",
    "a\n\tb\r\n",
    "汤姆追逐独角兽\ufeff\u3000。",
]


@pytest.fixture(scope="module")
def subwords() -> BPETokenizer:
    texts = ["Tom chases Jerry.", "汤姆追逐杰瑞。", "the end <eos>"] * 5
    return BPETokenizer.train(texts, vocab_size=300)


@pytest.mark.parametrize("text", ODD)
def test_subwords_lose_nothing(subwords: BPETokenizer, text: str) -> None:
    token_ids = subwords.encode(text)
    assert subwords.decode(token_ids) == text
    assert not {PAD, BOS, EOS} & set(token_ids)
    assert all(0 <= token_id < len(subwords) for token_id in token_ids)
    again = tokenizer_from_json(tokenizer_to_json(subwords))
    assert isinstance(again, BPETokenizer)
    assert again.encode(text) == token_ids
    after = token_ids[0] if text else 5  # what stands after EOS is left out
    assert again.decode([BOS, *token_ids, EOS, after]) == text


def test_subwords_learn_pieces_and_never_too_few(
    subwords: BPETokenizer,
) -> None:
    assert 259 < len(subwords) <= 300
    assert len(subwords.encode("chases")) == len(subwords.encode("Tom")) == 1
    assert len(subwords.encode("独")) == 3
    assert len(BPETokenizer.train(["aa bb"] * 9, 259)) == 259
    assert len(BPETokenizer.train(["abc def"], 300)) == 259
    with pytest.raises(ValueError, match=r"be at least 259, got 258$"):
        BPETokenizer.train(["aa bb"], 258)


def test_subwords_are_those_of_the_library() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    texts = [f"{x} {y}" for x, y in make_split(500, 1, seed=3).train]
    texts += ["he'll say Tom's 2026 é 👧 no_one", "  two  spaces\n"]
    ours = BPETokenizer.train(texts, 500)
    theirs = tokenizers.models.BPE(
        {piece.decode("latin-1"): i for piece, i in ours.token_ids.items()},
        [tuple(x.decode("latin-1") for x in pair) for pair in ours.ranks],
    )
    for text in texts:
        parts = [part.decode("latin-1") for part in ours.split(text)]
        found = [token.id for x in parts for token in theirs.tokenize(x)]
        assert ours.encode(text) == found


def test_merges_are_counted_as_by_hand() -> None:
    """Every merge is of a pair that is most frequent, counted anew."""
    texts = [f"{x} {y}" for x, y in make_split(200, 1, seed=4).train]
    ours = BPETokenizer.train(texts, 400)
    counts = Counter(part for text in texts for part in ours.split(text))
    rows = {part: [bytes([byte]) for byte in part] for part in counts}
    for merge in ours.ranks:
        pairs = Counter[tuple[bytes, bytes]]()
        for part, row in rows.items():
            for pair in itertools.pairwise(row):
                pairs[pair] += counts[part]
        assert pairs[merge] == max(pairs.values()) > 1
        for part, row in rows.items():
            text = "\0".join(piece.hex() for piece in row)
            old, new = ("\0".join(x.hex() for x in merge), merge[0] + merge[1])
            joined = f"\0{text}\0"
            while f"\0{old}\0" in joined:
                joined = joined.replace(f"\0{old}\0", f"\0{new.hex()}\0", 1)
            rows[part] = [bytes.fromhex(x) for x in joined.split("\0")[1:-1]]


def test_a_text_may_begin_with_one_prefix() -> None:
    both = BPETokenizer.train(["a b", "b a"], 300, ["<2en>", "<2zh>"])
    plain = both.encode("a b")
    assert both.encode("<2zh>a b") == [4, *plain]
    assert both.encode("<2en>a b") == [3, *plain]
    assert both.encode("a <2en>b")[0] == plain[0]
    assert 3 not in both.encode("<2zh><2en>")
    assert both.decode([4, *plain]) == "a b"
    again = tokenizer_from_json(tokenizer_to_json(both))
    assert again.encode("<2zh>a b") == [4, *plain]
    assert len(again) == len(both)


@pytest.mark.parametrize(
    "merge", [["a"], ["a", "b", "c"], ["a", "no such"], ["a", "汉"]]
)
def test_merges_are_pairs_of_known_pieces(
    subwords: BPETokenizer, merge: list[str]
) -> None:
    saved = json.loads(tokenizer_to_json(subwords))
    saved["merges"].append(merge)
    with pytest.raises(ValueError, match=r"merges must be of|latin-1"):
        tokenizer_from_json(json.dumps(saved))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("I love you.", "<2zh>I love you."),
        ("我爱你。", "<2en>我爱你。"),
        ("我7点见Tom，好吗？", "<2en>我 7 点见 Tom，好吗？"),
        ("我 7 点见 Tom。", "<2en>我 7 点见 Tom。"),
        ("<2en>7", "<2en>7"),
        ("7", "<2zh>7"),
        ("", "<2zh>"),
    ],
)
def test_a_source_says_which_way(text: str, read: str) -> None:
    assert with_direction(text) == read
    assert with_direction(read) == read


def test_pairs_are_used_in_both_directions() -> None:
    pairs = [("I'm 7.", "我7岁。"), ("Hi.", "嗨。")]
    assert both_directions(pairs) == [
        ("<2zh>I'm 7.", "我 7 岁。"),
        ("<2en>我 7 岁。", "I'm 7."),
        ("<2zh>Hi.", "嗨。"),
        ("<2en>嗨。", "Hi."),
    ]
    bare, _ = train_tokenizers(pairs * 9, "a.tsv", 300)
    both, target = train_tokenizers(both_directions(pairs) * 9, "a.tsv", 300)
    assert both is target
    assert both.encode("<2en>嗨。") == [3, *both.encode("嗨。")]
    assert len(bare.encode("<2en>")) > 1


def test_names_and_numbers_are_exchanged_alike_on_both_sides() -> None:
    pairs = [
        ("Tom knows Tom.", "汤姆认识Tom。"),  # two of them
        ("Tomorrow.", "明天汤姆来。"),
        ("Mary is 7.", "玛丽7岁。"),
        ("It cost 500 of 10,000 yen.", "10,000日元里花了500。"),
        ("The 16th of 20.", "20的第16。"),
        ("At 7:45.", "7:45。"),
        ("We met in 2008.", "我们在08年相遇。"),
    ]
    found = with_copies(pairs)
    assert found == with_copies(pairs) != with_copies(pairs, seed=1)
    assert found[: len(pairs)] == pairs
    names = [pair for pair in found[len(pairs) :] if pair[0][0] != "I"]
    mary, *sevens = names
    name = mary[0].split()[0]
    assert name.isalpha()
    assert mary == (f"{name} is 7.", f"{name}7岁。")
    ages = {int(english.split()[2][:-1]) for english, _ in sevens}
    assert sevens == [
        (f"Mary is {n}.", f"玛丽{n}岁。")
        for n in (int(english.split()[2][:-1]) for english, _ in sevens)
    ]
    assert ages <= {*range(2, 10)}
    yen = [pair for pair in found[len(pairs) :] if pair not in names]
    assert len(yen) == len(sevens) == 10
    pattern = r"It cost (\d{3}) of (\d\d,\d{3}) yen\."
    for english, chinese in yen:
        cost = re.fullmatch(pattern, english)
        assert cost
        assert chinese == f"{cost[2]}日元里花了{cost[1]}。"


def test_a_corpus_has_three_parts_that_are_not_alike(tmp_path: Path) -> None:
    path = tmp_path / "pairs.TXT"
    pairs = make_split(400, 1, seed=6).train
    path.write_text("\n".join("\t".join(x) for x in pairs), "utf-8-sig")
    train, validation, tests = load_corpus(str(path))
    (test,) = tests.values()
    assert len(test) == len(validation) == len(pairs) // 10
    assert sorted([*train, *validation, *test]) == sorted(clean(pairs))
    for held_out, rest in (test, train + validation), (validation, train):
        for x, y in held_out:
            assert not any(near(x, a) or near(y, b) for a, b in rest)


@pytest.mark.usefixtures("unchecked")
def test_word_tokenizers_are_saved_as_json_and_others_refused() -> None:
    tokenizer = WordTokenizer.train(['"quoted" \\ 汤姆 é'])
    again = tokenizer_from_json(tokenizer_to_json(tokenizer))
    assert isinstance(again, WordTokenizer)
    assert again.words == tokenizer.words
    assert again.encode("汤姆") == tokenizer.encode("汤姆")
    with pytest.raises(ValueError, match=r"BPETokenizer, got \w*Path$"):
        tokenizer_to_json(Path("a"))
