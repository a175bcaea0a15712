"""Make the model that the wheel carries: python -m benchmarks.grammar_model

It is trained by the command of the book with no option but the file's name,
written in half precision to attention_book/models/grammar.safetensors, and
scored as written; seed, time and scores go to results/grammar-model.json.
Without two quiet cores the time is no measure.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from attention_book.checkpoints import load_model, save_model
from attention_book.cli.corpora import load_corpus
from attention_book.corpus import detokenize
from attention_book.decoding import score
from attention_book.fast_decoding import GRAMMAR, Translator


RESULTS = Path(__file__).with_name("results") / "grammar-model.json"
COMMAND = ["attention_book.cli", "train", "grammar.safetensors"]


def evaluate() -> dict[str, float]:
    """Score the model that the package carries: exact matches in percent."""
    translator = Translator.load()
    scores = {}
    for name, pairs in load_corpus("grammar").tests.items():
        sources, targets = zip(*pairs, strict=True)
        outputs = translator.translate(sources)
        references = [detokenize(target) for target in targets]
        scores[name] = score(outputs, references).exact
    return scores


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", *COMMAND], cwd=folder, check=True
        )
        seconds = time.perf_counter() - start
        saved = load_model(Path(folder, COMMAND[-1]))
    save_model(
        GRAMMAR,
        saved.model,
        tokenizers=saved.tokenizers,
        dtype=torch.float16,
    )
    results = {
        "command": "attention-book train grammar.safetensors",
        "seed": 0,
        "seconds": round(seconds),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "exact": evaluate(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
