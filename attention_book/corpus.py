# Made from docs/chapters/11-corpus.md (43ad4eb141dd). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import gettext
import hashlib
import json
import random
import re
import struct
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

Pairs = frozenset[tuple[str, str]]


class Phrase(NamedTuple):
    """The same in both languages."""

    english: str  # tokens, with spaces between them
    chinese: str
    head: str = ""  # its noun
    pairs: Pairs = frozenset()  # words that it brings together


def rows(text: str) -> list[list[str]]:
    """Cut a table at its bars and line breaks, and each row into words."""
    return [row.split() for row in re.split(r"[|\n]", text)]


def say(english: str, chinese: str, /, **parts: Phrase) -> Phrase:
    """Fill the gaps of two templates with the same parts."""
    return Phrase(
        english.format(**{name: part.english for name, part in parts.items()}),
        chinese.format(**{name: part.chinese for name, part in parts.items()}),
        pairs=frozenset().union(*(part.pairs for part in parts.values())),
    )


NOUNS = {
    noun: (chinese, measure)
    for noun, chinese, measure in rows("""book 书 本|picture 画 幅|letter 信 封
    pen 笔 支|chair 椅子 把|table 桌子 张|shirt 衬衫 件|hat 帽子 顶
    flower 花 朵|tree 树 棵|house 房子 栋|bridge 桥 座|car 汽车 辆
    boat 船 艘|computer 电脑 台|lamp 灯 盏|stone 石头 块|newspaper 报纸 份
    mirror 镜子 面|apple 苹果 个|cat 猫 只|horse 马 匹|cow 牛 头|snake 蛇 条
    umbrella 雨伞 把|key 钥匙 把|bird 鸟 只|ring 戒指 枚|rope 绳子 根
    ticket 票 张""")
}
COLOURS = {"red": "红色", "green": "绿色", "white": "白色", "black": "黑色"}
QUALITIES = {
    adjective: (comparative, chinese)
    for adjective, comparative, chinese in rows("""big bigger 大
    small smaller 小|dirty dirtier 脏|heavy heavier 重|light lighter 轻
    cheap cheaper 便宜|clean cleaner 干净|pretty prettier 漂亮
    strange stranger 奇怪""")
}
NUMBERS = {
    row[0]: row[1]
    for row in rows("""two 两|three 三|four 四|five 五|six 六
    seven 七|eight 八|nine 九|ten 十|twelve 十二|twenty 二十""")
}
PEOPLE = {"Tom": "汤姆", "Jerry": "杰瑞", "Anna": "安娜", "Bob": "鲍勃"}
PEOPLE |= {"Mary": "玛丽", "Jack": "杰克", "Lily": "莉莉", "Peter": "彼得"}
OWNERS = {f"{name} 's": chinese for name, chinese in PEOPLE.items()}
OWNERS |= {"my": "我", "your": "你", "his": "他", "her": "她", "our": "我们"}


def describe(rng: random.Random, noun: str) -> Phrase:
    """Perhaps an adjective before the noun; the pair is noted."""
    chinese, _ = NOUNS[noun]
    adjective = rng.choice(["", "", *COLOURS, *QUALITIES])
    if not adjective:
        return Phrase(noun, chinese, noun)
    word = COLOURS.get(adjective) or QUALITIES[adjective][1]
    if word not in ("大", "小", "脏"):
        word = f"{word} 的"
    pairs = frozenset({(adjective, noun)})
    return Phrase(f"{adjective} {noun}", f"{word} {chinese}", noun, pairs)


def indefinite(rng: random.Random) -> Phrase:
    """A red book; two red books."""
    noun = rng.choice(list(NOUNS))
    what, measure = describe(rng, noun), NOUNS[noun][1]
    if rng.random() < 0.5:
        article = "an" if what.english[0] in "aeiou" else "a"
        english, chinese = f"{article} {what.english}", f"一 {measure}"
        return what._replace(
            english=english, chinese=f"{chinese} {what.chinese}"
        )
    number = rng.choice(list(NUMBERS))
    chinese = f"{NUMBERS[number]} {measure} {what.chinese}"
    pairs = what.pairs | {(number, noun)}
    return Phrase(f"{number} {what.english}s", chinese, noun, pairs)


