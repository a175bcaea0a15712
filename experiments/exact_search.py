"""Greedy, beam and exact search over the same models.

The question: is a more probable translation a better one? It would be if the
most probable of all, which exact search finds, were right more often than
what greedy and beam search find. If it is not, is it because it is short?
Then it should be right more often once its length is given to it.

The model and its training are those of the chapter's cells, and are looked at
after each of STEPS steps. Sentences for which exact search gives up are left
out, for all searches alike. What has not ended after LONGEST tokens is no
translation: it is counted by itself, and is no search error. Minimum Bayes risk decoding chooses among samples
by chrF, and is judged by what is right to the character.
"""

import statistics
from collections.abc import Callable
from typing import Any

import torch
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    beam_search,
    encode_pairs,
    generate,
    sampler,
)
from attention_book.data.batches import pad
from attention_book.data.split import make_split
from attention_book.generation.exact import exact_search
from attention_book.generation.generate import Hypothesis
from attention_book.generation.scores import score
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.tokenizers.words import WordTokenizer
from experiments.fitting import small_model
from experiments.record import percent, spread


SEEDS = range(3)
STEPS = (250, 450, 900)
EARLY = 250  # the step at which all ways of decoding are compared
WIDTHS = (1, 2, 3, 4, 8, 16)
PENALTIES = (0.6, 1.0, 2.0)
LONGEST = 40
MAX_CALLS = 3000
N_SAMPLES = 32
EPSILON = 0.02

Found = list[list[int]]


def epsilon_sampler(generator: torch.Generator) -> Callable[[Tensor], Tensor]:
    """Draw among the tokens whose probability is at least EPSILON.

    Source: Hewitt et al. (2022).
    """

    def sample(logits: Tensor) -> Tensor:
        chances = logits.softmax(-1)
        best = chances.amax(-1, keepdim=True)
        cut = chances.masked_fill((chances < EPSILON) & (chances < best), 0.0)
        return torch.multinomial(cut, 1, generator=generator)[:, 0]

    return sample


def minimum_bayes_risk(options: list[str]) -> int:
    """The number of the text most like the others, by chrF."""
    metric = CHRF()
    counts = {text: options.count(text) for text in options}

    def gain(text: str) -> float:
        return sum(
            n * metric.sentence_score(text, [other]).score
            for other, n in counts.items()
        )

    return options.index(max(counts, key=gain))


def greedy_of_length(
    model: Transformer, source: list[int], n: int
) -> list[int]:
    """Greedy search that may end neither before nor after n tokens."""
    memory, mask = model.encode(*pad([source]))
    found: list[int] = []
    for _ in range(n - 1):
        target = torch.tensor([[BOS, *found]])
        logits = model.decode(target, memory, mask)[0, -1]
        logits[EOS] = -torch.inf
        found.append(int(logits.argmax()))
    return [*found, EOS]


@torch.no_grad()
def log_probs(model: Transformer, sources: Found, targets: Found) -> Tensor:
    """The log-probability of each translation, <eos> included."""
    target, ends = pad([[BOS, *row] for row in targets])
    logits = model(*pad(sources), target[:, :-1])
    found = logits.log_softmax(-1).gather(2, target[:, 1:, None])[..., 0]
    real = torch.arange(found.shape[1]) < (ends - 1)[:, None]
    return (found * real).sum(1)


class Judge:
    """Scores translations of the sentences that exact search solved."""

    def __init__(self, chinese: WordTokenizer, wanted: Found) -> None:
        self.chinese = chinese
        self.wanted = wanted
        self.references = [chinese.decode(row) for row in wanted]

    def __call__(self, found: Found, log_p: Tensor) -> dict[str, float]:
        texts = [self.chinese.decode(row) for row in found]
        right = [a == b for a, b in zip(found, self.wanted, strict=True)]
        n = sum(map(len, found)) / sum(map(len, self.wanted))
        return {
            "exact": sum(right) / len(right),
            "bleu": score(texts, self.references).bleu,
            "log p": log_p.mean().item(),
            "length": n,
        }


