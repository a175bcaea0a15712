"""What label smoothing does to sampling, and a utility to minimum Bayes risk.

The questions of "Scoring translations" and of "Beam search and exact
search". Smoothing asks a model to give a tenth of each token's probability to
all the others. Greedy search need not suffer, since the most probable token
stays the same; what is drawn may come from that tenth. So the same model is
trained with and without, and decodes alike. If sampling is worse by itself,
it should be as far behind greedy search without smoothing as with it.

Minimum Bayes risk decoding chooses among the same samples by chrF, which
gives recall more weight, and by the characters that two texts share.
"""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    generate,
    sampler,
)
from attention_book.data.batches import pad
from attention_book.data.split import make_split
from attention_book.generation.generate import greedy
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.words import WordTokenizer
from experiments.exact_search import Judge, log_probs, minimum_bayes_risk
from experiments.fitting import small_model
from experiments.record import percent, spread


SEEDS = range(3)
SMOOTHING = (0.0, 0.1)
STEPS = (250, 900)
EARLY = 250  # the step at which samples are chosen among
N_SAMPLES = 32
LONGEST = 40
WAYS = {
    "greedy": "贪心 | greedy",
    "cool": "一个采样，T = 0.5 | one sample, T = 0.5",
    "sample": "一个采样，T = 1 | one sample, T = 1",
    "chrf": f"{N_SAMPLES} 个采样的 MBR，chrF | MBR of {N_SAMPLES} samples, chrF",
    "f1": (
        f"{N_SAMPLES} 个采样的 MBR，单字 F1 | "
        f"MBR of {N_SAMPLES} samples, F1 of characters"
    ),
}


def most_shared(options: list[str]) -> int:
    """The number of the text that shares most characters with the others."""
    counts = [Counter(text) for text in options]

    def gain(i: int) -> float:
        return sum(
            2 * (counts[i] & other).total() / (len(options[i]) + len(text))
            for text, other in zip(options, counts, strict=True)
            if text or options[i]
        )

    return max(range(len(options)), key=gain)


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    split = make_split(n_train=20_000, n_test=200)
    english = WordTokenizer.train(source for source, _ in split.train)
    chinese = WordTokenizer.train(target for _, target in split.train)
    examples = encode_pairs(split.train, english, chinese)
    held_out = encode_pairs(split.sentences, english, chinese)
    sources = [source for source, _ in held_out]
    judge = Judge(chinese, [target[1:] for _, target in held_out])
    results: dict[str, float] = {}
    for smoothing in SMOOTHING:
        torch.manual_seed(seed)
        model = small_model(english, chinese)
        config = TrainingConfig(
            max_steps=max(STEPS),
            batch_tokens=1000,
            learning_rate=7e-3,
            schedule="inverse_sqrt",
            label_smoothing=smoothing,
            seed=seed,
        )
        trainer = Trainer(model, TranslationBatches(examples, config), config)
        for step in STEPS:
            while len(trainer.losses) < step:
                trainer.step()
            found = decode(model.eval(), chinese, sources, step == EARLY)
            for way, rows in found.items():
                scores = judge(rows, log_probs(model, sources, rows))
                for name, score in scores.items():
                    results[f"{smoothing:g}, {step}, {way}: {name}"] = score
            model.train()
    return results


def decode(
    model: Transformer,
    chinese: WordTokenizer,
    sources: list[list[int]],
    choose: bool,
) -> dict[str, list[list[int]]]:
    """Translate in each way; choose among samples only where asked to."""

    def translate(draw: Callable[[Tensor], Tensor]) -> list[list[int]]:
        found = generate(
            model, *pad(sources), max_length=LONGEST, next_token=draw
        )
        return [list(row) for row in found]

    generator = torch.Generator().manual_seed(0)
    found = {
        "greedy": translate(greedy),
        "cool": translate(sampler(generator, temperature=0.5)),
    }
    n = N_SAMPLES if choose else 1
    draws = [translate(sampler(generator)) for _ in range(n)]
    found["sample"] = draws[0]
    if choose:
        options = list(zip(*draws, strict=True))
        texts = [[chinese.decode(row) for row in rows] for rows in options]
        for way, best in (("chrf", minimum_bayes_risk), ("f1", most_shared)):
            found[way] = [
                rows[best(each)]
                for rows, each in zip(options, texts, strict=True)
            ]
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """The ways of decoding with and without smoothing, and the utilities."""

    def cells(at: str) -> list[str]:
        return [
            percent(results[f"{at}: exact"]),
            spread(results[f"{at}: bleu"], 1),
        ]

    head = ["步数 | steps", "解码 | decoding"]
    for smoothing in SMOOTHING:
        head += [
            f"平滑 {smoothing:g}，全对 | smoothing {smoothing:g}, exact",
            f"平滑 {smoothing:g}，BLEU | smoothing {smoothing:g}, BLEU",
        ]
    rows = [head]
    for step in STEPS:
        for way, title in WAYS.items():
            if f"0, {step}, {way}: exact" in results:
                row = [str(step), title]
                for smoothing in SMOOTHING:
                    row += cells(f"{smoothing:g}, {step}, {way}")
                rows.append(row)
    utilities = [
        ["解码 | decoding", "全对 | exact", "BLEU", "长度比 | length ratio"]
    ]
    for way, title in WAYS.items():
        at = f"0, {EARLY}, {way}"
        length = spread(results[f"{at}: length"], 2)
        utilities.append([title, *cells(at), length])
    return {"decoders": rows, "utilities": utilities}
