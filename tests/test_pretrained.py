"""attention_book.io.pretrained against transformers, and hostile folders."""

import json
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from typer.testing import CliRunner, Result

from attention_book import (
    MarianTransformer,
    Pretrained,
    Translator,
    from_pretrained,
    generate,
    save_pretrained,
)
from attention_book.cli.app import app
from attention_book.data.split import make_split
from attention_book.io.pretrained import folders as folders_module
from attention_book.io.pretrained.bert import BERT_FAMILIES
from attention_book.io.pretrained.gpt2 import GPT2
from attention_book.io.pretrained.marian import MARIAN
from attention_book.io.pretrained.vit import VIT_FAMILIES
from attention_book.models.language import CausalLanguageModel
from attention_book.models.text import TextEncoder, TokenClassifier
from attention_book.tokenizers.special_tokens import EOS
from tests.factories import make_text_config, make_vit
from tests.torch_state import randomise


hf: Any = pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.slow,  # transformers take long to import
    pytest.mark.filterwarnings("ignore:Recommended:UserWarning"),
]

N = 50
VOCAB = 211
PAD = VOCAB - 1  # Marian's
FAMILIES = (*BERT_FAMILIES, GPT2, MARIAN, VIT_FAMILIES[0])
NAMES = [family.architecture for family in FAMILIES]
BERT = "BertForMaskedLM"
GPT = "GPT2LMHeadModel"
MT = "MarianMTModel"
SEQUENCE = "BertForSequenceClassification"
SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
SIZES["intermediate_size"] = 40
STACK = {"layers": 2, "attention_heads": 3, "ffn_dim": 40}


def their_config(name: str, **changes: Any) -> Any:
    """A small configuration of a class of transformers."""
    if name == GPT:
        small = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 37}
        small |= {"vocab_size": VOCAB, "bos_token_id": 0, "eos_token_id": 0}
        return hf.GPT2Config(**small | changes)
    if name == MT:
        small = {"d_model": 24, "vocab_size": VOCAB, "pad_token_id": PAD}
        small |= {"decoder_start_token_id": PAD, "scale_embedding": True}
        small |= {"activation_function": "swish"}
        small |= {f"encoder_{key}": size for key, size in STACK.items()}
        small |= {f"decoder_{key}": size for key, size in STACK.items()}
        small |= {"max_position_embeddings": 64}
        return hf.MarianConfig(**small | changes)
    if name == "ViTForImageClassification":
        small = {"image_size": 15, "patch_size": 5, "num_labels": 7}
        return hf.ViTConfig(**SIZES | small | changes)
    small = {"vocab_size": VOCAB, "max_position_embeddings": 37}
    return hf.BertConfig(**SIZES | small | {"num_labels": 5} | changes)


