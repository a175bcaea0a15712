"""attention_book.corpus: what its grammar promises, and its tables."""

import itertools
import json
import random
import struct
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import torch

from attention_book.corpus import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    Phrase,
    WordTokenizer,
    detokenize,
    is_held_out,
    make_batches,
    make_split,
    pad,
    sentence,
    tokenize,
)
from attention_book.corpus.grammar import statement
from attention_book.corpus.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    VERBS,
)
from attention_book.texts import (
    BPETokenizer,
    clean,
    read_catalogues,
    read_dataset,
    read_tsv,
    split_pairs,
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.texts.cleaning import core, normalize_message


@pytest.fixture(scope="module")
def drawn() -> list[Phrase]:
    rng = random.Random(100)
    return [sentence(rng) for _ in range(8_000)]


@pytest.mark.parametrize("seeds", [range(2), range(50, 52)])
def test_no_sentence_has_two_translations(seeds: range) -> None:
    answers = defaultdict(set)
    for seed in seeds:
        rng = random.Random(seed)
        for _ in range(5_000):
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
        english = said.english.split()
        chinese = said.chinese.split()
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
    for _ in range(100_000):
        said = statement(rng, "present")
        if said.english == "Tom chases Jerry":
            assert said.chinese.replace(" ", "") == "汤姆追逐杰瑞"
            return
    pytest.fail("never drawn")


def test_the_split_holds_its_promises() -> None:
    split = make_split(n_train=2000, n_test=100, seed=3)
    assert [len(part) for part in split] == [2000, 100, 100]
    everything = [english for part in split for english, _ in part]
    assert len(set(everything)) == len(everything)
    assert make_split(2000, 100, seed=3) == split
    assert make_split(2000, 100, seed=4) != split

    part_of = {e: i for i, part in enumerate(split) for e, _ in part}
    rng = random.Random(3)
    checked = set()
    while len(checked) < 700:
        said = sentence(rng)
        if (part := part_of.get(said.english)) is not None:
            held_out = any(is_held_out(pair) for pair in said.pairs)
            assert held_out == (part == 2)
            checked.add(said.english)


def test_pairs_are_noted_for_what_stands_in_the_sentence() -> None:
    rng = random.Random(1)
    kinds = set()
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
    vocabulary = WordTokenizer.train(["b a", "c a ."])
    assert vocabulary.words == [*SPECIAL_TOKENS, ".", "a", "b", "c"]
    assert SPECIAL_TOKENS == ["<pad>", "<bos>", "<eos>"]
    assert len(vocabulary) == 7
    numbers = vocabulary.encode("c b a.")
    assert numbers == [6, 5, 4, 3]
    assert vocabulary.decode([BOS, *numbers, PAD, EOS, 3]) == "c b a."
    assert vocabulary.encode("") == []
    assert vocabulary.decode([]) == ""
    with pytest.raises(ValueError, match=r"^unknown words: x y$"):
        vocabulary.encode("a x b y x a y")


def test_a_vocabulary_takes_other_capitals_only_where_it_must() -> None:
    vocabulary = WordTokenizer.train(["This this may May"])
    this, capital = vocabulary.encode("this This")
    assert this != capital
    assert WordTokenizer.train(["this"]).encode("This THIS") == [3, 3]
    with pytest.raises(ValueError, match="unknown words: THEY"):
        vocabulary.encode("This THEY")


def test_chinese_is_written_without_spaces() -> None:
    vocabulary = WordTokenizer.train(["汤姆 追逐 杰瑞 。"])
    numbers = vocabulary.encode("汤姆 追逐 杰瑞 。")
    assert vocabulary.decode(numbers) == "汤姆追逐杰瑞。"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Tom chases Jerry.", "Tom chases Jerry ."),
        ("  Is this Tom's?", "Is this Tom 's ?"),
        ("a , b", "a , b"),
        ("He didn't, I don’t.", "He did not , I do not ."),
        ("It won't. Won't it?", "It will not . Will not it ?"),
        ("I can't", "I can not"),
        ("Say 'so' or “so”", "Say ' so ' or “ so ”"),
        ("'s 'small", "'s ' small"),
        ("Tom’s\u3000book\t\n", "Tom 's book"),
        ("", ""),
    ],
)
def test_punctuation_stands_apart(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens
    assert tokenize(tokens) == tokens


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("Is this Tom 's book ?", "Is this Tom's book?"),
        ("so , it is . Wait !", "so, it is. Wait!"),
        ("我 的 书 ， 她 的 吗 ？", "我的书，她的吗？"),
        ("我 有 two 本 书", "我有 two 本书"),
        ("the 'small book", "the 'small book"),
        ("", ""),
    ],
)
def test_tokens_are_written_as_people_do(tokens: str, text: str) -> None:
    assert detokenize(tokens) == text