def definite(rng: random.Random) -> Phrase:
    """This red book; Tom's red book."""
    noun = rng.choice(list(NOUNS))
    what, measure = describe(rng, noun), NOUNS[noun][1]
    which = rng.choice(["this", "that", *OWNERS])
    if which not in OWNERS:
        before = f"{'这' if which == 'this' else '那'} {measure}"
    elif "的" in what.chinese:  # not 汤姆 的 红色 的 书
        before = f"{OWNERS[which]} 那 {measure}"
    else:
        before = f"{OWNERS[which]} 的"
    return what._replace(
        english=f"{which} {what.english}", chinese=f"{before} {what.chinese}"
    )


class Verb(NamedTuple):
    """A verb that takes an object; "-" if it names a result, such as find."""

    plain: str
    third: str
    past: str
    going: str
    chinese: str


VERBS = [
    Verb(*row)
    for row in rows("""buy buys bought buying 买|sell sells sold selling 卖
    see sees saw - 看见|draw draws drew drawing 画|find finds found - 找到
    lose loses lost - 弄丢|wash washes washed washing 洗
    borrow borrows borrowed borrowing 借|break breaks broke - 弄坏
    choose chooses chose choosing 挑选|hide hides hid hiding 藏
    chase chases chased chasing 追逐""")
]
SUBJECTS = [  # English, Chinese, am / is / are
    *((name, chinese, "is") for name, chinese in PEOPLE.items()),
    ("he", "他", "is"),
    ("she", "她", "is"),
    ("I", "我", "am"),
    ("you", "你", "are"),
    ("we", "我们", "are"),
    ("they", "他们", "are"),
]
PLACES = {"in the garden": "在 花园 里", "at school": "在 学校"}
PLACES |= {"in the kitchen": "在 厨房 里", "at the market": "在 市场 里"}
TIMES = {
    "past": {"yesterday": "昨天", "last week": "上周", "this morning": "今早"},
    "future": {"tomorrow": "明天", "next week": "下周", "tonight": "今晚"},
    "present": {"every day": "每天 都", "every year": "每年 都"},
    "now": {"now": "现在", "at this moment": "这会儿"},
}


STATEMENTS = {  # tense: English, Chinese; then the same, negated
    "past": (
        ("{who} {past} {what} {where} {when}", "{where} {verb} 了 {what}"),
        (
            "{who} did not {plain} {what} {where} {when}",
            "没有 {where} {verb} {what}",
        ),
    ),
    "future": (
        (
            "{who} will {plain} {what} {where} {when}",
            "会 {where} {verb} {what}",
        ),
        (
            "{who} will not {plain} {what} {where} {when}",
            "不 会 {where} {verb} {what}",
        ),
    ),
    "present": (
        ("{who} {usual} {what} {where} {when}", "{where} {verb} {what}"),
        (
            "{who} {does} not {plain} {what} {where}",
            "不 {where} {verb} {what}",
        ),
    ),
    "now": (
        ("{who} {be} {going} {what} {when}", "正在 {verb} {what}"),
        ("{who} {be} not {going} {what} {when}", "没有 在 {verb} {what}"),
    ),
}


def tidy(text: str) -> str:
    """Leave one space where a gap stayed empty."""
    return " ".join(text.split())


def an_object(
    rng: random.Random, verb: Verb, who: str, *, certain: bool
) -> Phrase:
    """Somebody else, or a thing; this one where "a book" would not do."""
    if verb.plain in ("see", "find", "chase", "draw") and rng.random() < 0.4:
        name = rng.choice([name for name in PEOPLE if name != who])
        return Phrase(name, PEOPLE[name], name)
    if not certain and rng.random() < 0.7:
        return indefinite(rng)
    what = definite(rng)
    while what.english.startswith(f"{who} 's"):  # Tom lost Tom's book
        what = definite(rng)
    return what


