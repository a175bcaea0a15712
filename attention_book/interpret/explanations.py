# Made from docs/source/explain.md (c9baf061d452). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""On what a translation, or the class of an image, depends.

Explained on the page "Tools for explanations".
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_book.data.images import read_digit
from attention_book.generation.alignment import cross_weights
from attention_book.generation.classifier import Classifier
from attention_book.generation.translator import Translator
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.interpret.patching import occlusion
from attention_book.interpret.pictures import HeatMap
from attention_book.tokenizers.directions import DIRECTIONS
from attention_book.tokenizers.special_tokens import BOS, SPECIAL_TOKENS


__all__ = ["Explanation", "explain_image", "explain_sentence"]


class Explanation(NamedTuple):
    """What a model answered, and what can be said about why."""

    output: str
    heat_maps: list[HeatMap]


def explain_sentence(
    translator: Translator, text: str, *, beam_size: int = 1
) -> Explanation:
    """Translate a sentence, and weigh its words for each token of the output.

    The first map has the weights of cross-attention, the mean of all layers
    and heads. The second has by how much the log-probability of the token
    falls when a token of the source is left out, its place kept.

    Raises:
        ValueError: No sentence, or a word that the model does not know.
    """
    source = translator.encode(text)
    (target,) = translator.generate([source], beam_size)
    model = translator.model
    device = next(model.parameters()).device
    inputs = (
        torch.tensor([source], device=device),
        torch.tensor([len(source)], device=device),
        torch.tensor([[BOS, *target]], device=device)[:, : len(target)],
    )

    def log_probs(logits: Tensor) -> Tensor:
        return logits[0].log_softmax(-1)[range(len(target)), target]

    weights = cross_weights(model, source, target)
    effects = occlusion(model, inputs, "source_embedding.tokens", log_probs)
    maps = {
        "Cross-attention, mean of all layers and heads": weights.mean((0, 1)),
        "Fall of the log-probability when the word is left out": effects,
    }
    rows = [translator.target.decode([token]) or "<eos>" for token in target]
    columns = [translator.source.decode([token]) for token in source]
    if translator.is_bidirectional:
        columns[0] = DIRECTIONS[source[0] - len(SPECIAL_TOKENS)]
    return Explanation(
        translator.target.decode(target),
        [HeatMap(name, rows, columns, x.cpu()) for name, x in maps.items()],
    )


def explain_image(classifier: Classifier, source: Any) -> Explanation:
    """Name the class of an image, and weigh its patches.

    The maps are the image as the model sees it, the attention rollout of the
    token that is classified, and by how much the log-probability of the
    answer falls when a patch is left out, its place kept.

    Args:
        classifier: What answers.
        source: The path of an image file, or a Pillow image.

    Raises:
        ValueError: It is no image, or an empty one.
    """
    model = classifier.model
    config = model.config
    image = read_digit(source, config.image_size)
    compute = classifier.compute
    images = image[None].to(compute.device, compute.dtype)
    with torch.no_grad():
        answer = int(model(images).argmax())
    rollout = attention_rollout(mixing_matrices(model, [images]))[0]
    n = config.grid
    seen = rollout.mean(0) if config.pooling == "mean" else rollout[0]

    def log_prob(logits: Tensor) -> Tensor:
        return logits.log_softmax(-1)[0, [answer]]

    (effects,) = occlusion(model, [images], "embed", log_prob)

    def to_map(title: str, values: Tensor, n: int) -> HeatMap:
        names = [str(i + 1) for i in range(n)]
        grid = values.float().cpu().reshape(n, n)
        return HeatMap(title, names, names, grid)

    return Explanation(
        classifier.labels[answer],
        [
            to_map("The image", image, config.image_size),
            to_map("Attention rollout", seen[-(n**2) :], n),
            to_map(
                "Fall of the log-probability when the patch is left out",
                effects,
                n,
            ),
        ],
    )