def test_writing_undoes_cutting(drawn: list[Phrase]) -> None:
    for said in drawn[:500]:
        assert tokenize(detokenize(said.english)) == said.english
        assert " " not in detokenize(said.chinese)


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
    places = sum(len(b) * max(lengths[i] for i in b) for b in batches)
    assert places < 1.1 * sum(lengths)
    longest = [max(lengths[i] for i in b) for b in batches]
    assert longest != sorted(longest)
    # equally long ones do not always meet the same neighbours
    again = make_batches(lengths, 30, random.Random(1))
    assert {frozenset(b) for b in batches} != {frozenset(b) for b in again}


def test_an_empty_sentence_is_all_padding() -> None:
    table, lengths = pad([[], [5, 6]])
    assert table.tolist() == [[PAD, PAD], [5, 6]]
    assert lengths.tolist() == [0, 2]
    assert pad([[]])[0].shape == (1, 0)
    assert make_batches([0, 3, 0], 3, random.Random(0)) in (
        [[0, 2, 1]],
        [[2, 0, 1]],
        [[0, 2], [1]],
        [[2, 0], [1]],
        [[1], [0, 2]],
        [[1], [2, 0]],
    )


def test_sentences_are_padded_at_the_end() -> None:
    table, lengths = pad([[5, 6, 7], [8]])
    assert table.tolist() == [[5, 6, 7], [8, PAD, PAD]]
    assert lengths.tolist() == [3, 1]
    assert table.dtype == lengths.dtype == torch.long


def write_mo(path: Path, messages: dict[str, str], charset: str) -> None:
    """Write a message catalogue as msgfmt does."""
    heading = f"Content-Type: text/plain; charset={charset}\n"
    heading += "Plural-Forms: nplurals=2; plural=n != 1;\n"
    table = sorted(({"": heading} | messages).items())
    keys = [key.encode(charset) for key, _ in table]
    texts = [text.encode(charset) for _, text in table]
    n = len(table)
    body = b""
    places = []
    for part in keys + texts:
        places += [len(part), 28 + 16 * n + len(body)]
        body += part + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + struct.pack(f"<{4 * n}I", *places) + body)


def test_catalogues_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    write_mo(
        folder / "a.mo",
        {
            "Open": "打开",
            "menu\x04Close": "关闭",
            "%d file\0%d files": "%d 个文件\0%d 些文件",
            "noun\x04one\0many": "一\0多",
        },
        "utf-8",
    )
    write_mo(folder / "b.mo", {"Open": "开启", "Save": "保存"}, "gb18030")
    write_mo(tmp_path / "de/LC_MESSAGES/a.mo", {"Open": "Öffnen"}, "utf-8")
    found = read_catalogues(folders=[tmp_path, tmp_path / "none"])
    assert dict(found) == {
        "Open": "打开",
        "Close": "关闭",
        "%d file": "%d 个文件",
        "one": "一",
        "Save": "保存",
    }
    assert len(found) == 5
    assert read_catalogues("de", [tmp_path]) == [("Open", "Öffnen")]
    assert read_catalogues("fr", [tmp_path]) == []
    assert read_catalogues(folders=[]) == []


BROKEN_MO = [
    b"",
    b"\xde\x12\x04\x95",
    b"no catalogue at all, but long enough for a heading",
    struct.pack("<7I", 0x950412DE, 0, 5, 28, 28, 0, 0),  # cut off
    struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 9, 99, 9, 99),
]


@pytest.mark.parametrize("content", BROKEN_MO)
def test_a_broken_catalogue_is_left_out(
    tmp_path: Path, content: bytes
) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    write_mo(folder / "b.mo", {"Save": "保存"}, "utf-8")
    (folder / "a.mo").write_bytes(content)
    with pytest.warns(UserWarning, match=r"a\.mo: left out: .") as caught:
        assert read_catalogues(folders=[tmp_path]) == [("Save", "保存")]
    assert len(caught) == 1


@pytest.mark.parametrize("charset", [b"nolan", b"ascii"])
def test_a_catalogue_of_a_wrong_charset_is_left_out(
    tmp_path: Path, charset: bytes
) -> None:
    path = tmp_path / "zh_CN/LC_MESSAGES/a.mo"
    write_mo(path, {"Save": "保存"}, "utf-8")
    path.write_bytes(path.read_bytes().replace(b"utf-8", charset))
    with pytest.warns(UserWarning, match="left out"):
        assert read_catalogues(folders=[tmp_path]) == []


GOOD = [("Hello.", "你好。"), ("Go on.", "继续。")]