def maybe(rng: random.Random, table: dict[str, str]) -> Phrase:
    """Nothing, or one of the table."""
    english = rng.choice(["", "", *table])
    return Phrase(english, table.get(english, ""))


def statement(rng: random.Random, tense: str | None = None) -> Phrase:
    """Who did what, where and when; or did not."""
    tense = tense or rng.choice(list(STATEMENTS))
    negated = rng.random() < 0.3
    english, chinese = STATEMENTS[tense][negated]
    who, subject, be = rng.choice(SUBJECTS)
    verb = rng.choice(
        [v for v in VERBS if tense in ("past", "future") or v.going != "-"]
    )
    third, what = be == "is", an_object(rng, verb, who, certain=negated)
    forms = verb._asdict() | {
        "usual": verb.third if third else verb.plain,
        "does": "does" if third else "do",
        "be": be,
        "verb": verb.chinese,
    }
    said = say(
        english,
        "{who} {when} " + chinese,
        who=Phrase(who, subject),
        what=what,
        when=maybe(rng, TIMES[tense] if "{when}" in english else {}),
        where=maybe(rng, PLACES if tense != "now" else {}),
        **{name: Phrase(form, form) for name, form in forms.items()},
    )
    pairs = said.pairs | {(verb.plain, what.head)}
    return Phrase(tidy(said.english), tidy(said.chinese), pairs=pairs)


QUESTIONS = [
    ("what did {who} {plain} {when}", "{who} {when} {verb} 了 什么"),
    ("what will {who} {plain}", "{who} 会 {verb} 什么"),
    ("who {past} {what} {when}", "谁 {when} {verb} 了 {what}"),
    ("did {who} {plain} {what} {when}", "{who} {when} {verb} 了 {what} 吗"),
    ("where did {who} {plain} {what}", "{who} 是 在 哪里 {verb} {what} 的"),
    ("when will {who} {plain} {what}", "{who} 什么 时候 会 {verb} {what}"),
    ("will {who} {plain} {what}", "{who} 会 {verb} {what} 吗"),
]


def question(rng: random.Random) -> Phrase:
    """Who, what, where, when, or yes or no."""
    english, chinese = rng.choice(QUESTIONS)
    who, subject, _ = rng.choice(SUBJECTS)
    verb = rng.choice(VERBS)
    what = an_object(rng, verb, who, certain=True)
    asked = say(
        english,
        chinese,
        who=Phrase(who, subject),
        what=what if "{what}" in english else Phrase("", ""),
        when=maybe(rng, TIMES["past"]),
        plain=Phrase(verb.plain, ""),
        past=Phrase(verb.past, ""),
        verb=Phrase("", verb.chinese),
    )
    pairs = asked.pairs
    if "{what}" in english:
        pairs |= {(verb.plain, what.head)}
    return Phrase(tidy(asked.english), tidy(asked.chinese), pairs=pairs)


def bought_by(rng: random.Random) -> Phrase:
    """The book that Tom bought: a relative clause in the past."""
    noun, verb = rng.choice(list(NOUNS)), rng.choice(VERBS)
    (name, subject), (chinese, measure) = (
        rng.choice(list(PEOPLE.items())),
        NOUNS[noun],
    )
    return Phrase(
        f"the {noun} that {name} {verb.past}",
        f"{subject} {verb.chinese} 的 那 {measure} {chinese}",
        noun,
        frozenset({(verb.plain, noun)}),
    )


def quality(rng: random.Random) -> Phrase:
    """This book is heavy; this book is heavier than that one is."""
    a, b = (
        bought_by(rng) if rng.random() < 0.4 else definite(rng) for _ in "ab"
    )
    said_already = {first for first, _ in a.pairs}  # no dirty book is dirty
    adjective = rng.choice([q for q in QUALITIES if q not in said_already])
    comparative, chinese = QUALITIES[adjective]
    word = Phrase(adjective, chinese)
    if rng.random() < 0.4 or a == b:
        said = say("{a} is {q}", "{a} 很 {q}", a=a, q=word)
        return said._replace(pairs=said.pairs | {(adjective, a.head)})
    word = word._replace(english=comparative)
    return say("{a} is {q} than {b}", "{a} 比 {b} {q}", a=a, b=b, q=word)


