"""One context vector for all words, or one for each.

Both models translate sentences of one to three clauses, trained alike on
batches drawn anew, and are tested on sentences of one to four.
"""

import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from experiments.record import percent


SEEDS = range(5)
LONGEST = 3  # clauses of a sentence in training
CLAUSES = range(1, LONGEST + 2)
MODELS: dict[str, tuple[type[Seq2Seq], int, int]] = {
    # the class, d_model and the number of batches
    "fixed": (Seq2Seq, 64, 500),
    "attention": (AttentiveSeq2Seq, 64, 500),
    "fixed, wider": (Seq2Seq, 96, 500),
    "fixed, wide and long": (Seq2Seq, 128, 4000),
}
NAMES = {
    "fixed": "固定的 C | fixed C",
    "attention": "注意力 | attention",
    "fixed, wider": "固定的 C，参数更多 | fixed C, more parameters",
    "fixed, wide and long": "固定的 C，训练 8 倍 | fixed C, 8 times the training",
}
PAD = 0
BOS = 1
EOS = 2
PEOPLE = {
    "Tom": "汤姆", "Jerry": "杰瑞", "Anna": "安娜", "Bob": "鲍勃",
    "Lily": "莉莉", "Jack": "杰克", "Mary": "玛丽", "Peter": "彼得",
}  # fmt: skip
VERBS = {
    "chases": "追逐", "sees": "看见", "helps": "帮助",
    "follows": "跟着", "calls": "呼唤", "hears": "听见",
}  # fmt: skip
PLACES = {
    "": "", "at school": "在 学校", "on the roof": "在 屋顶上",
    "in the garden": "在 花园里", "in the kitchen": "在 厨房里",
}  # fmt: skip
TIMES = {
    "": "", "today": "今天", "now": "现在",
    "every day": "每天", "at night": "晚上",
}  # fmt: skip
PHRASES = PEOPLE | VERBS | PLACES | TIMES | {"and": "，"}

Pair = tuple[list[str], list[str]]


def clause(rng: random.Random) -> tuple[str, str]:
    """One clause in both languages; Chinese has time and place first."""
    who, whom = rng.sample(list(PEOPLE), 2)
    verb, place, time = (rng.choice(list(d)) for d in (VERBS, PLACES, TIMES))
    english = [who, verb, whom, place, time]
    chinese = [PEOPLE[who], TIMES[time], PLACES[place]]
    chinese += [VERBS[verb], PEOPLE[whom]]
    return " ".join(filter(None, english)), " ".join(filter(None, chinese))


def sentence(rng: random.Random, n_clauses: int) -> Pair:
    english, chinese = zip(
        *(clause(rng) for _ in range(n_clauses)), strict=True
    )
    return " and ".join(english).split(), " ， ".join(chinese).split()


def vocabulary(phrases: list[str]) -> dict[str, int]:
    words = [
        "<pad>",
        "<bos>",
        "<eos>",
        *sorted(set(" ".join(phrases).split())),
    ]
    return {word: i for i, word in enumerate(words)}


ENGLISH = vocabulary(list(PHRASES))
CHINESE = vocabulary(list(PHRASES.values()))


def batch(pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Source, its lengths, and target with both ends."""
    source = [torch.tensor([ENGLISH[w] for w in s]) for s, _ in pairs]
    target = [
        torch.tensor([BOS, *(CHINESE[w] for w in t), EOS]) for _, t in pairs
    ]
    lengths = torch.tensor([len(s) for s in source])
    padded = (
        pad_sequence(x, batch_first=True, padding_value=PAD)
        for x in (source, target)
    )
    source_ids, target_ids = padded
    return source_ids, lengths, target_ids


def train(
    kind: type[Seq2Seq], d_model: int, n_batches: int, seed: int
) -> Seq2Seq:
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = kind(
        source_vocab_size=len(ENGLISH),
        target_vocab_size=len(CHINESE),
        d_model=d_model,
    )
    rate = 0.006
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=n_batches
    )
    for _ in range(n_batches):
        n = rng.randint(1, LONGEST)
        source, lengths, target = batch([sentence(rng, n) for _ in range(32)])
        logits = model(source, lengths, target[:, :-1])
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def translate(
    model: Seq2Seq, source: Tensor, lengths: Tensor, max_length: int
) -> Tensor:
    """The most likely word at each step, also after the end."""
    encoded = model.encoder(source, lengths)
    state = encoded.context[None]
    word = torch.full_like(source[:, :1], BOS)
    words = []
    for _ in range(max_length):
        logits, state, _ = model.decode_step(word, state, encoded)
        word = logits.argmax(dim=-1)
        words.append(word)
    return torch.cat(words, dim=1)


def exact(model: Seq2Seq, n_clauses: int, count: int = 500) -> float:
    """The fraction of sentences with every word right."""
    rng = random.Random(f"test {n_clauses}")  # the same for all models
    source, lengths, target = batch(
        [sentence(rng, n_clauses) for _ in range(count)]
    )
    wanted = target[:, 1:]
    longest = wanted.shape[1]
    found = translate(model, source, lengths, longest)
    right = (found == wanted) | (wanted == PAD)
    return right.all(dim=1).float().mean().item()


def run(seed: int) -> dict[str, float]:
    found = {}
    for name, (kind, d_model, n_batches) in MODELS.items():
        model = train(kind, d_model, n_batches, seed)
        for n in CLAUSES:
            found[f"{name}, {n}"] = exact(model, n)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["整句全对 | every word right"]
    head += [f"{n} 个分句 | {n} clause{'s' * (n > 1)}" for n in CLAUSES]
    rows = {
        name: [title, *(percent(results[f"{name}, {n}"], 0) for n in CLAUSES)]
        for name, title in NAMES.items()
    }
    rows["fixed, wide and long"][0] = (
        "又多，又训练 8 倍 | more, and 8 times the training"
    )
    return {
        "accuracy": [head, rows["fixed"], rows["attention"]],
        "larger": [head, rows["fixed, wider"], rows["fixed, wide and long"]],
    }
