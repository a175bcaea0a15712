"""The translator in the reader's browser, beside that of the package."""

import base64
import os
import random
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book import (
    Translator,
    beam_search,
    generate,
    save_model,
    without_heads,
)
from attention_book.data.batches import pad
from attention_book.data.sources import load_corpus
from attention_book.generation.confidence import Calibration
from attention_book.generation.generate import Hypothesis
from attention_book.generation.lost import find_lost
from attention_book.generation.translator import EVERYDAY
from attention_book.io.checkpoints import load_model
from attention_book.io.tensors import read_tensors, to_int8, write_tensors
from attention_book.tokenizers.special_tokens import BOS, EOS
from corpora.bundled.everyday_model import exam_questions
from corpora.exam import read_exam
from experiments.broken_translator import UnmaskedDecoder, tempered
from tests.factories import make_transformer
from tests.node import run_node
from tests.torch_state import randomise


pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.slow,
]  # as readers run it
SCRIPT = """
import { readFileSync } from "node:fs";
const live = (name) => import(new URL(name, process.argv[1]));
const { beamSearch, generate } = await live("generation.js");
const { LayerNorm } = await live("layers.js");
const { Matrix, readTensors } = await live("tensors.js");
const { BPETokenizer, withDirection } = await live("tokenizers.js");
const { Transformer } = await live("transformer.js");
const { calibrate, findLost, Translator } = await live("translator.js");

const given = JSON.parse(readFileSync(0));
const buffer = new Uint8Array(readFileSync(given.path)).buffer;
const file = readTensors(buffer);
const [saved] = JSON.parse(file.metadata?.tokenizers ?? "[]");
const tokenizer = saved && new BPETokenizer(JSON.parse(saved));
const pack = ({ data }) => Buffer.from(data.buffer).toString("base64");
const row = (numbers) => new Matrix(1, numbers.length, Float32Array.from(numbers));
let translator;
const ways = {
  encode: (text) => tokenizer.encode(withDirection(text)),
  decode: (ids) => tokenizer.decode(ids),
  lost: ([source, text]) => findLost(source, text, tokenizer),
  confidence: ([mean, calibration]) => calibrate(mean, calibration),
  tensor: (name) => pack(file.tensors[name]),
  norm({ weight, bias, x }) {
    const tensors = { "n.weight": row(weight), "n.bias": row(bias) };
    return pack(new LayerNorm(tensors, "n").forward(row(x)));
  },
  logits([source, target]) {
    const model = new Transformer(file);
    return pack(model.decode(target, model.encode(source)));
  },
  search({ sources, silent = {}, temperature = 1, isCausal = true, beamSize = 1 }) {
    const model = new Transformer(file), attentions = attentionsOf(model);
    for (const attention of Object.values(attentions)) attention.temperature = temperature;
    for (const [name, heads] of Object.entries(silent)) attentions[name].silent = new Set(heads);
    return sources.map((source) => {
      const maxLength = 2 * source.length + 16;
      const { tokenIds, logProb } = beamSize === 1
        ? generate(model, source, { maxLength, isCausal })
        : beamSearch(model, source, { maxLength, beamSize });
      return [tokenIds, logProb];
    });
  },
  translate: (text) => (translator ??= new Translator(buffer)).translate(text, { beamSize: 2 }),
};

function attentionsOf({ encoder, decoder }) {
  return Object.fromEntries([
    ...encoder.map((layer, i) => [`encoder.layers.${i}.self_attention`, layer.selfAttention]),
    ...decoder.flatMap((layer, i) => [
      [`decoder.layers.${i}.self_attention`, layer.selfAttention],
      [`decoder.layers.${i}.cross_attention`, layer.crossAttention]]),
  ]);
}

console.log(JSON.stringify(given.items.map((item) => ways[given.way](item))));
"""
ODD = [
    "",
    " ",
    "  two  spaces ",
    "\n",
    "a\nb\t c\r\n",
    "<2en>",
    "<2zh>",
    "<2en>I go the wrong way.",
    "<2zh>我走错了。",
    " <2zh>not at the beginning",
    "<pad><bos><eos>",
    "don't I'll we've they're it's 'tis O'Neil's rock'n'roll I'M 'Sam's",
    "a'sé 'd2 'll' 's² 't_ 're½",
    "½ cup, ¾ l, x², H₂O, ①②③, Ⅷ, ⅻ, 〇 and 二〇二六",
    "１２３ 456 ٣٤٥ ४२ 1,234.56 50% −3 1e−5 007",
    "e\N{COMBINING ACUTE ACCENT}tude café cafe\N{COMBINING ACUTE ACCENT}",
    "a\N{COMBINING ACUTE ACCENT}" * 3,
    "👍🏽 👩‍👩‍👧 🇨🇳 ☕️ I ❤️ NY",
    "我在iPhone15上看YouTube，用了2个小时。",
    "Tom说：“OK！”然后就走了",
    "他1990年出生於北京。㐀㐁龥鿿豈𠀀𠮷",
    "ひらがな カタカナ 한국어 العربية עברית ไทย हिन्दी",
    "snake_case camelCase __init__ x_1 http://a.b/c?d=e&f=%20",
    "«Ça va?» — “yes” ‘no’ … ¿qué? ¡hola!",
    "\N{NO-BREAK SPACE}a\N{NO-BREAK SPACE}b\N{ZERO WIDTH SPACE}c\ufeffd",
    "\N{IDEOGRAPHIC SPACE}全角　空格\N{IDEOGRAPHIC SPACE}",
    "\ufeffa mark of byte order\ufffd",
    "\x00\x01\x7f\x80\x9f\u2028\u2029\ue000\U0010ffff",
    "İstanbul ﬃ ß ẞ Σίσυφος ς ǅ",
    "A" * 300,
    "很" * 200,
    "word " * 100,
    "?!?!?!......———",
]
HEADS = range(4)
BROKEN: dict[str, dict[str, Any]] = {
    "encoder head": {"silent": {"encoder.layers.5.self_attention": [2]}},
    "decoder head": {"silent": {"decoder.layers.0.self_attention": [0]}},
    "cross heads": {"silent": {"decoder.layers.1.cross_attention": [1, 3]}},
    "cross layer": {"silent": {"decoder.layers.0.cross_attention": [*HEADS]}},
    "layers": {
        "silent": {
            "encoder.layers.0.self_attention": [*HEADS],
            "decoder.layers.1.self_attention": [*HEADS],
        }
    },
    "sharp": {"temperature": 0.25},
    "blunt": {"temperature": 2},
    "no mask": {"isCausal": False},
    "all three": {
        "silent": {"encoder.layers.2.self_attention": [0, 1]},
        "temperature": 1.5,
        "isCausal": False,
    },
}
SMALL: dict[str, Any] = {  # 13 tokens: the loops take four at a time
    "target_vocab_size": 13,
    "share_embeddings": True,
    "norm": "pre",
}
SIZES: list[dict[str, Any]] = [
    {"d_model": 14, "n_heads": 2, "d_ff": 11, "n_layers": 1},
    {"d_model": 24, "n_heads": 3, "d_ff": 10, "n_decoder_layers": 3},
]


