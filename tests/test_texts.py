"""attention_book.texts: readers, cleaning, subwords."""

import json
import string
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attention_book.data.cleaning import clean, dedup_key, split_pairs
from attention_book.data.readers import read_catalogues, read_dataset, read_tsv
from attention_book.tokenizers.bpe import (
    BPETokenizer,
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.tokenizers.words import WordTokenizer


def write_mo(path: Path, messages: dict[str, str], charset: str) -> None:
    """Write a message catalogue as msgfmt does."""
    heading = f"Content-Type: text/plain; charset={charset}\n"
    heading += "Plural-Forms: nplurals=2; plural=n != 1;\n"
    table = sorted(({"": heading} | messages).items())
    keys = [key.encode(charset) for key, _ in table]
    texts = [text.encode(charset) for _, text in table]
    n = len(table)
    body = b""
    offsets = []
    for part in keys + texts:
        offsets += [len(part), 28 + 16 * n + len(body)]
        body += part + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + struct.pack(f"<{4 * n}I", *offsets) + body)


def test_catalogues_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    messages = {
        "Open": "打开",
        "menu\x04Close": "关闭",
        "%d file\0%d files": "%d 个文件\0%d 些文件",
        "noun\x04one\0many": "一\0多",
    }
    write_mo(folder / "a.mo", messages, "utf-8")
    write_mo(folder / "b.mo", {"Open": "开启", "Save": "保存"}, "gb18030")
    write_mo(tmp_path / "de/LC_MESSAGES/a.mo", {"Open": "Öffnen"}, "utf-8")
    found = read_catalogues(folders=[tmp_path, tmp_path / "none"])
    assert sorted(found) == [
        ("%d file", "%d 个文件"),
        ("Close", "关闭"),
        ("Open", "打开"),
        ("Save", "保存"),
        ("one", "一"),
    ]
    assert read_catalogues("de", [tmp_path]) == [("Open", "Öffnen")]
    assert read_catalogues("fr", [tmp_path]) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no catalogue at all, but long enough for a heading",
        struct.pack("<7I", 0x950412DE, 0, 5, 28, 28, 0, 0),  # cut off
    ],
)
def test_a_broken_catalogue_is_left_out(
    tmp_path: Path, content: bytes
) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    write_mo(folder / "b.mo", {"Save": "保存"}, "utf-8")
    (folder / "a.mo").write_bytes(content)
    with pytest.warns(UserWarning, match=r"a\.mo: left out: .") as caught:
        assert read_catalogues(folders=[tmp_path]) == [("Save", "保存")]
    assert len(caught) == 1


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
    with pytest.raises(ValueError, match=f"^{path}{message}") as caught:
        read_tsv(path)
    assert "\n" not in str(caught.value)


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
    (offline / "train.jsonl").write_text("{no rows", "utf-8")
    with pytest.raises(ValueError, match=f"^{offline}: "):
        read_dataset(str(offline))


@pytest.mark.filterwarnings("default")
def test_a_colon_leads_to_a_configuration(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(offline.parent)
    parts = ""
    for language in ("zh", "de"):
        row = json.dumps({"en": "good", language: f"good in {language}"})
        (offline / f"{language}.jsonl").write_text(row)
        parts += f"- config_name: en-{language}\n"
        parts += f"  data_files: {language}.jsonl\n"
    (offline / "README.md").write_text(f"---\nconfigs:\n{parts}---\n")
    for language in ("zh", "de"):
        found = read_dataset(f"rows:en-{language}", target=language)
        assert found == [("good", f"good in {language}")]


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("datasets", lambda: read_dataset("any")),
        ("tokenizers", lambda: BPETokenizer.train(["a"], 300)),
    ],
)
def test_a_missing_library_is_named(
    library: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        ImportError, match=f"^run first: pip install {library}$"
    ):
        use()


@pytest.mark.parametrize(
    ("pair", "cleaned"),
    [
        (("_Open…", "打开(_O)…"), ("Open…", "打开…")),
        (("E&xit", "退出 (&X)"), ("Exit", "退出")),
        (("the R&D of __init__", "很糟"), ("the R&D of __init__", "很糟")),
        (("Si_ze:", "大小（_z）："), ("Size:", "大小：")),
        (("snake_case in _Run", "运行(_R)"), ("snake_case in Run", "运行")),
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
    assert clean([good, good, ("out  of memory", "没内存了")]) == [good]
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
    for few, n in ([], 0), ([("a", "b")] * 9, 1):
        message = f"the {n} for .* digits .*, got none among {len(few)}"
        with pytest.raises(ValueError, match=message):
            split_pairs(few, n)


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
    pytest.importorskip("tokenizers")
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
    assert len(subwords.encode(" chases")) == 1
    assert len(subwords.encode("独")) == 3
    assert len(BPETokenizer.train(["aa bb"] * 9, 259)) == 259
    with pytest.raises(ValueError, match=r"must be from 259 to 1.*, got 258$"):
        BPETokenizer.train(["aa bb"], 258)


@pytest.mark.parametrize(
    "change",
    [{"<bos>": EOS, "<eos>": BOS}, {"Ġ": 999}],
    ids=["special ones swapped", "a gap"],
)
def test_subwords_are_numbered_in_order(
    subwords: BPETokenizer, change: dict[str, int]
) -> None:
    saved = json.loads(json.loads(tokenizer_to_json(subwords))["subwords"])
    saved["model"]["vocab"].update(change)
    text = json.dumps({"subwords": json.dumps(saved)})
    with pytest.raises(ValueError, match="must be numbered 0, 1, …, special"):
        tokenizer_from_json(text)


@pytest.mark.parametrize("merge", [["a", "a", "a"], ["a", "no such"]])
def test_merges_are_pairs_of_subwords(
    subwords: BPETokenizer, merge: list[str]
) -> None:
    saved = json.loads(json.loads(tokenizer_to_json(subwords))["subwords"])
    saved["model"]["vocab"]["aaa"] = len(subwords)
    saved["model"]["merges"].append(merge)
    text = json.dumps({"subwords": json.dumps(saved)})
    with pytest.raises(ValueError, match="merges must be pairs of subwords"):
        tokenizer_from_json(text)


@pytest.mark.usefixtures("unchecked")
def test_word_tokenizers_are_saved_as_json_and_others_refused() -> None:
    tokenizer = WordTokenizer.train(['"quoted" \\ 汤姆 é'])
    again = tokenizer_from_json(tokenizer_to_json(tokenizer))
    assert isinstance(again, WordTokenizer)
    assert again.words == tokenizer.words
    assert again.encode("汤姆") == tokenizer.encode("汤姆")
    with pytest.raises(ValueError, match=r"BPETokenizer, got \w*Path$"):
        tokenizer_to_json(Path("a"))