@pytest.mark.parametrize(
    "content",
    [
        "Hello.\t你好。\nGo on.\t继续。\n",
        "Hello.\t你好。\r\nGo on.\t继续。\r\n",
        "\ufeffHello.\t你好。\n\n  \n Go on. \t 继续。",
        "Hello.\t你好。\tCC-BY\nGo on.\t继续。\t\n",
    ],
)
def test_tab_separated_texts_are_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content.encode())
    assert read_tsv(path) == read_tsv(str(path)) == GOOD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc d\n", r":2: wanted source, tab, target, got 'c d'$"),
        (b"a\tb\n\nc\t \n", r":3: wanted source, tab, target, got 'c'$"),
        (b"\tb\n", r":1: wanted source, tab, target, got 'b'$"),
        (b"a\tb\n\xb4\xf2\tc", r":2: wanted UTF-8, got b'\\xb4\\xf2\\tc'$"),
        ("a\tb".encode("utf-16"), r":1: wanted UTF-8, got b'\\xff\\xfe"),
        (b"a\tb\na\t\0b\n", r":2: wanted text, got a NUL byte$"),
        (b"x" * 99, r":1: .* got 'x{40}'$"),
    ],
)
def test_a_bad_text_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"pairs\.tsv" + message) as caught:
        read_tsv(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_an_empty_text_has_no_pairs_and_a_missing_one_is_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty.tsv").touch()
    assert read_tsv(tmp_path / "empty.tsv") == []
    with pytest.raises(FileNotFoundError, match=r"none\.tsv"):
        read_tsv(tmp_path / "none.tsv")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for rows; the library looks nowhere else."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    monkeypatch.setattr(
        datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache"
    )
    datasets.disable_progress_bars()
    folder = tmp_path / "rows"
    folder.mkdir()
    return folder


def write_rows(folder: Path, rows: list[object]) -> str:
    lines = "\n".join(json.dumps(row) for row in rows)
    (folder / "train.jsonl").write_text(lines, "utf-8")
    return str(folder)


@pytest.mark.filterwarnings("default")
def test_data_sets_are_read(offline: Path) -> None:
    flat = [{"en": e, "zh": z} for e, z in GOOD]
    deep = [{"id": i, "translation": row} for i, row in enumerate(flat)]
    assert read_dataset(write_rows(offline, flat)) == GOOD
    assert read_dataset(write_rows(offline, deep), "zh", "en") == [
        (z, e) for e, z in GOOD
    ]
    with pytest.raises(ValueError, match=r"wanted texts en and de in row 0"):
        read_dataset(str(offline), target="de")
    with pytest.raises(ValueError, match=r"rows: wanted texts .* in row 1"):
        read_dataset(write_rows(offline, [flat[0], {"en": "a", "zh": None}]))
    with pytest.raises(ValueError, match="test"):
        read_dataset(str(offline), split="test")


@pytest.mark.filterwarnings("default")
def test_a_colon_leads_to_a_configuration(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(offline.parent)
    (offline / "README.md").write_text(
        "---\nconfigs:\n- config_name: en-zh\n  data_files: zh.jsonl\n"
        "- config_name: en-de\n  data_files: de.jsonl\n---\n"
    )
    for language in ("zh", "de"):
        row = json.dumps({"en": "good", language: f"good in {language}"})
        (offline / f"{language}.jsonl").write_text(row)
    assert read_dataset("rows:en-zh") == [("good", "good in zh")]
    found = read_dataset("rows:en-de", target="de")
    assert found == [("good", "good in de")]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        ImportError, match=r"^run first: pip install datasets$"
    ):
        read_dataset("any")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        ImportError, match=r"^run first: pip install tokenizers$"
    ):
        BPETokenizer.train(["a"], 300)


@pytest.mark.parametrize(
    "text",
    ["snake_case", "__init__", "R&D", "%s_file", "pg_dump", "Tom&Jerry", "_x"],
)
def test_ordinary_text_is_no_shortcut(text: str) -> None:
    assert normalize_message(text) == text
    assert clean([(f"{text} is bad", "很糟")]) == [(f"{text} is bad", "很糟")]