def sentence(rng: random.Random) -> Phrase:
    """One sentence of the grammar, with its stop."""
    kind = rng.random()
    if kind < 0.2:
        return say("{q} ?", "{q} ？", q=question(rng))
    if kind < 0.4:
        return say("{q} .", "{q} 。", q=quality(rng))
    if kind < 0.5:
        a = statement(rng, rng.choice(["past", "present", "now"]))
        b = statement(rng, rng.choice(["present", "now", "future"]))
        return say("because {a} , {b} .", "因为 {a} ， 所以 {b} 。", a=a, b=b)
    return say("{a} .", "{a} 。", a=statement(rng))


def is_held_out(pair: tuple[str, str]) -> bool:
    """Whether training must never see these two words together."""
    digest = hashlib.sha256(" ".join(pair).encode()).digest()
    return digest[0] < 26  # of 256: a tenth


class Split(NamedTuple):
    """Sentences, each as its English and its Chinese."""

    train: list[tuple[str, str]]
    sentences: list[tuple[str, str]]  # unseen, of pairs in use
    combinations: list[tuple[str, str]]  # each with a held-out pair


def make_split(n_train: int, n_test: int, seed: int = 0) -> Split:
    """Draw sentences without repetition until every part is full."""
    rng = random.Random(seed)
    split, seen = Split([], [], []), set[str]()
    while len(split.combinations) < n_test or len(split.train) < n_train:
        said = sentence(rng)
        if said.english in seen:
            continue
        seen.add(said.english)
        part, size = split.train, n_train
        if any(is_held_out(pair) for pair in said.pairs):
            part, size = split.combinations, n_test
        elif len(split.sentences) < n_test:
            part, size = split.sentences, n_test
        if len(part) < size:
            part.append((said.english, said.chinese))
    return split


PAD, START, END = 0, 1, 2
SPECIAL = ["<pad>", "<start>", "<end>"]
HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"


