"""Why mask-predict errs more than word by word, on a grammar of one answer.

Two causes are asked about, each changed alone. Fewer tokens take part in a
step: then word by word should do as badly when its loss counts as many tokens,
half of them on average. Blanks take longer to learn: then
mask-predict should catch up when it is trained twice as long.
The learning rate of either kind of model is chosen by 500 validation
sentences, and the results are those of 500 others. Models, loss and schedule
are those of experiments.mask_predict.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    translation_loss,
)
from attention_book.data.batches import pad
from attention_book.data.split import make_split
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.losses import cross_entropy
from attention_book.training.mask_predict import mask_predict_loss
from experiments.mask_predict import in_iterations, same, word_by_word
from experiments.record import percent


SEEDS = range(3)
RATES = (4e-3, 8e-3)
STEPS = 800
LONGER = (2,)
ITERATIONS = (1, 8)

Pairs = list[tuple[list[int], list[int]]]


def some_tokens(
    x: Tensor, weight: Tensor, labels: Tensor, label_smoothing: float
) -> Tensor:
    """The loss of a random share of the tokens, half of them on average."""
    share = torch.rand(())
    kept = torch.rand(len(labels)) < share
    kept[torch.randint(len(labels), ())] = True
    return cross_entropy(x[kept], weight, labels[kept], label_smoothing)


def half_loss(model: Transformer, batch: Any, smoothing: float = 0.0) -> Any:
    return translation_loss(model, batch, smoothing, some_tokens)


class Task:
    """Sentences to learn, to choose by and to be judged by."""

    def __init__(self) -> None:
        split = make_split(n_train=20_000, n_test=1000)
        self.english = WordTokenizer.train(text for text, _ in split.train)
        self.chinese = WordTokenizer.train(text for _, text in split.train)
        self.train = encode_pairs(split.train, self.english, self.chinese)
        held_out = encode_pairs(split.sentences, self.english, self.chinese)
        self.parts = {"choose": held_out[500:], "judge": held_out[:500]}

    def model(self, masked: bool, seed: int) -> Any:
        shape: dict[str, Any] = {
            "source_vocab_size": len(self.english),
            "target_vocab_size": len(self.chinese) + masked,
            "d_model": 64,
            "n_heads": 4,
            "d_ff": 256,
            "n_layers": 1,
            "dropout": 0.0,
            "norm": "pre",
        }
        torch.manual_seed(seed)
        if masked:
            return MaskedTransformer(MaskedTransformerConfig(**shape))
        return Transformer(TransformerConfig(**shape))

    def learn(
        self,
        loss_fn: Callable[..., Any],
        rate: float,
        seed: int,
        steps: int = STEPS,
    ) -> nn.Module:
        model = self.model(loss_fn is mask_predict_loss, seed)
        config = TrainingConfig(
            max_steps=steps, batch_tokens=700, learning_rate=rate, seed=seed
        )
        batches = TranslationBatches(self.train, config)
        trainer = Trainer(model, batches, config, loss_fn)
        for _ in range(steps):
            trainer.step()
        return trainer.model.eval()

    def judge(self, model: Any, part: str, iterations: int = 8) -> float:
        """The share of translations that are right to the character."""
        pairs: Pairs = self.parts[part]
        source, lengths = pad([ids for ids, _ in pairs])
        wanted = [ids[1:-1] for _, ids in pairs]
        if not isinstance(model, MaskedTransformer):
            return same(word_by_word(model, source, lengths), wanted)
        with torch.no_grad():
            memory, mask = model.encode(source, lengths)
            n = 1 + model.score_lengths(memory, mask).argmax(1)
        found, _ = in_iterations(model, memory, mask, n, iterations)
        return same(found, wanted)


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    task = Task()
    results: dict[str, float] = {}
    best: dict[str, float] = {}
    models: dict[str, Any] = {}
    for name, loss in {
        "word by word": translation_loss,
        "mask-predict": mask_predict_loss,
    }.items():
        tried = {rate: task.learn(loss, rate, seed) for rate in RATES}
        scores = {
            rate: task.judge(model, "choose") for rate, model in tried.items()
        }
        for rate, value in scores.items():
            results[f"{name}, {rate:g}: validation"] = value
        best[name] = max(scores, key=scores.__getitem__)
        results[f"{name}: rate"] = best[name]
        models[name] = tried[best[name]]
    results["word by word"] = task.judge(models["word by word"], "judge")
    half = task.learn(half_loss, best["word by word"], seed)
    results["word by word, half"] = task.judge(half, "judge")
    shorter = task.learn(
        translation_loss, best["word by word"], seed, STEPS // 2
    )
    results["word by word, half the steps"] = task.judge(shorter, "judge")
    for times in (1, *LONGER):
        model = models["mask-predict"]
        if times > 1:
            rate = best["mask-predict"]
            model = task.learn(mask_predict_loss, rate, seed, times * STEPS)
        for t in ITERATIONS:
            at = f"mask-predict, {times} times as long, {t}"
            results[at] = task.judge(model, "judge", t)
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    causes = [
        [
            "训练 | training",
            "步数 | steps",
            "1 次迭代 | 1 iteration",
            "8 次迭代 | 8 iterations",
        ]
    ]
    for key, title, steps in (
        ("word by word", "自回归 | autoregressive", STEPS),
        (
            "word by word, half",
            "自回归，损失只算随机一半词元 | autoregressive, half of the tokens",
            STEPS,
        ),
        (
            "word by word, half the steps",
            "自回归 | autoregressive",
            STEPS // 2,
        ),
    ):
        causes.append([title, str(steps), percent(results[key]), "–"])
    for times in (1, *LONGER):
        at = f"mask-predict, {times} times as long"
        causes.append(
            [
                "mask-predict",
                f"{times * STEPS:,}",
                *(percent(results[f"{at}, {t}"]) for t in ITERATIONS),
            ]
        )
    rates = [
        ["学习率 | learning rate", *(f"{rate:g}" for rate in RATES)],
    ]
    for key, title in {
        "word by word": "自回归 | autoregressive",
        "mask-predict": "mask-predict，8 次迭代 | mask-predict, 8 iterations",
    }.items():
        row = [percent(results[f"{key}, {r:g}: validation"]) for r in RATES]
        rates.append([title, *row])
    return {"causes": causes, "rates": rates}
