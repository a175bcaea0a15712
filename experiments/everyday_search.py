"""The search for a translator of everyday sentences: one choice at a time.

A small translator of both directions learns from some of the pairs. Each arm
changes one thing, in as many steps. The longer ones learn for as many epochs
as the large translator from all pairs, and change a second thing. What would
refute a choice: that its arm is no better than the base by more than seeds
differ. All are scored on validation sentences. The base has three seeds, the
others the first.

To train arms beforehand, in several processes: `python -m
experiments.everyday_search 0 2` takes every second one, from the first on.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attention_book.generation.scores import score
from experiments.everyday import Recipe, exam, kept_in, pairs_of, train
from experiments.record import spread


SEEDS = range(3)
BASE = Recipe(
    n_pairs=6000,
    dropout=0.3,
    batch_tokens=1000,
    max_steps=3000,
    warmup_steps=300,
    precision="fp32",
)
ARMS = {
    "base": BASE,
    "6 + 2 layers": replace(BASE, n_layers=6),
    "3 + 3 layers": replace(BASE, n_layers=3, n_decoder_layers=3),
    "192 wide": replace(BASE, d_model=192, learning_rate=1.5e-3),
    "2,000 subwords": replace(BASE, vocab_size=2000),
    "8,000 subwords": replace(BASE, vocab_size=8000),
    "two tables": replace(BASE, share_embeddings=False),
    "one direction, en-zh": replace(BASE, directions="en-zh"),
    "one direction, zh-en": replace(BASE, directions="zh-en"),
    "dropout 0.1": replace(BASE, dropout=0.1),
    "dropout 0.4": replace(BASE, dropout=0.4),
    "no smoothing": replace(BASE, label_smoothing=0.0),
    "words left out": replace(BASE, word_dropout=0.1),
    "subword dropout": replace(BASE, subword_dropout=0.1),
    "averaged": replace(BASE, averaged=True),
    "copies afresh": replace(BASE, more="copies afresh"),
    "back-translations": replace(BASE, more="back-translations"),
    "dictionary in frames": replace(BASE, more="cedict in frames"),
    "catalogues": replace(BASE, more="catalogues"),
    "grammar": replace(BASE, more="grammar"),
    "longer": replace(BASE, max_steps=5000),
    "longer, dropout 0.1": replace(BASE, max_steps=5000, dropout=0.1),
    "longer, 6 + 2 layers": replace(BASE, max_steps=5000, n_layers=6),
    "longer, 3 + 3 layers": replace(
        BASE, max_steps=5000, n_layers=3, n_decoder_layers=3
    ),
}
REPEATED = ("base",)
TITLES = {
    "base": "出发点 | the base",
    "6 + 2 layers": "六层加两层 | 6 + 2 layers",
    "3 + 3 layers": "三层加三层 | 3 + 3 layers",
    "192 wide": "宽 192 | 192 wide",
    "2,000 subwords": "2,000 个子词 | 2,000 subwords",
    "8,000 subwords": "8,000 个子词 | 8,000 subwords",
    "two tables": "两张嵌入表 | two tables of embeddings",
    "one direction, en-zh": "只学英译汉 | only English to Chinese",
    "one direction, zh-en": "只学汉译英 | only Chinese to English",
    "dropout 0.1": "随机失活 0.1 | dropout 0.1",
    "dropout 0.4": "随机失活 0.4 | dropout 0.4",
    "no smoothing": "没有标签平滑 | no label smoothing",
    "words left out": "漏掉一成原文词元 | 0.1 of source tokens left out",
    "subword dropout": "漏掉一成英语合并 | 0.1 of English merges left out",
    "averaged": "权重取平均 | averaged weights",
    "copies afresh": "加上抄写句，每轮换新 | copies too, made afresh",
    "back-translations": "加上回译 | back-translations too",
    "dictionary in frames": "词典里的词填进句子 | a dictionary's words in sentences",
    "catalogues": "加上消息目录 | messages of programs too",
    "grammar": "加上小语法 | the small grammar too",
    "longer": "更久 | longer",
    "longer, dropout 0.1": "更久，随机失活 0.1 | longer, dropout 0.1",
    "longer, 6 + 2 layers": "更久，六层加两层 | longer, 6 + 2 layers",
    "longer, 3 + 3 layers": "更久，三层加三层 | longer, 3 + 3 layers",
}


def measure(name: str, recipe: Recipe, seed: int) -> dict[str, float]:
    """Train an arm, and score it on the validation sentences."""
    path = kept_in(recipe, seed).with_suffix(".scores.json")
    if not path.exists():
        trained = train(recipe, seed, f"{name}, seed {seed}:")
        found = dict(trained.facts)
        _, validation = pairs_of(recipe)
        for direction in ("en-zh", "zh-en"):
            if recipe.directions in ("both", direction):
                known = exam(validation, direction)
                outputs = trained.translator.translate([*known])
                kept = path.with_suffix(f".{direction}.txt")
                kept.write_text("\n".join(outputs), "utf-8")
                scores = score(outputs, [*known.values()])
                for metric, value in scores._asdict().items():
                    found[f"{direction} {metric}"] = value
        path.write_text(json.dumps(found), "utf-8")
    facts: dict[str, float] = json.loads(path.read_text("utf-8"))
    del facts["seconds"]  # of processes that were not alone
    return {f"{name}: {key}": value for key, value in facts.items()}


def run(seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, recipe in ARMS.items():
        if seed == 0 or name in REPEATED:
            found |= measure(name, recipe, seed)
        else:
            found |= dict.fromkeys(measure(name, recipe, 0), "")
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    columns = {
        "epochs": "遍数 | epochs",
        "en-zh chrf": "英译汉，chrF | en–zh, chrF",
        "zh-en chrf": "汉译英，chrF | zh–en, chrF",
        "en-zh bits": "英译汉，比特 | en–zh, bits",
        "zh-en bits": "汉译英，比特 | zh–en, bits",
    }

    def cell(name: str, key: str) -> str:
        found: Sequence[Any] = results.get(f"{name}: {key}", ())
        values = [x for x in found if x != ""]
        if key == "epochs":
            return f"{values[0]:.0f}"
        digits = 2 if "bits" in key else 1
        if len(values) > 1:
            return spread(values, digits)
        return f"{values[0]:.{digits}f}" if values else "—"

    rows = [["改了什么 | what is changed", *columns.values()]]
    for name in ARMS:
        rows.append([TITLES[name], *(cell(name, key) for key in columns)])
    return {"arms": rows}


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    jobs = [(name, 0) for name in ARMS]
    jobs += [(name, seed) for seed in SEEDS[1:] for name in REPEATED]
    for arm, seed in jobs[first::step]:
        measure(arm, ARMS[arm], seed)
