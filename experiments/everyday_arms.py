"""The arms of the search for a translator: one choice at a time.

A small translator of both directions, trained for a fixed number of steps;
each arm changes one thing. What would refute a choice: that its arm is no
better than the base by more than seeds differ.
"""

from dataclasses import replace

from attention_book.generation.scores import score
from experiments.everyday import Recipe, exam, pairs_of, train


BASE = Recipe()
ARMS = {
    "base": BASE,
    "characters joined": replace(BASE, characters_apart=False),
    "2,000 subwords": replace(BASE, vocab_size=2000),
    "8,000 subwords": replace(BASE, vocab_size=8000),
    "no dropout": replace(BASE, dropout=0.0),
    "dropout 0.3": replace(BASE, dropout=0.3),
    "no smoothing": replace(BASE, label_smoothing=0.0),
    "subword dropout": replace(BASE, subword_dropout=0.1),
    "2 + 4 layers": replace(BASE, n_layers=2, n_decoder_layers=4),
    "3 + 3 layers": replace(BASE, n_layers=3, n_decoder_layers=3),
    "two tables": replace(BASE, share_embeddings=False),
    "one direction, en-zh": replace(BASE, directions="en-zh"),
    "one direction, zh-en": replace(BASE, directions="zh-en"),
    "catalogues too": replace(BASE, more="catalogues"),
    "copies too": replace(BASE, more="copies"),
    "grammar too": replace(BASE, more="grammar"),
    "dictionary too": replace(BASE, more="cedict"),
    "dictionary in frames": replace(BASE, more="cedict in frames"),
    "half the batch": replace(BASE, batch_tokens=1000),
    "rate × 2": replace(BASE, learning_rate=4e-3),
    "rate ÷ 2": replace(BASE, learning_rate=1e-3),
}


def measure(name: str, recipe: Recipe, seed: int) -> dict[str, float]:
    """Train an arm, and score it on the validation sentences."""
    trained = train(recipe, seed, f"{name}, seed {seed}:")
    found = dict(trained.facts)
    _, validation = pairs_of(recipe)
    for direction in ("en-zh", "zh-en"):
        if recipe.directions in ("both", direction):
            known = exam(validation, direction)
            outputs = trained.translator.translate([*known])
            scores = score(outputs, [*known.values()])
            for metric, value in scores._asdict().items():
                found[f"{direction} {metric}"] = value
    return {f"{name}: {key}": value for key, value in found.items()}
