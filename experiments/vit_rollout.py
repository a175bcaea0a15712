"""Does attention rollout find the patch that an answer depends on? For "ViT".

The ViT of the chapter, trained with five seeds. The patch that matters most is
the one whose loss lowers the right answer's log-probability most. Rollout
should find it more often than a guess among the patches with any ink, and
than the patch with the most ink, which needs no model.
"""

import torch

from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.models.vit import patchify
from attention_book.training.classifiers import ImageBatches, train_classifier
from experiments.record import percent
from experiments.vit import CHAPTER, EPOCHS, accuracy, vit
from literate.chapter import defined_in


SEEDS = range(5)
RATE = 0.003  # the chapter's
NAMES = {
    "rollout": "注意力展开 | attention rollout",
    "last": "最后一层的权重 | weights of the last layer",
    "any": "有墨的块里随机猜 | a guess among patches with ink",
    "ink": "墨最多的块 | the patch with most ink",
}


def run(seed: int) -> dict[str, float]:
    chapter = defined_in(CHAPTER, "torch", "fit", "decisive")
    fit, test = chapter["fit"], chapter["test"]
    torch.manual_seed(seed)
    model = vit()
    train_classifier(
        model,
        ImageBatches(fit, seed=seed),
        n_epochs=EPOCHS["all"],
        learning_rate=RATE,
        seed=seed,
    )
    most = chapter["decisive"](model, test)
    mixing = mixing_matrices(model, [test.images])
    ink = patchify(test.images, 2).sum(dim=-1)
    chosen = {
        "rollout": attention_rollout(mixing)[:, 0, 1:],
        "last": mixing[-1][:, 0, 1:],
        "ink": ink,
    }
    found = {
        name: (x.argmax(dim=1) == most).double().mean().item()
        for name, x in chosen.items()
    }
    inked = (ink > 0).double()
    chance = inked.gather(1, most[:, None])[:, 0] / inked.sum(dim=1)
    return found | {
        "any": chance.mean().item(),
        "right": accuracy(model, test),
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["怎样挑 | chosen by", "猜中 | found"]
    rows = [
        [title, percent(results[name], 0)] for name, title in NAMES.items()
    ]
    return {"agree": [head, *rows]}