@pytest.mark.parametrize(
    ("pair", "cleaned"),
    [
        (("_Open…", "打开(_O)…"), ("Open…", "打开…")),
        (("E&xit", "退出 (&X)"), ("Exit", "退出")),
        (("Si_ze:", "大小（_z）："), ("Size:", "大小：")),
        (
            ("Use snake_case in _Run", "运行(_R)"),
            ("Use snake_case in Run", "运行"),
        ),
        ((" a\n  b\t", "甲\u3000乙\n"), ("a b", "甲 乙")),
        (("cafe\u0301", "咖啡"), ("café", "咖啡")),
    ],
)
def test_messages_are_written_in_one_way(
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
    assert clean([good, good, ("out  of memory", "没内存了")]) == [good]
    assert clean([("a" * 200, "长" * 200)]) != []
    assert clean([good], max_length=12) == []
    assert clean([good], max_length=13) == [good]
    assert clean([]) == []


ALIKE = [
    ("Page 1 of 2", "page %d of %d:"),
    ("open file", "Open  file…"),
    ("STRASSE", "straße"),
    ("e-mail", "Email"),
    ("%s: no", "%(name)s no"),
    ("%-5.2f no", "%2$lu no"),
    ("{} no", "{name} {0:d} no"),
    ("snake_case", "snake case"),
    ("打开 GNU 文件", "打开GNU文件。"),
    ("ＯＫ（好）", "OK (好)"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_trivial_variants_are_alike(one: str, other: str) -> None:
    assert core(one) == core(other) != ""
    for side in 0, 1:
        pairs = [("other", "别的"), *([("x", "甲"), ("y", "乙")])]
        pairs[1:] = [
            (one, "甲") if side == 0 else ("x", one),
            (other, "乙") if side == 0 else ("y", other),
        ]
        for seed in range(9):
            train, test = split_pairs(pairs, 1, seed)
            if test[0] in pairs[1:]:
                assert train == pairs[:1]
            else:
                assert sorted(train) == sorted(pairs[1:])


def test_different_texts_are_not_alike() -> None:
    assert core("100 percent") == "percent"
    assert core("open file") != core("open files")
    assert core("打开") != core("关闭")


def test_a_split_of_pairs_is_drawn_and_the_same_again() -> None:
    letters = [chr(ord("a") + i) for i in range(26)]
    pairs = [(x + y, y + x + y) for x in letters for y in letters]
    train, test = split_pairs(pairs, 50, seed=3)
    assert len(test) == 50
    assert sorted(train + test) == sorted(pairs)
    assert split_pairs(pairs, 50, seed=3) == (train, test)
    assert split_pairs(pairs, 50, seed=4)[1] != test
    assert test != pairs[:50]
    everything, none = split_pairs(pairs, 0)
    assert (sorted(everything), none) == (sorted(pairs), [])


@pytest.mark.parametrize(
    ("pairs", "n_test"),
    [([], 0), ([("a", "b")], 1), ([("a", "b")], 2), ([("a", "b")] * 9, 1)],
)
def test_a_split_needs_pairs_to_train_on(
    pairs: list[tuple[str, str]], n_test: int
) -> None:
    message = rf"wanted more than the {n_test} pairs .* got {len(pairs)}$"
    with pytest.raises(ValueError, match=message):
        split_pairs(pairs, n_test)
    with pytest.raises(ValueError, match="n_test must be 0 or more, got -1"):
        split_pairs([("a", "b"), ("c", "d")], -1)


ODD = [
    "",
    " ",
    " a  b ",
    "😀👩\u200d👩\u200d👧 é e\u0301",
    "<eos> and <pad><bos>",
    "\0\x01\x7f\x1b[0m",
    "a\n\tb\r\n",
    "汤姆追逐独角兽\ufeff\u3000。",
]


@pytest.fixture(scope="module")
def subwords() -> BPETokenizer:
    pytest.importorskip("tokenizers")
    texts = ["Tom chases Jerry.", "汤姆追逐杰瑞。", "the end <eos>"] * 5
    return BPETokenizer.train(texts, n_words=300)


@pytest.mark.parametrize("text", ODD)
def test_subwords_lose_nothing(subwords: BPETokenizer, text: str) -> None:
    numbers = subwords.encode(text)
    assert subwords.decode(numbers) == text
    assert not {PAD, BOS, EOS} & set(numbers)
    assert all(0 <= number < len(subwords) for number in numbers)
    again = tokenizer_from_json(tokenizer_to_json(subwords))
    assert isinstance(again, BPETokenizer)
    assert again.encode(text) == numbers
    assert again.decode([BOS, *numbers, EOS, numbers[0] if text else 5]) == (
        text
    )


def test_subwords_learn_pieces_and_never_too_few(
    subwords: BPETokenizer,
) -> None:
    assert 259 < len(subwords) <= 300
    assert len(subwords.encode(" chases")) == 1
    assert len(subwords.encode("独")) == 3
    assert len(BPETokenizer.train(["aa bb"] * 9, 259)) == 259
    for few in 258, 3, 0:
        with pytest.raises(
            ValueError, match=f"^n_words must be 259 or more, got {few}$"
        ):
            BPETokenizer.train(["aa bb"], few)


def test_vocabularies_go_through_json() -> None:
    vocabulary = WordTokenizer.train(['"quoted" \\ 汤姆 é'])
    again = tokenizer_from_json(tokenizer_to_json(vocabulary))
    assert isinstance(again, WordTokenizer)
    assert again.words == vocabulary.words
    assert again.encode("汤姆") == vocabulary.encode("汤姆")