def tokenise(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'").replace("can't", "can not")
    text = re.sub(r"\b([Ww])on't", r"\1ill not", text).replace("n't", " not")
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def untokenise(text: str) -> str:
    """Write tokens as people do, without spaces where none belong."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={HAN})\s+(?={HAN})", "", text)


class Vocabulary:
    """Whole words and their numbers.

    Args:
        words: All words, the three special ones first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.numbers = {word: i for i, word in enumerate(words)}

    @classmethod
    def learn(cls, sentences: Iterable[str]) -> "Vocabulary":
        """Find the words of sentences."""
        found = {w for text in sentences for w in tokenise(text).split()}
        return cls(SPECIAL + sorted(found))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Return the number of each word; ValueError names unknown ones."""
        found = {}
        for word in (words := tokenise(text).split()):  # This as this
            number = self.numbers.get(word, self.numbers.get(word.lower()))
            found[word] = number
        if unknown := [word for word in found if found[word] is None]:
            raise ValueError(f"unknown words: {' '.join(unknown)}")
        return [number for w in words if (number := found[w]) is not None]

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text up to the end."""
        words = []
        for number in numbers:
            if number == END:
                break
            if number not in (PAD, START):
                words.append(self.words[number])
        return untokenise(" ".join(words))


def make_batches(
    lengths: list[int], max_tokens: int, rng: random.Random
) -> list[list[int]]:
    """Group sentences of like length, so that none is far too long.

    Args:
        lengths: The length of each sentence, in tokens.
        max_tokens: The most that a batch may hold, padding included.
        rng: Decides the order of equally long sentences and of batches.

    Returns:
        For each batch, which sentences are in it.

    Raises:
        ValueError: A sentence alone is longer than max_tokens.
    """
    if lengths and max(lengths) > max_tokens:
        raise ValueError(
            f"max_tokens must be {max(lengths)}, the longest sentence, "
            f"or more, got {max_tokens}"
        )
    order = sorted(
        range(len(lengths)), key=lambda i: (lengths[i], rng.random())
    )
    batches: list[list[int]] = []
    for i in order:  # the longest of a batch is its last
        if not batches or (len(batches[-1]) + 1) * lengths[i] > max_tokens:
            batches.append([])
        batches[-1].append(i)
    rng.shuffle(batches)
    return batches


def pad(sentences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Put sentences into one table, padded at the end; also their lengths."""
    lengths = torch.tensor([len(numbers) for numbers in sentences])
    table = torch.full((len(sentences), int(lengths.max())), PAD)
    for row, numbers in zip(table, sentences, strict=True):
        row[: len(numbers)] = torch.tensor(numbers)
    return table, lengths


Pair = tuple[str, str]  # source, target
CATALOGUES = [  # where systems keep what their programs say
    "/usr/share/locale",
    "/usr/share/locale-langpack",
    "/usr/local/share/locale",
    "/opt/homebrew/share/locale",
]


def read_catalogues(
    language: str = "zh_CN", folders: Iterable[str | Path] = CATALOGUES
) -> list[Pair]:
    """Read the messages of this machine's programs, with translations.

    Plural forms come as the singular; catalogues that can't be read are
    left out with a warning.
    """
    pairs: dict[str, str] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob(f"{language}/*/*.mo")):
            try:
                with path.open("rb") as file:
                    found = gettext.GNUTranslations(file)
            except (OSError, ValueError, LookupError, struct.error) as error:
                warnings.warn(f"{path}: left out: {error}", stacklevel=2)
                continue
            # gettext looks up and does not list: there is no public way
            for key, text in vars(found)["_catalog"].items():
                message, form = key if isinstance(key, tuple) else (key, 0)
                if form == 0 and message:  # an empty one is the heading
                    # a context may stand before the message
                    pairs.setdefault(message.split("\x04")[-1], text)
    return list(pairs.items())


def read_tsv(path: str | Path) -> list[Pair]:
    """Read a text file: on each line source, tab, target; more is ignored.

    Raises:
        ValueError: The file is not such a text; says where and what came.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}:{number}: wanted UTF-8, "
            f"got {error.object[error.start : error.start + 4]!r}"
        ) from None
    pairs = []
    for number, line in enumerate(text.split("\n"), 1):
        if "\0" in line:
            raise ValueError(f"{path}:{number}: wanted text, got a NUL byte")
        parts = [part.strip() for part in line.split("\t")]
        if line.strip() and (len(parts) < 2 or not all(parts[:2])):
            raise ValueError(
                f"{path}:{number}: wanted source, tab, target, "
                f"got {line.strip()[:40]!r}"
            )
        if line.strip():
            pairs.append((parts[0], parts[1]))
    return pairs


def read_dataset(
    name: str, source: str = "en", target: str = "zh", split: str = "train"
) -> list[Pair]:
    """Read a data set of the Hugging Face library, which must be installed.

    Its rows hold both languages, or a `translation` that holds both. A colon
    in the name leads to one of its configurations: opus-100:en-zh.
    """
    try:
        import datasets
    except ImportError:
        raise ImportError("run first: pip install datasets") from None
    folder = Path(name).exists()  # and no name, where a colon means more
    path, _, part = (name, "", "") if folder else name.partition(":")
    rows: Any = datasets.load_dataset(path, part or None, split=split)
    pairs = []
    for number, row in enumerate(rows):
        row = row.get("translation", row)
        pair = row.get(source), row.get(target)
        if not all(isinstance(text, str) for text in pair):
            raise ValueError(
                f"{name}: wanted texts {source} and {target} in row {number}, "
                f"got {str(row)[:40]}"
            )
        pairs.append(pair)
    return pairs


KEY = r"\s*[(（][_&](\w)[)）]"  # 打开(_O): a shortcut key


def tidy_message(text: str, key: str = "") -> str:
    """Write a message in one way, without the mark of its shortcut key."""
    text = re.sub(KEY, "", unicodedata.normalize("NFC", text))
    if key:  # only then: R&D and pg_dump are no marks
        text = re.sub(f"[_&](?={key})", "", text, count=1, flags=re.IGNORECASE)
    return tidy(text)