def their_model(name: str, **changes: Any) -> Any:
    """A model of transformers whose parameters are none of them 0 or 1."""
    torch.manual_seed(0)
    model = getattr(hf, name)(their_config(name, **changes)).eval()
    randomise(model)
    if name == MT:
        model.final_logits_bias.normal_()
        for side in (model.model.encoder, model.model.decoder):
            waves = side.embed_positions
            waves.weight.data.copy_(waves.create_weight())
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a model of a class of transformers is saved, each only once."""
    parent = tmp_path_factory.mktemp("saved")

    def save(name: str) -> Path:
        if not (parent / name).exists():
            their_model(name).save_pretrained(parent / name)
        return parent / name

    return save


@pytest.fixture(params=NAMES)
def class_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def theirs(class_name: str) -> Any:
    return their_model(class_name)


@pytest.fixture
def folder(
    class_name: str, saved: Callable[[str], Path], tmp_path: Path
) -> Path:
    """A copy of its own; of each class, or of those that a test names."""
    return Path(shutil.copytree(saved(class_name), tmp_path / "theirs"))


equal = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)
same = partial(torch.testing.assert_close, atol=0, rtol=0)


# Logits


@torch.no_grad()
def both_logits(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """Of 50 inputs, where texts are of 1 to 7 tokens and padded."""
    generator = torch.Generator().manual_seed(1)
    if hasattr(ours, "embed"):
        images = torch.randn(N, 3, 15, 15, generator=generator)
        return ours(images), theirs(images).logits
    token_ids = torch.randint(1, PAD, (N, 7), generator=generator)
    lengths = torch.arange(N) % 7 + 1
    real = torch.arange(7) < lengths[:, None]
    if isinstance(ours, MarianTransformer):
        target = torch.randint(1, PAD, (N, 5), generator=generator)
        target[:, 0] = PAD
        ids = torch.tensor(ours.config.book_ids)
        found = ours(ids[token_ids] * real, lengths, ids[target])
        wanted = theirs(
            token_ids.where(real, PAD),
            attention_mask=real.long(),
            decoder_input_ids=target,
        ).logits
        wanted[..., ours.config.start_id] = -torch.inf  # never generated
        return found[..., ids], wanted
    if theirs.config.model_type == "gpt2":
        return ours(token_ids), theirs(token_ids).logits
    segments = torch.randint(2, (N, 7), generator=generator)
    found = ours(token_ids, lengths, segment_ids=segments)
    wanted = theirs(
        token_ids, attention_mask=real.long(), token_type_ids=segments
    ).logits
    if found.ndim == 3:
        return found[real], wanted[real]
    return found, wanted


def test_logits_equal_theirs(theirs: Any, folder: Path) -> None:
    ours = from_pretrained(folder).model
    assert not ours.training
    equal(*both_logits(theirs, ours))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (GPT, {"activation_function": "relu", "n_inner": 31}),
        (GPT, {"layer_norm_epsilon": 0.1}),
        ("BertForTokenClassification", {"hidden_act": "gelu_new"}),
        (BERT, {"type_vocab_size": 3}),
        (MT, {"scale_embedding": False, "activation_function": "gelu"}),
        (MT, {"eos_token_id": 5, "decoder_start_token_id": 9}),
        ("ViTForImageClassification", {"layer_norm_eps": 0.1}),
    ],
)
def test_what_a_configuration_changes(
    name: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    theirs = their_model(name, **changes)
    theirs.save_pretrained(tmp_path)
    equal(*both_logits(theirs, from_pretrained(tmp_path).model))


def test_a_vit_without_its_head(tmp_path: Path) -> None:
    theirs = their_model("ViTForImageClassification").vit
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    images = torch.randn(2, 3, 15, 15)
    wanted = theirs(images).last_hidden_state[:, 0]
    equal(ours.model(images), wanted)
    save_pretrained(tmp_path / "ours", ours)
    again = hf.ViTModel.from_pretrained(tmp_path / "ours").eval()
    equal(again(images).last_hidden_state[:, 0], wanted)


def test_labels_keep_their_numbers(tmp_path: Path) -> None:
    labels = [f"坏 {i}" for i in range(11)]  # "10" is sorted before "2"
    names = {"id2label": dict(enumerate(labels)), "num_labels": 11}
    their_model(SEQUENCE, **names).save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).labels == tuple(labels)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_what_is_absent_is_as_they_assume(family: Any) -> None:
    config = getattr(hf, family.architecture).config_class()
    for name, (_, default) in family.entries.items():
        if not callable(default):
            assert getattr(config, name) in (default, None), name
    for name, value in family.fixed.items():
        assert getattr(config, name, value) == value, name


# There and back


def test_a_round_trip_changes_no_bit(
    theirs: Any, folder: Path, tmp_path: Path
) -> None:
    found = from_pretrained(folder)
    save_pretrained(tmp_path / "ours", found)
    again = type(theirs).from_pretrained(tmp_path / "ours").state_dict()
    same(again, theirs.state_dict())
    ours = from_pretrained(tmp_path / "ours")
    assert ours.labels == found.labels
    assert ours.model.config == found.model.config
    same(ours.model.state_dict(), found.model.state_dict())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("class_name", [BERT])
def test_half_precision_becomes_fp32(folder: Path, dtype: Any) -> None:
    rewrite(folder, lambda x: {k: y.to(dtype) for k, y in x.items()})
    found = from_pretrained(folder).model.state_dict()
    same(found, {k: x.to(dtype).float() for k, x in found.items()})


# Files as they are published


def rewrite(
    folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> None:
    path = folder / "model.safetensors"
    found = change(load_file(path))
    save_file({k: x.clone() for k, x in found.items()}, path)


def old_bert(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """As in bert-base-uncased."""
    old = {}
    for name, x in state.items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[name.replace("LayerNorm.bias", "LayerNorm.beta")] = x
    words = state["bert.embeddings.word_embeddings.weight"]
    return old | {
        "bert.embeddings.position_ids": torch.arange(37)[None],
        "bert.pooler.dense.weight": torch.zeros(24, 24),
        "bert.pooler.dense.bias": torch.zeros(24),
        "cls.seq_relationship.weight": torch.zeros(2, 24),
        "cls.seq_relationship.bias": torch.zeros(2),
        "cls.predictions.decoder.weight": words,
        "cls.predictions.decoder.bias": state["cls.predictions.bias"],
    }


def old_gpt2(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """As in gpt2."""
    old = {k.removeprefix("transformer."): x for k, x in state.items()}
    for i in range(2):
        old[f"h.{i}.attn.bias"] = torch.ones(1, 1, 37, 37).tril()
        old[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    return old | {"lm_head.weight": state["transformer.wte.weight"]}


def old_marian(state: dict[str, Tensor]) -> dict[str, Tensor]:
    shared = state["model.shared.weight"]
    return state | {
        "lm_head.weight": shared,
        "model.encoder.embed_tokens.weight": shared,
        "model.decoder.embed_tokens.weight": shared,
        "model.encoder.embed_positions.weight": torch.zeros(64, 24),
        "model.decoder.embed_positions.weight": torch.zeros(64, 24),
    }


@pytest.mark.parametrize(
    ("class_name", "old"),
    [(BERT, old_bert), (GPT, old_gpt2), (MT, old_marian)],
)
def test_published_variants_are_read(
    theirs: Any, folder: Path, old: Callable[..., dict[str, Tensor]]
) -> None:
    rewrite(folder, old)
    equal(*both_logits(theirs, from_pretrained(folder).model))

    def untie(state: dict[str, Tensor]) -> dict[str, Tensor]:
        ends = ("decoder.weight", "lm_head.weight")
        return {k: x + k.endswith(ends) for k, x in state.items()}

    rewrite(folder, untie)
    assert re.search("weight tied to .*, got other num", refusal(folder))


@pytest.mark.parametrize("class_name", [GPT])
def test_one_tensor_under_two_names_is_refused(folder: Path) -> None:
    rewrite(folder, lambda x: x | {"ln_f.bias": torch.zeros(24)})
    assert "wanted transformer.ln_f.bias once" in refusal(folder)


# Texts


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """English and Chinese, with words and signs that are not in both."""
    pairs, *_ = make_split(n_train=400, n_test=20)
    return [x for pair in pairs for x in pair]


def questions(sentences: list[str]) -> list[str]:
    """Fifty texts, some of them strange."""
    odd = ["naïve  café", "Tom’s key…", "UPPER lower", "1,234.5%", "☃ 汤姆"]
    return [*odd, *sentences[: N - len(odd)]]


def publish(folder: Path, sentences: list[str], name: str, **size: int) -> Any:
    """Save a model and a tokenizer trained on the sentences; return both."""
    import tokenizers as tk

    if name == GPT:
        trained: Any = tk.ByteLevelBPETokenizer()
        special = {"eos_token": "<|endoftext|>"}
    else:
        trained = tk.BertWordPieceTokenizer()
        names = ("pad", "unk", "cls", "sep", "mask")
        special = {f"{x}_token": f"[{x.upper()}]" for x in names}
    trained.train_from_iterator(
        sentences,
        vocab_size=400,
        special_tokens=[*special.values()],
        show_progress=False,
    )
    fast = tk.Tokenizer.from_str(trained.to_str())
    if "cls_token" in special:
        fast.post_processor = tk.processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
        fast.enable_padding(length=64)  # as some published files have it
        fast.enable_truncation(4)
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=fast, **special)
    tokenizer.save_pretrained(folder)
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    model = their_model(name, vocab_size=len(tokenizer), **size)
    model.save_pretrained(folder)
    return model, tokenizer


@torch.no_grad()
def test_it_fills_blanks_as_they_do(
    sentences: list[str], tmp_path: Path
) -> None:
    size = {"max_position_embeddings": 99}
    theirs, tokenizer = publish(tmp_path, sentences, BERT, **size)
    model, (ours,), *_ = from_pretrained(tmp_path)
    assert len(ours) == len(tokenizer)
    mask = ours.tokenizer.token_to_id("[MASK]")
    for text in questions(sentences):
        blank = f"{text[:20]} [MASK] {text[20:]}"
        token_ids = tokenizer(blank)["input_ids"]
        assert ours.encode(blank) == token_ids
        where = token_ids.index(mask)
        x = torch.tensor([token_ids])
        found = model(x)[0, where].argmax().item()
        wanted = theirs(x).logits[0, where].argmax().item()
        assert found == wanted
        token_ids[where] = found
        read = tokenizer.decode(token_ids, skip_special_tokens=True)
        assert ours.decode(token_ids) == read


def greedy(theirs: Any, token_ids: list[int], n: int, **more: Any) -> Any:
    """What they generate: the given ids, and n more at most."""
    more |= {"max_new_tokens": n, "do_sample": False, "num_beams": 1}
    return theirs.generate(torch.tensor([token_ids]), **more)[0].tolist()


@torch.no_grad()
def test_it_continues_as_they_do(sentences: list[str], tmp_path: Path) -> None:
    theirs, tokenizer = publish(tmp_path, sentences, GPT, n_positions=99)
    model, (ours,), *_ = from_pretrained(tmp_path)
    for text in questions(sentences):
        token_ids = tokenizer(text)["input_ids"]
        assert ours.encode(text) == token_ids
        endless = {"eos_token_id": None, "pad_token_id": 0}
        wanted = greedy(theirs, token_ids, 8, **endless)
        for _ in range(8):
            logits = model(torch.tensor([token_ids]))
            token_ids.append(logits[0, -1].argmax().item())
        assert token_ids == wanted
        read = tokenizer.decode(wanted, skip_special_tokens=True)
        assert ours.decode(token_ids) == read


@pytest.fixture(scope="module")
def marian_folder(
    sentences: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A Marian model with tokenizers that were trained on the sentences."""
    spm: Any = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("marian")
    pieces = set[str]()
    for side, texts in ("source", sentences[::2]), ("target", sentences[1::2]):
        (folder / "text").write_text("\n".join(texts), "utf-8")
        spm.SentencePieceTrainer.train(
            input=str(folder / "text"),
            model_prefix=str(folder / side),
            vocab_size=600,
            hard_vocab_limit=False,
            minloglevel=9,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        (folder / f"{side}.vocab").unlink()
        found = spm.SentencePieceProcessor(str(folder / f"{side}.spm"))
        pieces |= {found.id_to_piece(i) for i in range(3, len(found))}
    (folder / "text").unlink()
    vocab = ["</s>", "<unk>", ">>cmn_Hans<<", *sorted(pieces)[3:], "<pad>"]
    numbers = {piece: i for i, piece in enumerate(vocab)}
    (folder / "vocab.json").write_text(json.dumps(numbers), "utf-8")
    n = len(vocab)
    ids: dict[str, Any] = {"pad_token_id": n - 1}
    ids |= {"decoder_start_token_id": n - 1, "init_std": 0.5}
    ids["max_position_embeddings"] = 256
    theirs = their_model(MT, vocab_size=n, **ids)
    theirs.final_logits_bias[0, 0] += 8  # so that some translations end
    theirs.generation_config.bad_words_ids = [[n - 1]]
    theirs.save_pretrained(folder)
    return folder


def translate(text: str, folder: Path, *more: str) -> Result:
    """Call the command, for the most likely token each time."""
    given = "--checkpoint", str(folder), "--beam", "1"
    arguments = ["translate", text, *given, *more]
    return CliRunner().invoke(app, arguments)


@pytest.mark.usefixtures("unchecked")
@torch.no_grad()
def test_it_translates_as_they_do(
    marian_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    tokenizer = hf.MarianTokenizer.from_pretrained(marian_folder)
    theirs = hf.MarianMTModel.from_pretrained(marian_folder).eval()
    found = from_pretrained(marian_folder)
    ids = found.model.config.book_ids
    source, target = found.tokenizers
    assert len(source) == len(target) == len(ids) + 1
    texts = [f">>cmn_Hans<<{x}" for x in sentences[:3]]
    texts += [">>xx<< Tom", ">> Tom", *questions(sentences)][: N - 3]
    wanted_texts = []
    n_ended = 0
    for text in texts:
        token_ids = tokenizer(text)["input_ids"]
        assert source.encode(text) == [ids[i] for i in token_ids]
        n = 2 * len(token_ids) + 16
        wanted = greedy(theirs, token_ids, n, forced_eos_token_id=None)
        book = source.encode(text)
        (made,) = generate(
            found.model,
            torch.tensor([book]),
            torch.tensor([len(book)]),
            max_length=n,
        )
        assert made == [ids[i] for i in wanted[1:]]
        read = tokenizer.decode(wanted, skip_special_tokens=True)
        assert target.decode(made) == read
        wanted_texts.append(read)
        n_ended += made[-1] == EOS
    assert len(set(wanted_texts)) > N // 2
    assert n_ended > 0
    translator = Translator(found.model, source, target)
    assert [translator.translate([x])[0] for x in texts] == wanted_texts
    for text, read in zip(texts[-3:], wanted_texts[-3:], strict=True):
        assert translate(text, marian_folder).stdout == f"{read}\n"
    save_pretrained(tmp_path / "ours", found)
    again = hf.MarianTokenizer.from_pretrained(tmp_path / "ours")
    assert again.get_vocab() == tokenizer.get_vocab()


def test_padding_is_never_generated(marian_folder: Path) -> None:
    model = from_pretrained(marian_folder).model
    source = torch.tensor([[5, 7, 2]])
    logits = model(source, torch.tensor([3]), torch.tensor([[1, 4]]))
    assert (logits == -torch.inf).nonzero()[:, 2].unique().tolist() == [0, 1]


def test_special_tokens_in_a_text_are_text(marian_folder: Path) -> None:
    source, target = from_pretrained(marian_folder).tokenizers
    assert 2 not in source.encode("Tom </s>")[:-1]
    assert target.decode([0, 1, 2, 5]) == ""


def test_only_marian_translates(
    marian_folder: Path, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(marian_folder, tmp_path / "bare")
    (tmp_path / "bare" / "vocab.json").unlink()
    for folder in saved(GPT), tmp_path / "bare":
        found = translate("Tom", folder)
        assert "a Marian model with vocab.json" in str(found.exception)
    found = translate("Tom", folder, "--model", "x")
    assert found.exit_code == 2
    assert "give --model or --checkpoint, not both" in found.output


# Hostile folders


def refusal(folder: Path) -> str:
    """The one line that refuses a folder."""
    with pytest.raises((OSError, ValueError)) as error:
        from_pretrained(folder)
    line = str(error.value)
    assert line.isprintable(), line
    assert str(folder) in line
    return line


def test_each_missing_or_wrong_tensor_is_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    state = load_file(path)
    for name, x in [*state.items()][::3]:
        wanted = f"wanted {name} of shape {tuple(x.shape)}, got "
        save_file({k: y for k, y in state.items() if k != name}, path)
        assert f"{wanted}none" in refusal(folder)
        save_file(state | {name: torch.zeros(*x.shape, 2)}, path)
        assert wanted in refusal(folder)
    save_file(state | {"bert.adapter.weight": torch.zeros(3)}, path)
    assert "wanted no tensor 'bert.adapter.weight'" in refusal(folder)
    save_file(state | {name: torch.full_like(x, -torch.inf)}, path)
    assert f"wanted finite numbers in '{name}'" in refusal(folder)


ENTRIES: list[tuple[str, dict[str, Any], str]] = [
    (BERT, {"architectures": [["x"]]}, "wanted architectures to be one of B"),
    (BERT, {"is_decoder": 0}, "wanted is_decoder = False"),
    (BERT, {"vocab_size": "x"}, "wanted vocab_size like 30522"),
    (BERT, {"vocab_size": 212}, r"of shape \(212, 24\), got"),
    (BERT, {"num_hidden_layers": 10**6}, "from 0 to 256, got 1000000"),
    (SEQUENCE, {"id2label": {"0": "a", "2": "b"}}, "has no '1'"),
    (SEQUENCE, {"id2label": {"0": "\x1b[2J"}}, "labels must be printable"),
    (GPT, {"activation_function": "x"}, "activation"),
    (MT, {"decoder_layers": 3}, "wanted .*coder_layers = "),
    (MT, {"eos_token_id": PAD}, "two ids below 211, got 210 and"),
    (MT, {"eos_token_id": VOCAB}, "two ids below 211, got 210 and 211"),
    ("ViTForImageClassification", {"image_size": 16}, "patch_size must"),
]
SWITCHES: dict[str, dict[str, Any]] = {  # they would change the function
    BERT: {"position_embedding_type": "relative_key", "hidden_act": "relu"},
    GPT: {
        "scale_attn_weights": False,
        "scale_attn_by_inverse_layer_idx": True,
    },
    MT: {"normalize_before": True, "normalize_embedding": True}
    | {"add_final_layer_norm": True, "static_position_embeddings": False},
    "ViTForImageClassification": {"qkv_bias": False, "hidden_act": "relu"},
}
ENTRIES += [
    (name, {entry: value}, f"wanted {entry} = ")
    for name, switches in SWITCHES.items()
    for entry, value in switches.items()
]


@pytest.mark.parametrize(("class_name", "entries", "said"), ENTRIES)
def test_what_the_book_can_not_express_is_named(
    folder: Path, entries: dict[str, Any], said: str
) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    line = refusal(folder)
    assert re.search(said, line), line


CONFIG, WEIGHTS = "config.json", "model.safetensors"
DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    (CONFIG, lambda x: x.write_text("[]"), "wanted an object of JSON"),
    (CONFIG, lambda x: x.write_text("{"), "wanted JSON, got"),
    (WEIGHTS, lambda x: x.write_bytes(bytes(7)), "wanted a whole safetensors"),
    (WEIGHTS, lambda x: x.rename(x.with_suffix(".bin")), "neither a pickle"),
    ("source.spm", Path.unlink, "No such file"),
    ("target.spm", lambda x: x.write_bytes(b"x"), "wanted a SentencePiece"),
    ("vocab.json", lambda x: x.write_text("{}"), "one of them <unk>"),
    (
        "vocab.json",
        lambda x: x.write_text('{"<unk>": 1, "b": 1}'),
        "different ids from 0 to",
    ),
]


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGE)
def test_each_damaged_file_is_named(
    name: str,
    damage: Callable[[Path], object],
    said: str,
    marian_folder: Path,
    tmp_path: Path,
) -> None:
    shutil.copytree(marian_folder, tmp_path / "bad")
    damage(tmp_path / "bad" / name)
    line = refusal(tmp_path / "bad")
    assert said in line
    assert name in line


@pytest.mark.parametrize("class_name", [GPT])
def test_a_tokenizer_that_is_none(folder: Path) -> None:
    for text in "", '{"model": 3}', "[" * 100_000:
        (folder / "tokenizer.json").write_text(text)
        assert "tokenizer.json: wanted a tokenizer, got " in refusal(folder)


HOSTILE = [None, 0, -1, 1.5, True, "x", "relu", [], {}, [1], 2**62]


def test_altered_folders_are_read_or_refused_in_one_line(
    folder: Path,
) -> None:
    rng = random.Random(0)
    config, weights = folder / "config.json", folder / "model.safetensors"
    entries, data = json.loads(config.read_text()), weights.read_bytes()
    n_header = 8 + int.from_bytes(data[:8], "little")
    for number in range(90):
        altered = bytearray(data)
        changed = dict(entries)
        if number % 3:
            name = rng.choice(sorted(entries))
            changed[name] = rng.choice(HOSTILE)
        else:
            for _ in range(3):
                altered[rng.randrange(n_header)] = rng.randrange(256)
        config.write_text(json.dumps(changed))
        weights.write_bytes(altered)
        line = str(folder)
        try:
            from_pretrained(folder)
        except (OSError, ValueError) as error:
            line = str(error)
        assert line.isprintable()
        assert line.startswith(str(folder))


# Writing


def test_an_old_folder_is_left_alone(folder: Path) -> None:
    found = from_pretrained(folder)
    before = {x.name: x.read_bytes() for x in folder.iterdir()}
    with pytest.raises(FileExistsError, match="wanted a new folder, got an"):
        save_pretrained(folder, found)
    assert {x.name: x.read_bytes() for x in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["write_tensors", "collect"])
def test_what_fails_halfway_leaves_nothing(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    found = from_pretrained(folder)
    monkeypatch.setattr(folders_module, name, fail)
    with pytest.raises(OSError, match="the disk is full"):
        save_pretrained(tmp_path / "new", found)
    assert [x.name for x in tmp_path.iterdir()] == ["theirs"]


def test_what_no_class_of_theirs_does_is_not_written(tmp_path: Path) -> None:
    pre = make_text_config()
    segments = make_text_config(n_segments=2)
    for found, message in (
        (Pretrained(TextEncoder(pre)), "model must be one of Sequence"),
        (Pretrained(TokenClassifier(pre, 3)), "a Bert.* has norm = 'post'"),
        (Pretrained(CausalLanguageModel(segments)), "has n_segments = 0"),
        (Pretrained(make_vit(pooling="mean")), "has pooling = 'class'"),
        (Pretrained(make_vit(), labels=("a",)), "labels must be 7, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            save_pretrained(tmp_path / "new", found)
    assert not [*tmp_path.iterdir()]
