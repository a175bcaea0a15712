"""How much of a model must change in fine-tuning? For "Fine-tuning".

The pretrained trunk is tuned whole, or by LoRA of two ranks on its linear
layers, or not at all, and only what comes after it is trained. The task and
its sentences are those of fine-tuning. LoRA saves nothing if it is no better
than a frozen trunk, and costs nothing if it is as good as tuning the whole.

Each arm has the same rates and number of steps, and the rate with the best
accuracy on the same validation sentences.
"""

import random

from experiments.fine_tuning import PRETRAINING_RATE, accuracy, chapter
from experiments.record import percent
from experiments.sentence_models import LONGER, trained


SEEDS = range(3)
LABELLED = (100, 1000)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
STEPS = 500
ARMS = {
    0: "只训练输出头 | the head alone",
    1: "LoRA，秩 1 | LoRA, rank 1",
    8: "LoRA，秩 8 | LoRA, rank 8",
    None: "整个微调 | the whole model",
}


def run(seed: int) -> dict[str, float]:
    """Accuracy and rate by arm and number of labelled sentences."""
    page = chapter()
    labelled = page["labelled"]
    tested_on, chosen_on = labelled[:1000], labelled[1000:1500]
    drawn = random.Random(seed).sample(labelled[1500:], max(LABELLED))
    start = trained("80/10/10", PRETRAINING_RATE, seed, LONGER)
    found: dict[str, float] = {}
    for rank in ARMS:
        for n in LABELLED:
            scores = {}
            for rate in RATES:
                model = page["fine_tune"](
                    page["MeanClassifier"],
                    start,
                    drawn[:n],
                    seed,
                    STEPS,
                    rate,
                    rank,
                )
                scores[rate] = (
                    accuracy(model, chosen_on),
                    accuracy(model, tested_on),
                )
                key = f"rank {rank}, {n} labelled"
                found[f"{key}, validation at {rate:g}"] = scores[rate][0]
            best = max(RATES, key=lambda rate: scores[rate][0])
            found[key], found[f"{key}, rate"] = scores[best][1], best
            print(key, scores, flush=True)
        found[f"rank {rank}, parameters"] = page["learnt"](model)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "训练什么 | what is trained",
        "参数 | parameters",
        *(f"{n} 句 | {n} labelled" for n in LABELLED),
    ]
    rows = [
        [
            title,
            f"{results[f'rank {rank}, parameters'][0]:,.0f}",
            *(
                percent(results[f"rank {rank}, {n} labelled"])
                for n in LABELLED
            ),
        ]
        for rank, title in ARMS.items()
    ]
    return {"ranks": [head, *rows]}
