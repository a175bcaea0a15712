"""The models as ONNX files, which onnxruntime reads: the same answers."""

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from attention_book import Translator
from attention_book.data.batches import pad
from attention_book.data.digits import load_digits
from attention_book.generation.classifier import Classifier
from attention_book.tokenizers.special_tokens import BOS
from corpora.bundled.everyday_model import exam_questions
from literate.chapter import defined_in
from tests.factories import make_transformer


pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.slow,
]  # as readers export
Session = onnxruntime.InferenceSession
# An axis has its name where it comes first: twice is a warning of PyTorch's.
SIZES = (
    {0: "batch", 1: "source"},
    {0: Dim.AUTO},
    {0: Dim.AUTO, 1: "target"},
)


def export(
    model: nn.Module, call: tuple[Tensor, ...], sizes: Any, folder: Path
) -> Session:
    """Write a file, and read it with another runtime."""
    path = folder / "model.onnx"
    torch.onnx.export(
        model, call, path, dynamic_shapes=sizes, dynamo=True, verbose=False
    )
    return Session(path, providers=["CPUExecutionProvider"])


def apart(
    session: Session, model: nn.Module, call: tuple[Tensor, ...]
) -> float:
    """How far the logits of both are from each other, at most."""
    names = [x.name for x in session.get_inputs()]
    inputs = {n: x.numpy() for n, x in zip(names, call, strict=True)}
    (found,) = session.run(None, inputs)
    with torch.no_grad():
        wanted = model(*call)
    assert wanted.std() > 0.1
    return (torch.from_numpy(found) - wanted).abs().max().item()


def calls_of(vocab_size: int) -> list[tuple[Tensor, ...]]:
    """Sources, lengths and targets; also of one sentence or one token."""
    generator = torch.Generator().manual_seed(0)
    calls = []
    for batch, source, target in ((3, 7, 5), (1, 1, 1), (2, 1, 9), (1, 40, 2)):
        shapes = (batch, source), (batch,), (batch, target)
        limits = (3, vocab_size), (1, source + 1), (3, vocab_size)
        calls.append(
            tuple(
                torch.randint(low, high, shape, generator=generator)
                for (low, high), shape in zip(limits, shapes, strict=True)
            )
        )
    return calls


def test_a_small_transformer(tmp_path: Path) -> None:
    model = make_transformer(n_layers=1, positions="rotary")
    example = (*pad([[5, 6, 7], [8, 9]]), torch.tensor([[BOS, 3, 4, 5]] * 2))
    session = export(model, example, SIZES, tmp_path)
    for call in calls_of(11):
        assert apart(session, model, call) < 1e-5


def test_the_digits(tmp_path: Path) -> None:
    model = Classifier.load().model
    example = (torch.zeros(2, 1, 28, 28),)
    session = export(model, example, ({0: "batch"},), tmp_path)
    _, test = load_digits()
    images = nn.functional.interpolate(test.images[:50], (28, 28))
    for batch in (images[:1], images):
        assert apart(session, model, (batch,)) < 1e-4


def test_the_translator(tmp_path: Path) -> None:
    """As the chapter exports it, and as it translates with the file."""
    wanted = ("EVERYDAY", "node", "SENTENCES", "BOS", "to_onnx", "EXAMPLE")
    chapter = defined_in("docs/fast/browser.md", *wanted)
    translator = Translator.load()
    session = chapter["to_onnx"](
        translator.model, chapter["EXAMPLE"], chapter["AXES"], tmp_path
    )
    for call in calls_of(4000):
        assert apart(session, translator.model, call) < 1e-4
    texts = [x.source for x in exam_questions() if x.name == "everyday"][:50]
    sources = [translator.encode(text) for text in texts]
    found = [chapter["translate_onnx"](session, x) for x in sources]
    assert found == translator.generate(sources)
