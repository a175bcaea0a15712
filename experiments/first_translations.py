"""How many sentences a Transformer needs before it translates new ones.

The sentences, the model and its training are those of the chapter's cells.
All are the same 252, in an order that the seed decides, and the last half is
never trained on. A dictionary made by counting, used word for word in the
English order, is what learning must beat.

Of the model trained on half of all: where its cross-attention has its largest
weight, and what becomes of the measure word, and of the noun after it, when
the encoder's output at a word of the source is replaced by that of another
sentence, which differs in its noun only. The same for the particle of the
past, with a sentence of today, and with 昨天 (yesterday) in the translation so
far replaced by 今天 (today).
"""

from collections import Counter
from typing import Any

import torch

from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/transformer/transformer.md"
PARTS = ("written_out", "sentences", "train", "translate", "weights")
COUNTS = (5, 20, 60, 126)
KINDS = {
    "name": "人名 | names",
    "verb": "动词 | verbs",
    "time": "时间 | times",
    "le": "了 | 了",
    "measure": "量词 | measure words",
    "noun": "名词 | nouns",
}
PLACES = {
    "own": "同义的词 | word of this meaning",
    "a": "a | a",
    "time": "时间 | time",
    "verb": "动词 | verb",
    "noun": "名词 | noun",
    "other": "其余 | other",
}


def word_for_word(pairs: list[tuple[str, str]], english: str) -> str:
    """Each English word as the Chinese one that fits it best, in its order.

    The fit is the number of sentences with both, squared, by the number of
    those with the Chinese word.
    """
    split = [(set(en.split()), zh.split()) for en, zh in pairs]
    counts = Counter(zh for _, words in split for zh in words)
    found = []
    for word in english.split():
        both = Counter(zh for en, words in split if word in en for zh in words)
        found += sorted(both, key=lambda zh: -(both[zh] ** 2) / counts[zh])[:1]
    return " ".join(found)


def places(cells: dict[str, Any], model: Any, pairs: Any) -> dict[str, float]:
    """Of each kind of Chinese word, where its largest weight lies."""
    things = {zh: en for en, zh in cells["THINGS"].items()}
    measures = {pair.split()[0] for pair in things}
    nouns = {pair.split()[1]: en for pair, en in things.items()}
    names = {zh: en for en, zh in cells["NAMES"].items()}
    verbs = {zh: en for en, zh in cells["VERBS"].items()}
    times = {"今天": "today", "昨天": "yesterday"}
    pasts = {past: verb for verb, past in cells["PAST"].items()}
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for english, chinese in pairs:
        source = [pasts.get(word, word) for word in english.split()]
        A = cells["weights"](model, english, chinese)
        for word, row in zip(chinese.split(), A, strict=False):
            looked = source[row.argmax()]
            for kind, own in (
                ("name", names),
                ("verb", verbs),
                ("time", times),
                ("noun", nouns),
            ):
                if word in own:
                    place = "own" if looked == own[word] else place_of(looked)
                    found[kind][place] += 1
            if word == "了" or word in measures:
                kind = "le" if word == "了" else "measure"
                found[kind][place_of(looked)] += 1
    return {
        f"{kind}: {place}": found[kind][place] / found[kind].total()
        for kind in KINDS
        for place in PLACES
    }


def place_of(word: str) -> str:
    kinds = {
        "a": ("a",),
        "time": ("today", "yesterday"),
        "verb": ("sees", "finds", "hides"),
        "noun": ("book", "knife", "fish", "picture"),
    }
    return next((k for k, words in kinds.items() if word in words), "other")


def swapped(cells: dict[str, Any], model: Any, pairs: Any) -> dict[str, float]:
    """How often measure word and noun follow the vectors that are put in."""
    things = cells["THINGS"]
    vocabulary = cells["vocabulary"]
    follows: dict[str, list[bool]] = {}
    cases = [
        (english, chinese[: chinese.index("一") + 1], noun, other)
        for english, chinese in pairs
        for noun in things
        if noun in english.split()
        for other in things
        if other != noun
    ]
    for english, before, noun, other in cases:
        at = english.split().index(noun)
        source = cells["encode"]([english, english.replace(noun, other)])
        lengths = torch.full((2,), source.shape[1])
        with torch.no_grad():
            memory, mask = model.encode(source, lengths)
        places = {"a": [at - 1], "noun": [at], "both": [at - 1, at]}
        places["all"] = [*range(source.shape[1])]
        measure = things[noun].split()[0]
        for n, text in enumerate((before, f"{before} {measure}")):
            target = cells["encode"]([f"<bos> {text}"])
            for name, columns in places.items():
                mixed = memory[:1].clone()
                mixed[0, columns] = memory[1, columns]
                with torch.no_grad():
                    logits = model.decode(target, mixed, mask[:1])
                word = vocabulary[logits[0, -1].argmax()]
                kind = ("measure", "noun")[n]
                same = word == things[other].split()[n]
                follows.setdefault(f"{kind}, {name}", []).append(same)
    return {f"swap {k}": sum(v) / len(v) for k, v in follows.items()}


