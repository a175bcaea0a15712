# Made from docs/source/confidence.md (5ecfcc715805). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What a translation should have kept of its source.

Explained on the page "Confidence in a translation".
"""

import re
import unicodedata

from attention_book.tokenizers.words import Tokenizer


__all__ = ["find_lost"]


_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_CHINESE = "零一二三四五六七八九"
_ROUND = {2: ["两"], 100: ["hundred", "百"], 1000: ["thousand", "千"]}


def find_lost(source: str, text: str, tokenizer: Tokenizer) -> list[str]:
    """Return what should be in a translation and is not.

    Args:
        source: English or Chinese.
        text: Its translation into the other language.
        tokenizer: Of subwords; what it cuts small was rare in training.
    """
    into_english = re.search(_HAN, source)
    words = r"[A-Za-z]{2,}" if into_english else r"(?<=[\w,] )[A-Z][A-Za-z]+"
    names = [
        word
        for word in re.findall(words, source)
        if into_english or len(tokenizer.encode(word)) >= 3
    ]
    unknown = [  # letters and symbols; a space goes before all but Chinese
        x
        for x in source
        if unicodedata.category(x)[0] in "LS"
        and len(tokenizer.encode(x)) > 1 + (not re.match(_HAN, x))
    ]
    kept = text.lower()
    there = {*re.findall(r"\d+|[a-z]+(?:-[a-z]+)*", kept)}
    numbers = [
        x
        for x in re.findall(r"\d+", source)
        if not any(
            word in there if word.isascii() else word in kept
            for word in (x, *_spelt(x))
        )
    ]
    others = [x for x in [*names, *unknown] if x.lower() not in kept]
    return list(dict.fromkeys([*numbers, *others]))


def _spelt(number: str) -> list[str]:
    """Return a number in words of both languages, up to 99 and if round."""
    if len(number) > 4:
        return []
    n = int(number)
    words = list(_ROUND.get(n, ()))
    if n < 100:
        tens, ones = divmod(n, 10)
        english = _TENS[tens - 2] + (f"-{_ENGLISH[ones]}" if ones else "")
        words.append(_ENGLISH[n] if n < 20 else english)
        last = _CHINESE[ones] if ones or not tens else ""
        before = _CHINESE[tens] if tens > 1 else ""
        words.append(f"{before}{'十' * (tens > 0)}{last}")
    return words