def clean(pairs: Iterable[Pair], max_length: int = 200) -> list[Pair]:
    """Keep what can be learnt from, once.

    Args:
        pairs: As they were found.
        max_length: The most characters on either side.
    """
    kept: dict[str, str] = {}
    for pair in pairs:
        key = re.search(KEY, pair[1])
        source = tidy_message(pair[0], key[1] if key else "")
        target = tidy_message(pair[1])
        ratio = (len(source) + 9) / (len(target) + 3)  # Chinese is shorter
        if (
            core(source)
            and core(target)
            and core(source) != core(target)
            and len(source) <= max_length
            and len(target) <= max_length
            and 1 / 3 < ratio < 9
        ):
            kept.setdefault(source, target)
    return list(kept.items())


def core(text: str) -> str:
    """What is left without case, digits, punctuation, placeholders, spaces."""
    text = unicodedata.normalize("NFKC", text)
    placeholder = r"%(\(\w*\))?[-+#\d.$*']*[hlzjtL]*[a-zA-Z]|\{[\w.:!]*\}"
    text = re.sub(placeholder, "", text)
    return re.sub(r"[\W\d_]+", "", text.casefold())


def split_pairs(
    pairs: Sequence[Pair], n_test: int, seed: int = 0
) -> tuple[list[Pair], list[Pair]]:
    """Draw pairs for testing, and keep for training what is unlike them.

    Returns:
        The training pairs, and n_test test pairs. They share no source and
        no target, whatever the case, digits, punctuation, placeholders.

    Raises:
        ValueError: n_test is negative, or so large that no pair is left to
            train on.
    """
    if n_test < 0:
        raise ValueError(f"n_test must be 0 or more, got {n_test}")
    shuffled = random.Random(seed).sample(list(pairs), len(pairs))
    test = shuffled[:n_test]
    sources = {core(source) for source, _ in test}
    targets = {core(target) for _, target in test}
    train = [
        (source, target)
        for source, target in shuffled[n_test:]
        if core(source) not in sources and core(target) not in targets
    ]
    if not train:
        raise ValueError(
            f"wanted more than the {n_test} pairs for testing, and some "
            f"unlike them, got {len(pairs)}"
        )
    return train, test


class Subwords:
    """Pieces of words and their numbers; has Vocabulary's methods.

    Args:
        tokenizer: A tokenizers.Tokenizer whose first three are special.

    Source: Sennrich et al. (2016), §3.2, on bytes as in Radford et al.
        (2019), §2.2.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        tokenizer.encode_special_tokens = True  # "<end>" in a text is text

    @classmethod
    def learn(cls, sentences: Iterable[str], n_words: int) -> "Subwords":
        """Find up to n_words pieces, 256 bytes and 3 special ones included."""
        if n_words < 259:
            raise ValueError(f"n_words must be 259 or more, got {n_words}")
        tokenizers = import_tokenizers()
        as_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = as_bytes
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=n_words,
            special_tokens=SPECIAL,
            initial_alphabet=as_bytes.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return cls(tokenizer)

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Return the number of each piece; there are no unknown ones."""
        return list(self.tokenizer.encode(text).ids)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text up to the end."""
        ids = list(numbers)
        ids = ids[: ids.index(END)] if END in ids else ids
        return str(self.tokenizer.decode(ids))


Tokens = Vocabulary | Subwords


def import_tokenizers() -> Any:
    """Import the library that only subwords need."""
    try:
        import tokenizers
    except ImportError:
        raise ImportError("run first: pip install tokenizers") from None
    return tokenizers


def tokens_to_json(tokens: Tokens) -> str:
    """Write a vocabulary of either kind."""
    if isinstance(tokens, Vocabulary):
        return json.dumps({"words": tokens.words}, ensure_ascii=False)
    return json.dumps({"subwords": tokens.tokenizer.to_str()})


def tokens_from_json(text: str) -> Tokens:
    """Read what tokens_to_json wrote."""
    made = json.loads(text)
    if "words" in made:
        return Vocabulary(made["words"])
    return Subwords(import_tokenizers().Tokenizer.from_str(made["subwords"]))