def run(way: str, items: Any, path: Path = EVERYDAY) -> list[Any]:
    """What the scripts make of each item, and of the file at path."""
    given = {"way": way, "items": items, "path": str(path)}
    found: list[Any] = run_node(SCRIPT, given)
    assert len(found) == len(items)
    return found


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def exam_texts() -> list[str]:
    """All sentences of the exam, in both languages and ways."""
    rows = [*read_exam("everyday"), *read_exam("outside")]
    return [text for row in rows for text in [*row.values()][1:]]


def characters() -> list[str]:
    """Characters of all scripts, which any version of Unicode knows."""
    known = [
        chr(i)
        for i in range(sys.maxunicode + 1)
        if unicodedata.ucd_3_2_0.category(chr(i)) not in ("Cn", "Cs", "Co")
    ]
    return known[:1000] + known[1000::37]


def test_texts_are_cut_and_joined_as_the_package_does(
    translator: Translator,
) -> None:
    known = characters()
    rows = [known[i : i + 30] for i in range(0, len(known), 30)]
    texts = [*exam_texts(), *ODD]
    texts += ["".join(f"a{c} {c}b{c}1" for c in row) for row in rows]
    encoded = [translator.encode(text) for text in texts]
    assert len({*texts}) > 1700
    found = run("encode", texts)
    assert dict(zip(texts, found, strict=True)) == dict(
        zip(texts, encoded, strict=True)
    )
    rng = random.Random(0)
    n_special = translator.source.n_special
    mark_of_order = [n_special + byte for byte in "\ufeffa".encode()]
    ids = [*encoded, mark_of_order] + [
        [rng.randrange(rng.choice((3, 300, 4000))) for _ in range(9)]
        for _ in range(2000)
    ]
    decoded = [translator.source.decode(row) for row in ids]
    assert any("\ufffd" in text for text in decoded)
    assert run("decode", ids) == decoded


def compare(
    wanted: list[Hypothesis], found: list[tuple[list[int], float]]
) -> None:
    """Hold what the scripts wrote against what the package writes.

    One in two hundred may differ: where two tokens are as likely, another
    processor adds up in another order.
    """
    pairs = [*zip(wanted, found, strict=True)]
    alike = [(x, log_prob) for x, (tokens, log_prob) in pairs if x == tokens]
    assert len(pairs) - len(alike) <= len(pairs) // 200
    for hypothesis, log_prob in alike:
        assert log_prob == pytest.approx(hypothesis.log_prob, abs=1e-3)


