# Made from docs/chapters/33-texts.md (0fe58f798c3e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random
import re
import unicodedata
from collections.abc import Iterable, Sequence

from attention_book.corpus.phrases import tidy
from attention_book.texts.readers import Pair


KEY = r"\s*[(（][_&](\w)[)）]"  # 打开(_O): a shortcut key


def normalize_message(text: str, key: str = "") -> str:
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
        source = normalize_message(pair[0], key[1] if key else "")
        target = normalize_message(pair[1])
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
