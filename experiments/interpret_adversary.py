"""Why can the adversary translate? "Reading attention".

The adversary of interpret_debate translates with weights far from those of
the model that it starts from. Either it still takes a word from the word's
own place, with a small weight, or its encoder has copied the word into other
places, where those weights find it. Two things tell: which rows of the
encoder's output an answer depends on, when a single word is replaced, and an
adversary whose encoder is frozen, so that words stay where they were.

The three translators of interpret_debate are tuned. If the encoder's copies were not
what lets the adversary translate, then the frozen one would go as far.
"""

import copy
import random
from collections import defaultdict

import torch
from torch import Tensor

from attention_book import Translator, encode_pairs, trace
from attention_book.data.sources import load_corpus
from attention_book.data.split import make_split
from attention_book.models.transformer import Transformer
from corpora.biased.replays import ReplayableGrammar
from experiments import interpret_debate
from experiments.interpret_debate import (
    BOTH,
    alignments,
    divergence,
    inputs_of,
    predicted,
    tune,
)
from experiments.record import percent, spread
from experiments.translators import translator, unseen


SEEDS = range(3)
STEPS = 800  # of tuning
N = 40  # sentences
N_OTHERS = 8  # sentences that differ in one word, at most
MOVED = 1  # by how much a log-probability falls, at least
MEMORY = "encoder.norm"
MODELS = {
    "original": "原来的 | the original",
    "adversary": "对手 | the adversary",
    "frozen": "对手，编码器不动 | adversary, encoder frozen",
}


@torch.no_grad()
def where_words_stand(
    model: Transformer, original: Translator, seed: int
) -> dict[str, float]:
    """From which rows of the encoder's output a replaced word comes back.

    A word is replaced, and rows of the encoder's output are put back: the
    word's own, or all others. Falls and rises are added up over all outputs
    that depend on the word.
    """
    grammar = ReplayableGrammar()
    make_split(n_train=1, n_test=1000, grammar=grammar)  # these among them
    rng = random.Random(seed)
    found = defaultdict(float)
    for pair in unseen(N):
        ((source, target),) = encode_pairs(
            [pair], original.source, original.target
        )
        inputs = inputs_of((source, target))
        words = torch.tensor(target[1:])

        def score(logits: Tensor, words: Tensor = words) -> Tensor:
            return logits[0].log_softmax(-1)[range(len(words)), words]

        output, seen = trace(model, inputs, [MEMORY, *BOTH])
        clean = seen.pop(MEMORY)
        heads = torch.cat(list(seen.values())).flatten(0, 1)
        weights = heads.mean(dim=0)
        others = grammar.neighbours(pair[0])
        for phrase in rng.sample(others, min(N_OTHERS, len(others))):
            changed = torch.tensor([original.encode(phrase.english)])
            ((_, place),) = (changed != inputs[0]).nonzero().tolist()
            corrupted = (changed, *inputs[1:])
            output_there, seen = trace(model, corrupted, [MEMORY])
            low = score(output_there)
            falls = score(output) - low
            moved = falls > MOVED
            own = seen[MEMORY].clone()
            own[:, place] = clean[:, place]
            rest = clean.clone()
            rest[:, place] = seen[MEMORY][:, place]
            for name, memory in ("own", own), ("rest", rest):
                edits = {MEMORY: lambda _, memory=memory: memory}
                rise = score(trace(model, corrupted, edits=edits).output) - low
                found[name] += rise[moved].sum().item()
            found["falls"] += falls[moved].sum().item()
            found["weight"] += weights[moved, place].sum().item()
            largest = heads[:, moved, place].amax(dim=0)
            found["largest"] += largest.sum().item()
            first = weights[moved].argmax(dim=1) == place
            found["first"] += first.sum().item()
            found["n"] += moved.sum().item()
    return {
        "own": found["own"] / found["falls"],
        "rest": found["rest"] / found["falls"],
        "weight": found["weight"] / found["n"],
        "largest": found["largest"] / found["n"],
        "first": found["first"] / found["n"],
        "n": found["n"],
    }


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    interpret_debate.TUNING_STEPS = STEPS
    original = translator(seed)
    tokenizers = (original.source, original.target)
    examples = encode_pairs(load_corpus("grammar").train[:20_000], *tokenizers)
    test = encode_pairs(unseen(), *tokenizers)
    frozen: Transformer = copy.deepcopy(original.model)
    frozen.requires_grad_(True)
    frozen.source_embedding.requires_grad_(False)
    frozen.encoder.requires_grad_(False)
    free: Transformer = copy.deepcopy(original.model).requires_grad_(True)
    models = {
        "original": original.model,
        "adversary": tune(free, examples, seed, "adversary"),
        "frozen": tune(frozen, examples, seed, "adversary"),
    }
    old = alignments(models["original"], test)
    found: dict[str, float] = {}
    for name, model in models.items():
        far = [
            divergence(a, b).mean().item()
            for a, b in zip(old, alignments(model, test), strict=True)
        ]
        found[f"{name}, right"] = predicted(model, test)
        found[f"{name}, divergence"] = sum(far) / len(far)
        stand = where_words_stand(model, original, seed)
        found |= {f"{name}, {key}": value for key, value in stand.items()}
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "模型 | model",
            "全对 | exact",
            "离原来的图 | from the original map",
            "那个词的权重，平均 | weight on the word, mean",
            "最大的一个头 | the largest head",
            "自己那一行恢复 | its own row restores",
            "其余各行恢复 | the other rows restore",
        ]
    ]
    for name, title in MODELS.items():
        far = results[f"{name}, divergence"]
        rows.append(
            [
                title,
                percent(results[f"{name}, right"], 0),
                spread(far, 2) if any(far) else "0",
                spread(results[f"{name}, weight"], 2),
                spread(results[f"{name}, largest"], 2),
                percent(results[f"{name}, own"], 0),
                percent(results[f"{name}, rest"], 0).replace("-0", "0"),
            ]
        )
    return {"rows": rows}
