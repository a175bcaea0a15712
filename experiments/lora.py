"""How much of a model must change in fine-tuning? For "Fine-tuning".

The pretrained trunk is tuned whole, or by LoRA of two ranks on its linear
layers, or not at all, and only what comes after it is trained. The task and
its sentences are those of fine-tuning. LoRA saves nothing if it is no better
than a frozen trunk, and costs nothing if it is as good as tuning the whole.

Each arm has the same rates and number of steps, and the rate with the best
score on the same validation sentences.
"""

from experiments.fine_tuning import chapter, draw
from experiments.record import percent
from experiments.sentence_models import best


SEEDS = range(3)
LABELLED = (30, 300)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
STEPS = 300
ARMS = {
    0: "只训练输出头 | the head alone",
    1: "LoRA，秩 1 | LoRA, rank 1",
    8: "LoRA，秩 8 | LoRA, rank 8",
    None: "整个微调 | the whole model",
}


def run(seed: int) -> dict[str, float]:
    """Score and rate by arm and number of labelled sentences."""
    page = chapter()
    start = best("80/10/10", seed)
    found: dict[str, float] = {}
    for rank in ARMS:
        for n in LABELLED:
            training, chosen_on, tested_on = draw(seed, n)
            scores = {}
            for rate in RATES:
                model = page["fine_tune"](
                    start, training, seed, STEPS, rate, rank
                )
                scores[rate] = (
                    page["whole"](model, chosen_on),
                    page["whole"](model, tested_on),
                )
                key = f"rank {rank}, {n} labelled"
                found[f"{key}, validation at {rate:g}"] = scores[rate][0]
            chosen = max(RATES, key=lambda rate: scores[rate][0])
            found[key], found[f"{key}, rate"] = scores[chosen][1], chosen
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