@torch.no_grad()
def look(
    model: Transformer, chinese: WordTokenizer, examples: Any, step: int
) -> dict[str, float]:
    """What each way of decoding gives at a step of training."""
    solved = []
    calls = []
    for source, target in examples:
        found = exact_search(
            model, source, max_length=LONGEST, max_calls=MAX_CALLS
        )
        calls.append(found.n_calls)
        if found.translation is not None:
            solved.append((source, target[1:], list(found.translation)))
    sources, wanted, best = (
        list(column) for column in zip(*solved, strict=True)
    )
    judge = Judge(chinese, wanted)
    of_reference = log_probs(model, sources, wanted)
    results: dict[str, float] = {
        f"{step}: solved": len(solved),
        f"{step}: calls, median": statistics.median(calls),
        f"{step}: calls, most": max(calls),
        f"{step}: empty": sum(row == [EOS] for row in best) / len(best),
        f"{step}: reference log p": of_reference.mean().item(),
    }

    def note(name: str, found: Found) -> None:
        log_p = log_probs(model, sources, found)
        for key, value in judge(found, log_p).items():
            results[f"{step}: {name}: {key}"] = value
        rows = zip(found, best, wanted, strict=True)
        cells = [(a == c, b == c, a == b) for a, b, c in rows]
        n = len(cells)
        ended = [row[-1:] == [EOS] for row in found]
        missed = sum(
            e and a != b for e, a, b in zip(ended, found, best, strict=True)
        )
        results[f"{step}: {name}: cut"] = ended.count(False) / n
        lucky = sum(a and not b for a, b, _ in cells)
        unlucky = sum(b and not a for a, b, _ in cells)
        results[f"{step}: {name}: missed"] = missed / n
        results[f"{step}: {name}: lucky"] = lucky / n
        results[f"{step}: {name}: unlucky"] = unlucky / n

    def beams(width: int, alpha: float) -> Found:
        found = beam_search(
            model,
            *pad(sources),
            max_length=LONGEST,
            beam_size=width,
            length_penalty=alpha,
        )
        return [list(row) for row in found]

    note("exact", best)
    if step != EARLY:
        note("greedy", beams(1, 0.0))
        note("beam 4", beams(4, 0.0))
        return results
    for width in WIDTHS:
        note(f"width {width}", beams(width, 0.0))
    for width in (4, 16):
        for alpha in PENALTIES:
            note(f"width {width}, penalty {alpha:g}", beams(width, alpha))
    lengths = [len(row) for row in wanted]
    pairs = list(zip(sources, lengths, strict=True))
    forced = [greedy_of_length(model, *pair) for pair in pairs]
    note("greedy, length", forced)
    given = [
        exact_search(
            model, source, max_length=n, min_length=n, max_calls=MAX_CALLS
        ).translation
        for source, n in pairs
    ]
    results[f"{step}: given up, length"] = given.count(None)
    rows = zip(given, forced, strict=True)  # of those given up the greedy one
    note("exact, length", [list(a or b) for a, b in rows])
    for kind in ("all", "epsilon"):
        generator = torch.Generator().manual_seed(0)
        draw = (
            sampler(generator) if kind == "all" else epsilon_sampler(generator)
        )
        draws: list[list[Hypothesis]] = [
            generate(model, *pad(sources), max_length=LONGEST, next_token=draw)
            for _ in range(N_SAMPLES)
        ]
        note(f"one sample, {kind}", [list(row) for row in draws[0]])
        chances = torch.stack(
            [log_probs(model, sources, draw_) for draw_ in draws]
        )
        likeliest = chances.argmax(0).tolist()
        note(
            f"likeliest, {kind}",
            [list(draws[k][i]) for i, k in enumerate(likeliest)],
        )
        chosen = []
        for options in zip(*draws, strict=True):
            texts = [chinese.decode(row) for row in options]
            chosen.append(list(options[minimum_bayes_risk(texts)]))
        note(f"mbr, {kind}", chosen)
    return results


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    split = make_split(n_train=20_000, n_test=200)
    english = WordTokenizer.train(source for source, _ in split.train)
    chinese = WordTokenizer.train(target for _, target in split.train)
    examples = encode_pairs(split.train, english, chinese)
    held_out = encode_pairs(split.sentences, english, chinese)
    torch.manual_seed(seed)
    model = small_model(english, chinese)
    config = TrainingConfig(
        max_steps=max(STEPS),
        batch_tokens=1000,
        learning_rate=7e-3,
        schedule="inverse_sqrt",
        seed=seed,
    )
    trainer = Trainer(model, TranslationBatches(examples, config), config)
    results: dict[str, float] = {}
    while len(trainer.losses) < max(STEPS):
        trainer.step()
        if len(trainer.losses) in STEPS:
            step = len(trainer.losses)
            results |= look(model.eval(), chinese, held_out, step)
            model.train()
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def signed(values: list[float]) -> str:
        ordered = (sum(values) / len(values), min(values), max(values))
        mean, least, most = (f"{x:.2f}".replace("-", "−") for x in ordered)
        return f"{mean} ({least} … {most})"

    def row(title: str, name: str) -> list[str]:
        at = f"{EARLY}: {name}"
        return [
            title,
            percent(results[f"{at}: exact"]),
            spread(results[f"{at}: bleu"], 1),
            signed(results[f"{at}: log p"]),
            spread(results[f"{at}: length"], 2),
        ]

    head = [
        "全对 | exact",
        "BLEU",
        "平均对数概率 | mean log-probability",
        "长度比 | length ratio",
    ]
    widths = [
        [
            "束宽 | beam size",
            *head[:2],
            head[3],
            "没写完 | not finished",
            "没找到概率最大的 | misses the most probable",
        ]
    ]
    for width in (*map(str, WIDTHS), "∞"):
        name = "exact" if width == "∞" else f"width {width}"
        title, right, bleu, _, length = row(width, name)
        shares = (
            percent(results[f"{EARLY}: {name}: {key}"])
            for key in ("cut", "missed")
        )
        widths.append([title, right, bleu, length, *shares])
    widths[-1][0] = "∞，精确搜索 | ∞, exact search"
    widths[-1][-2:] = ["0%", "0%"]

    names = {
        "width 1": "贪心 | greedy",
        "exact": "精确搜索 | exact search",
        "greedy, length": "贪心，给定长度 | greedy, given the length",
        "exact, length": "精确，给定长度 | exact, given the length",
        **{
            f"width {k}, penalty {a:g}": (
                f"束宽 {k}，α = {a:g} | beam of {k}, α = {a:g}"
            )
            for k in (4, 16)
            for a in PENALTIES
        },
    }
    kinds = {
        "all": ("采样", "samples"),
        "epsilon": (" ε 采样", "ε-samples"),
    }
    for kind, (zh, en) in kinds.items():
        names |= {
            f"one sample, {kind}": f"一个{zh} | one of the {en}",
            f"likeliest, {kind}": (
                f"{N_SAMPLES} 个{zh}里概率最大的 | "
                f"most probable of {N_SAMPLES} {en}"
            ),
            f"mbr, {kind}": (
                f"{N_SAMPLES} 个{zh}的 MBR | MBR of {N_SAMPLES} {en}"
            ),
        }
    answers = [["解码 | decoding", *head]]
    answers += [row(title, name) for name, title in names.items()]

    steps = [
        [
            "步数 | steps",
            "贪心，全对 | greedy, exact",
            "精确搜索，全对 | exact search, exact",
            "长度比 | length ratio",
            "贪心没写完 | greedy not finished",
            "贪心没找到 | greedy misses it",
            "束宽 4 没找到 | beam of 4 misses it",
            "调用次数，中位数 | calls, median",
            "最多 | most",
        ]
    ]
    for step in STEPS:
        greedy = "width 1" if step == EARLY else "greedy"
        beam = "width 4" if step == EARLY else "beam 4"
        medians = results[f"{step}: calls, median"]
        steps.append(
            [
                str(step),
                percent(results[f"{step}: {greedy}: exact"]),
                percent(results[f"{step}: exact: exact"]),
                spread(results[f"{step}: exact: length"], 2),
                percent(results[f"{step}: {greedy}: cut"]),
                percent(results[f"{step}: {greedy}: missed"]),
                percent(results[f"{step}: {beam}: missed"]),
                spread(medians, 0),
                f"{max(results[f'{step}: calls, most']):,.0f}",
            ]
        )
    return {"widths": widths, "answers": answers, "steps": steps}