def broken(
    whole: Translator,
    silent: dict[str, list[int]] | None = None,
    temperature: float = 1.0,
    isCausal: bool = True,
) -> Translator:
    """The translator with what BROKEN says of it."""
    model = tempered(without_heads(whole.model, silent or {}), temperature)
    changed = Translator(model, whole.source, whole.target)
    if not isCausal:
        changed.decoder = UnmaskedDecoder(changed.model)
    return changed


def check_broken(
    whole: Translator, names: Iterable[str], sources: list[list[int]]
) -> None:
    """The scripts, broken alike, write the same as the package."""
    ways = [BROKEN[name] for name in names]
    searches = [how | {"sources": sources} for how in ways]
    before = whole.generate(sources)
    for how, found in zip(ways, run("search", searches), strict=True):
        changed = broken(whole, **how)
        wanted = changed.generate(sources, with_log_probs=True)
        assert wanted != before  # it does something
        compare(wanted, found)


def check_searches(whole: Translator, sources: list[list[int]]) -> None:
    """Greedy search writes the same as the package, and on a quarter beams do."""
    few = sources[: len(sources) // 4]
    searches = [{"sources": sources}, {"sources": few, "beamSize": 4}]
    greedy, best = run("search", searches)
    compare(whole.generate(sources, with_log_probs=True), greedy)
    compare(whole.generate(few, beam_size=4), best)
    assert greedy[: len(few)] != best


def sources_of(translator: Translator, every: int) -> list[list[int]]:
    """Some of the exam's everyday questions, in either direction."""
    texts = [x.source for x in exam_questions() if x.name == "everyday"]
    pairs = zip(texts[:: 2 * every], texts[1 :: 2 * every], strict=True)
    return [translator.encode(text) for pair in pairs for text in pair]


def test_a_broken_model_translates_fifty_sentences_alike(
    translator: Translator,
) -> None:
    sources = sources_of(translator, every=12)
    assert len(sources) == 50
    check_broken(translator, BROKEN, sources)


@pytest.mark.parametrize("name", ["exam", "Tatoeba"])
def test_hundreds_of_translations_are_those_of_the_package(
    name: str, translator: Translator
) -> None:
    """In both directions; of Tatoeba what the model was not trained on."""
    if name == "exam":
        texts = [x.source for x in exam_questions()[:400]]
    else:
        path = os.environ.get("EVERYDAY_PAIRS")
        if not path:
            pytest.skip(
                "EVERYDAY_PAIRS is not set to the path of Tatoeba's pairs, "
                "which are not in the repository"
            )
        (test,) = load_corpus(path).tests.values()
        texts = [text for pair in test[:200] for text in pair]
    assert len(texts) >= 400
    check_searches(translator, [translator.encode(text) for text in texts])


def unpack(text: str, n_rows: int = 1) -> Tensor:
    """The rows of a matrix that a script has packed."""
    data = bytearray(base64.b64decode(text))
    return torch.frombuffer(data, dtype=torch.float32).view(n_rows, -1)


def check_logits(
    path: Path, pairs: list[tuple[list[int], list[int]]], least: float
) -> None:
    """Given the right tokens before, the next ones are as likely."""
    model = load_model(path).model
    found = run("logits", pairs, path)
    for (source, target), packed in zip(pairs, found, strict=True):
        x, lengths = torch.tensor([source]), torch.tensor([len(source)])
        with torch.no_grad():
            wanted = model(x, lengths, torch.tensor([target]))[0]
        assert wanted.std() > least
        apart = (unpack(packed, len(target)) - wanted).abs().max()
        assert apart < 1e-4


def test_logits_of_the_shipped_file(translator: Translator) -> None:
    questions = exam_questions()[::90]
    pairs = [
        (
            translator.encode(x.source),
            [BOS, *translator.target.encode(x.references[0]), EOS],
        )
        for x in questions
    ]
    assert max(len(source) for source, _ in pairs) > 20
    check_logits(EVERYDAY, pairs, least=1)


def rows_of_ids(lengths: Iterable[int], seed: int = 0) -> list[list[int]]:
    """Token ids for a small model."""
    rng = random.Random(seed)
    return [[rng.randrange(3, 13) for _ in range(n)] for n in lengths]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
@pytest.mark.parametrize("sizes", SIZES)
def test_logits_of_other_sizes_and_types(
    sizes: dict[str, Any], dtype: torch.dtype, tmp_path: Path
) -> None:
    model = make_transformer(**SMALL | sizes)
    randomise(model)
    path = tmp_path / "model.safetensors"
    save_model(path, model, dtype=dtype)
    rows = rows_of_ids((1, 2, 7, 11))
    pairs = [(x, [BOS, *y]) for x in rows for y in ([], *rows)]
    check_logits(path, pairs, least=0.1)


def test_searches_of_a_model_that_is_less_sure(tmp_path: Path) -> None:
    """Where hypotheses of many lengths end, the penalty decides."""
    sources = rows_of_ids([1, 2, 3, 5, 7] * 6)
    model = make_transformer(seed=1, **SMALL)
    randomise(model)
    for layer in model.decoder.layers:
        layer.cross_attention.kv_proj.weight.data *= 3
    path = tmp_path / "model.safetensors"
    save_model(path, model)
    sizes = (1, 2, 5)
    searches = [{"sources": sources, "beamSize": n} for n in sizes]
    for n, found in zip(sizes, run("search", searches, path), strict=True):
        wanted = []
        for source in sources:
            x, options = pad([source]), {"max_length": 2 * len(source) + 16}
            if n == 1:
                wanted += generate(model, *x, **options, with_log_probs=True)
            else:
                wanted += beam_search(model, *x, **options, beam_size=n)
        compare(wanted, found)
        assert len({tuple(row) for row in wanted}) > 10


def test_every_half_is_read(tmp_path: Path) -> None:
    """The numbers of 16 bits that are finite, and rows of 8 bits."""
    bits = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    halves = bits.view(torch.float16)
    halves = halves[halves.isfinite()]
    matrix = torch.randn(3, 7)
    path = tmp_path / "numbers.safetensors"
    rounded = to_int8({"model.x.weight": matrix})
    write_tensors(path, {"halves": halves, **rounded}, {})
    found = run("tensor", ["halves", "model.x.weight"], path)
    assert torch.equal(unpack(found[0])[0], halves.float())
    wanted = read_tensors(path)[0]["model.x.weight"].float()
    torch.testing.assert_close(unpack(found[1], 3), wanted)


def test_a_norm_of_what_hardly_varies() -> None:
    """That is where what it adds to the variance counts."""
    weight, bias, x = torch.randn(3, 11)
    items = [
        {"weight": weight.tolist(), "bias": bias.tolist(), "x": row.tolist()}
        for row in (x, x / 300, x * 0)
    ]
    for item, packed in zip(items, run("norm", items), strict=True):
        row = torch.tensor(item["x"])
        wanted = F.layer_norm(row, row.shape, weight, bias)
        torch.testing.assert_close(unpack(packed)[0], wanted)


def test_what_got_lost_is_what_the_package_finds(
    translator: Translator,
) -> None:
    """As if nothing had been written, or a reference, or something else."""
    questions = exam_questions()
    said = [(x.source, y) for x in questions for y in ("", x.references[0])]
    said += [(x, y) for x in ODD if x.isprintable() for y in ("", "2 words")]
    said += [
        ("At 9 I met Zbigniew, 20 cats and 35 dogs.", "九点，二十只，三十五。"),
        ("At 9 I met Zbigniew, 20 cats and 35 dogs.", "Zbigniew 9 20 35"),
        ("他有19个，85个，100个，2026年。", "Nineteen, eighty-five, hundred."),
        ("他有19个，85个，100个，2026年。", "1, 5, 10, 26"),
        ("10 20 11 12", "十，二十，十一，十二"),
        ("2 two 两", "two"),
        ("I have ٣٤ cats.", "我有三十四只猫。"),
        ("४२ 𝟗 ７ ๒๓", "forty-two, nine, seven, undefined"),
    ]  # fmt: skip
    wanted = [find_lost(x, y, translator.source) for x, y in said]
    assert sum(map(bool, wanted)) > 100
    assert run("lost", said) == wanted


def test_confidence_is_that_of_the_package(translator: Translator) -> None:
    means = [0.0, -1e-9, -0.01, -0.3, -1.0, -5.0, -50.0]
    known = [translator.calibration, Calibration(0.3, -2.0, 0.5)]
    items = [(mean, x._asdict()) for mean in means for x in known]
    wanted = [x.confidence(mean) for mean in means for x in known]
    assert run("confidence", items) == pytest.approx(wanted)


def test_a_translator_says_what_the_package_s_says(
    translator: Translator,
) -> None:
    texts = [
        "I like green tea.",
        "Jabberwocky has 17 cats.",
        "你明天去北京吗？",
        "他姓欧阳，住在 305 房间。",
        "我儿子老跟我顶嘴。",  # other words with other beams
    ]
    wanted = translator.translate_with_confidence(texts, beam_size=2)
    assert {x.is_sure for x in wanted} == {True, False}
    assert any(x.lost for x in wanted)
    for found, translation in zip(
        run("translate", texts), wanted, strict=True
    ):
        assert found["text"] == translation.text
        assert found["isSure"] == translation.is_sure
        assert found["lost"] == [*translation.lost]
        near = pytest.approx(translation.confidence, abs=1e-4)
        assert found["confidence"] == near