def without_past(
    cells: dict[str, Any], model: Any, pairs: Any
) -> dict[str, float]:
    """How often 了 disappears as the vectors of a sentence of today go in."""
    present = {past: verb for verb, past in cells["PAST"].items()}
    gone: dict[str, list[bool]] = {}
    for english, chinese in pairs:
        before, _, after = chinese.partition(" 了 ")
        if not after:
            continue
        words = english.split()  # Tom saw a book yesterday
        today = [present.get(word, word) for word in words[:-1]] + ["today"]
        source = cells["encode"]([english, " ".join(today)])
        with torch.no_grad():
            memory, mask = model.encode(source, torch.full((2,), len(words)))
        places = {"none": [], "verb": [1], "time": [-1], "both": [1, -1]}
        places["all"] = [*range(len(words))]
        for text in (before, before.replace("昨天", "今天")):
            target = cells["encode"]([f"<bos> {text}"])
            for name, columns in places.items():
                mixed = memory[:1].clone()
                mixed[0, columns] = memory[1, columns]
                with torch.no_grad():
                    logits = model.decode(target, mixed, mask[:1])
                word = cells["vocabulary"][logits[0, -1].argmax()]
                written = "same" if text == before else "today"
                gone.setdefault(f"{written}, {name}", []).append(word != "了")
    return {f"past {k}": sum(v) / len(v) for k, v in gone.items()}


def run(seed: int) -> dict[str, float]:
    cells: dict[str, Any] = defined_in(CHAPTER, *PARTS)
    pairs = cells["sentences"](seed)
    new = pairs[126:]
    found = {}
    for count in COUNTS:
        known = pairs[:count]
        model = cells["train"](known, seed)
        for name, some in (("known", known), ("new", new)):
            right = [cells["translate"](model, en) == zh for en, zh in some]
            found[f"{count}, {name}"] = sum(right) / len(right)
        seen = {
            word for pair in known for text in pair for word in text.split()
        }
        covered = [seen >= {*en.split(), *zh.split()} for en, zh in new]
        found[f"{count}, covered"] = sum(covered) / len(covered)
        right = [word_for_word(known, en) == zh for en, zh in new]
        found[f"{count}, words"] = sum(right) / len(right)
    for measured in (places, swapped, without_past):
        found |= measured(cells, model, new)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    titles = {
        "known": "训练过的句子 | sentences of the training",
        "new": "126 个新句子 | 126 new sentences",
        "covered": "（占比）每个词都学过的新句子 | (share) new sentences of trained words",
        "words": "逐词翻译 | word for word",
    }
    rows = [["训练的句数 | trained on", *map(str, COUNTS)]]
    for name, title in titles.items():
        cells = (percent(results[f"{n}, {name}"], 0) for n in COUNTS)
        rows.append([title, *cells])
    places = [["要译出的词 | word to write", *PLACES.values()]]
    for kind, title in KINDS.items():
        found = [results[f"{kind}: {place}"] for place in PLACES]
        cells = (percent(x, 0) if any(x) else "–" for x in found)
        places.append([title, *cells])
    swaps = [["换掉的向量 | vectors replaced", "a", "名词 | noun"]]
    swaps[0] += ["两个 | both", "整句 | the whole source"]
    for kind, title in {
        "measure": "量词跟着变 | measure word follows",
        "noun": "名词跟着变 | noun follows",
    }.items():
        parts = (f"swap {kind}, {x}" for x in ("a", "noun", "both", "all"))
        swaps.append([title, *(percent(results[x], 0) for x in parts)])
    past = [["译文里写的 | written before", "不换 | none", "动词 | verb"]]
    past[0] += ["时间 | time", "两个 | both", "整句 | the whole source"]
    for written, title in {
        "same": "昨天 | 昨天 (yesterday)",
        "today": "换成今天 | replaced by 今天 (today)",
    }.items():
        parts = ("none", "verb", "time", "both", "all")
        found = (results[f"past {written}, {x}"] for x in parts)
        past.append([title, *(percent(x, 0) for x in found)])
    return {"count": rows, "map": places, "swap": swaps, "past": past}
