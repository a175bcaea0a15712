"""The weights that the package carries, scored again."""

import json
from pathlib import Path

from attention_book.cli.corpora import load_corpus
from attention_book.corpus import detokenize
from attention_book.decoding import score
from attention_book.fast_decoding import GRAMMAR, Translator


RESULTS = Path("benchmarks/results/grammar-model.json")


def test_the_committed_weights_score_what_is_written_down() -> None:
    written = json.loads(RESULTS.read_text())["exact"]
    bars = {"unseen sentences": 99.5, "unseen combinations": 98.5}
    translator = Translator.load()
    tests = load_corpus("grammar").tests
    assert set(tests) == set(bars) == set(written)
    training = {source for source, _ in load_corpus("grammar").train}
    for name, pairs in tests.items():
        sources, targets = zip(*pairs, strict=True)
        assert len(sources) == 1000
        assert not training & set(sources)
        outputs = translator.translate(sources)
        exact = score(outputs, [detokenize(text) for text in targets]).exact
        assert exact >= bars[name]
        assert abs(exact - written[name]) <= 0.2  # other kernels, other ties


def test_another_split_of_the_grammar_is_known_as_well() -> None:
    from attention_book.corpus import make_split

    split = make_split(n_train=1, n_test=300, seed=77)
    for pairs in (split.sentences, split.combinations):
        sources, targets = zip(*pairs, strict=True)
        outputs = Translator.load().translate(sources)
        exact = score(outputs, [detokenize(text) for text in targets]).exact
        assert exact >= 98.5


def test_the_file_is_small() -> None:
    assert GRAMMAR.stat().st_size < 2_500_000
