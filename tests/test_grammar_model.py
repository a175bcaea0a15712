"""The weights that the package carries, scored again."""

import json
from pathlib import Path

import pytest

from attention_book.cli.corpora import load_corpus
from attention_book.corpus import detokenize, make_split
from attention_book.decoding import score
from attention_book.fast_decoding import GRAMMAR, Translator


RESULTS = Path("benchmarks/results/grammar-model.json")
pytestmark = pytest.mark.usefixtures("unchecked")  # as readers run it


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def exact_matches(
    translator: Translator, pairs: list[tuple[str, str]]
) -> float:
    """Exact matches of the translations with the references, in percent."""
    sources, targets = zip(*pairs, strict=True)
    outputs = translator.translate(sources)
    return score(outputs, [detokenize(text) for text in targets]).exact


def test_the_committed_weights_score_what_is_written_down(
    translator: Translator,
) -> None:
    written = json.loads(RESULTS.read_text())["exact"]
    bars = {"unseen sentences": 99.5, "unseen combinations": 98.5}
    corpus = load_corpus("grammar")
    assert set(corpus.tests) == set(bars) == set(written)
    training = {source for source, _ in corpus.train}
    for name, pairs in corpus.tests.items():
        assert len(pairs) == 1000
        assert not training & {source for source, _ in pairs}
        exact = exact_matches(translator, pairs)
        assert exact >= bars[name]
        assert abs(exact - written[name]) <= 0.2  # other kernels, other ties


def test_another_split_of_the_grammar_is_known_as_well(
    translator: Translator,
) -> None:
    split = make_split(n_train=1, n_test=300, seed=77)
    assert exact_matches(translator, split.sentences) >= 98.5
    assert exact_matches(translator, split.combinations) >= 98.5


def test_the_file_is_small() -> None:
    assert GRAMMAR.stat().st_size < 2_500_000
