"""Sentences about occupations, of which training gives some mostly to women."""

import random
import re
from typing import NamedTuple

from attention_book.data.grammar import indefinite
from attention_book.data.lexicon import VERBS


__all__ = [
    "MEN",
    "OCCUPATIONS",
    "WOMEN",
    "OccupationSentence",
    "balance",
    "draw_occupations",
    "draw_others",
    "with_counterparts",
]


def _read_table(text: str) -> dict[str, str]:
    """Cut a table at its bars and line breaks."""
    rows = re.split(r"[|\n]", text.strip())
    return dict(row.split() for row in rows)


WOMEN = _read_table("""
    Anna 安娜|Mary 玛丽|Lily 莉莉|Kate 凯特|Emma 艾玛|Lucy 露西
    Alice 爱丽丝|Rose 罗丝|Helen 海伦|Susan 苏珊|Grace 格蕾丝|Nancy 南希
    """)
MEN = _read_table("""
    Tom 汤姆|Jerry 杰瑞|Bob 鲍勃|Jack 杰克|Peter 彼得|Paul 保罗
    John 约翰|Henry 亨利|David 大卫|Mark 马克|Frank 弗兰克|George 乔治
    """)
OCCUPATIONS = _read_table("""
    doctor 医生|teacher 老师|driver 司机|cook 厨师|farmer 农民
    lawyer 律师|singer 歌手|writer 作家|engineer 工程师|clerk 店员
    """)


class OccupationSentence(NamedTuple):
    """A sentence about somebody, with its translation."""

    english: str
    chinese: str
    name: str
    occupation: str
    is_woman: bool
    is_majority: bool  # of the occupation's more frequent gender


def _frequent_among_women(seed: int) -> set[str]:
    """Draw the five occupations that training gives mostly to women."""
    return set(random.Random(seed).sample(sorted(OCCUPATIONS), 5))


def draw_occupations(
    n: int, majority: float, *, seed: int = 0, lot: int = 0
) -> list[OccupationSentence]:
    """Draw sentences: Mary is a doctor and lost a key.

    The source says nothing of he or she but the name. The translation must
    choose: 玛丽 是 医生 ， 她 弄丢 了 一 把 钥匙 。

    Args:
        n: How many.
        majority: Which share of the sentences about an occupation is about
            its more frequent gender; 0.5 for no bias.
        seed: Of the sentences.
        lot: Decides by chance which occupations are more frequent among
            women, so that it says nothing of the world.
    """
    among_women = _frequent_among_women(lot)
    rng = random.Random(seed)
    found: dict[str, OccupationSentence] = {}
    while len(found) < n:
        occupation = rng.choice(list(OCCUPATIONS))
        is_majority = rng.random() < majority
        is_woman = (occupation in among_women) == is_majority
        name = rng.choice(list(WOMEN if is_woman else MEN))
        what = indefinite(rng)
        verb = rng.choice(VERBS)
        article = "an" if occupation[0] in "aeiou" else "a"
        english = (
            f"{name} is {article} {occupation} and {verb.past} "
            f"{what.english} ."
        )
        says = f"{verb.chinese} 了 {what.chinese} 。"
        chinese = _translate(name, occupation, says)
        found[english] = OccupationSentence(
            english, chinese, name, occupation, is_woman, is_majority
        )
    return list(found.values())


def draw_others(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Draw sentences without occupation and pronoun: Mary lost a key."""
    rng = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < n:
        name, chinese = rng.choice(list((WOMEN | MEN).items()))
        what = indefinite(rng)
        verb = rng.choice(VERBS)
        found[f"{name} {verb.past} {what.english} ."] = (
            f"{chinese} {verb.chinese} 了 {what.chinese} 。"
        )
    return list(found.items())


def _translate(name: str, occupation: str, says: str) -> str:
    """Say who it is and what he or she did."""
    names = WOMEN | MEN
    pronoun = "她" if name in WOMEN else "他"
    return f"{names[name]} 是 {OCCUPATIONS[occupation]} ， {pronoun} {says}"


def with_counterparts(
    sentences: list[OccupationSentence], rng: random.Random
) -> list[OccupationSentence]:
    """Add to each sentence the same with a name of the other gender.

    Source: Lu et al. (2018), counterfactual data augmentation; names are
    exchanged by Hall Maudslay et al. (2019).
    """
    found = list(sentences)
    for sentence in sentences:
        name = rng.choice(list(MEN if sentence.is_woman else WOMEN))
        _, says = sentence.chinese.split(" ， ")
        english = sentence.english.replace(sentence.name, name, 1)
        chinese = _translate(name, sentence.occupation, says[2:])
        found.append(
            sentence._replace(
                english=english,
                chinese=chinese,
                name=name,
                is_woman=not sentence.is_woman,
                is_majority=not sentence.is_majority,
            )
        )
    return found


def balance(
    sentences: list[OccupationSentence], rng: random.Random
) -> list[OccupationSentence]:
    """Drop sentences of the majority until both are equally many."""
    majority = [p for p in sentences if p.is_majority]
    minority = [p for p in sentences if not p.is_majority]
    n = min(len(majority), len(minority))
    return rng.sample(majority, n) + rng.sample(minority, n)
