# Made from docs/source/pretrained-files.md (a44f4ed7c8b2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from attention_book.io.files import write_tensors
from attention_book.io.pretrained.families import FAMILIES, family_of
from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.foreign_tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.layout import collect
from attention_book.io.pretrained.marian import MarianTransformer
from attention_book.io.pretrained.reading import (
    READABLE,
    build_on_meta,
    promise,
    read_model,
)
from attention_book.io.pretrained.settings import (
    Settings,
    read_json,
    read_small,
)
from attention_book.io.pretrained.vit import load_vit
from attention_book.io.tensor_files import FAULTS, one_line, open_tensors
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.models.vit import ViT
from attention_book.tokenizers.words import Tokenizer


__all__ = ["Pretrained", "fingerprint", "from_pretrained", "save_pretrained"]


class Pretrained(NamedTuple):
    """What a folder of transformers or timm holds.

    Attributes:
        model: Of the book, in eval mode and fp32.
        tokenizers: Of source and target, or the only one, or none.
        labels: Of the classes, if any.
        files: What lies beside the weights, to be written again.
    """

    model: Any
    tokenizers: tuple[Tokenizer, ...] = ()
    labels: tuple[str, ...] = ()
    files: Mapping[str, bytes] = {}


_TENSORS_A_LAYER = 12  # at least, in any of the files
_WEIGHTS = "model.safetensors"
_OTHERS = {  # what may stand where the weights should
    "model.safetensors.index.json": "weights in several files",
    "pytorch_model.bin": "a pickle, which may run any code",
}
_BESIDE = (
    "generation_config.json",
    "preprocessor_config.json",
    "source.spm",
    "special_tokens_map.json",
    "target.spm",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
)


def _find_weights(folder: Path) -> Path:
    """Return the path of the weights; ValueError if they are a pickle."""
    path = folder / _WEIGHTS
    if not path.exists():
        for name, what in _OTHERS.items():
            if (folder / name).exists():
                raise ValueError(
                    f"{folder}: wanted {_WEIGHTS}, got only {name}: {what}"
                )
    return path


def _family(entries: Mapping[str, Any]) -> Family:
    """Return the family that config.json names; ValueError if none."""
    known = ", ".join(FAMILIES)
    found = entries.get("architectures")
    if (
        type(found) is not list
        or len(found) != 1
        or found[0] not in [*FAMILIES]
    ):
        raise ValueError(f"wanted one of {known}, got {one_line(found, 100)}")
    family = FAMILIES[found[0]]
    if entries.get("model_type") != family.model_type:
        raise ValueError(
            f"wanted model_type {family.model_type!r} for {found[0]}, got "
            f"{one_line(repr(entries.get('model_type')), 60)}"
        )
    return family


_TIMM_NAME = re.compile(r"vit_(tiny|small|base|large)_patch\d+_\d+(\..*)?")
_TIMM_ARGS = set(
    # seen in the shapes, or of no consequence in eval mode
    "class_token depth embed_dim fc_norm img_size in_chans mlp_ratio "
    "num_classes patch_size dynamic_img_size dynamic_img_pad "
    "strict_img_size weight_init fix_init drop_rate pos_drop_rate "
    "patch_drop_rate proj_drop_rate attn_drop_rate drop_path_rate "
    # looked at
    "global_pool num_heads".split()
)


def _read_timm(folder: Path, entries: dict[str, Any]) -> Pretrained:
    """Read a folder of timm, whose heads are 64 wide unless it says so."""
    name = entries["architecture"]
    if type(name) is not str or not _TIMM_NAME.fullmatch(name):
        raise ValueError(
            f"{folder}: wanted a plain ViT of timm such as "
            f"vit_base_patch16_224, got {one_line(repr(name), 60)}"
        )
    given = entries.get("model_args", {})
    with _blame(folder / "config.json"):
        if type(given) is not dict:
            raise ValueError(
                "wanted model_args to be an object, got "
                f"{one_line(repr(given), 60)}"
            )
        if unknown := sorted(given.keys() - _TIMM_ARGS):
            raise ValueError(
                f"wanted no {one_line(unknown[0], 60)} in model_args"
            )
        settings = Settings(entries | given)
        n_heads = settings.count("num_heads") if "num_heads" in given else None
    model = load_vit(_find_weights(folder), n_heads=n_heads)
    with _blame(folder / "config.json"):
        is_mean = model.config.pooling == "mean"
        settings.demand(global_pool="avg" if is_mean else "token")
    return Pretrained(model, files=_read_beside(folder))


@contextmanager
def _blame(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into one line with its path."""
    try:
        yield
    except FAULTS as error:
        raise ValueError(f"{path}: {one_line(error)}") from None


def _read_beside(folder: Path) -> dict[str, bytes]:
    """Return the small files that lie beside the weights."""
    paths = [folder / name for name in _BESIDE]
    return {path.name: read_small(path) for path in paths if path.exists()}


def _read_tokenizers(folder: Path, model: Any) -> tuple[Tokenizer, ...]:
    """Return the tokenizers of a folder, if it has any that is known.

    Raises:
        OSError: One of Marian's three files is missing.
        ValueError: A file is of no tokenizer, or does not fit the model.
    """
    if isinstance(model, MarianTransformer):
        if not (folder / "vocab.json").exists():
            return ()
        sides = ("source", "target")
        return tuple(MarianTokenizer(folder, x, model.config) for x in sides)
    path = folder / "tokenizer.json"
    if isinstance(model, ViT) or not path.exists():
        return ()
    with _blame(path):
        tokenizer = TextTokenizer(read_small(path).decode())
        if len(tokenizer) > model.config.vocab_size:
            raise ValueError(
                f"wanted at most {model.config.vocab_size} tokens, got "
                f"{len(tokenizer)}"
            )
    return (tokenizer,)


def _has_labels(model: nn.Module) -> bool:
    """Whether a model has classes."""
    return isinstance(model, SequenceClassifier | TokenClassifier | ViT)


def _promised_model(
    folder: Path, entries: Mapping[str, Any]
) -> tuple[Any, Family]:
    """Return the model that config.json describes, on meta.

    Raises:
        OSError: There are no weights.
        ValueError: The book has no such model.
    """
    with open_tensors(_find_weights(folder), READABLE) as file:
        n_tensors = len(file.tensors)
    generation = folder / "generation_config.json"
    if generation.exists():  # newer files have it there
        found = read_json(generation).get("bad_words_ids")
        entries = {"bad_words_ids": found, **entries}
    with _blame(folder / "config.json"):
        family = _family(entries)
        settings = Settings(entries, n_tensors // _TENSORS_A_LAYER)
        return build_on_meta(lambda: family.build(settings)), family


def from_pretrained(folder: str | Path) -> Pretrained:
    """Read a model that transformers or timm has saved in a folder.

    Only safetensors is read, never a pickle. All that the header and
    config.json say is compared before there is memory for a model, whose
    parameters are fp32 whatever the file has.

    Args:
        folder: With config.json and model.safetensors, as save_pretrained
            of transformers writes them, or as the hub has them.

    Raises:
        OSError: There is no such folder or file, or it can't be read.
        ValueError: What is missing, unknown, or not expressed by the book's
            models; one line that names it.
        ImportError: The library of its tokenizer is not installed.
    """
    folder = Path(folder)
    entries = read_json(folder / "config.json")
    if "architecture" in entries:
        return _read_timm(folder, entries)
    promised, family = _promised_model(folder, entries)
    with open_tensors(folder / _WEIGHTS, READABLE) as file:
        model = read_model(file, promised, family)
    labels = Settings(entries).labels() if _has_labels(model) else ()
    tokenizers = _read_tokenizers(folder, model)
    return Pretrained(model, tokenizers, labels, _read_beside(folder))


def save_pretrained(folder: str | Path, saved: Pretrained) -> None:
    """Write a folder that from_pretrained of transformers reads.

    It is made beside its place and then renamed: either the whole folder is
    there, or nothing.

    Args:
        folder: Is made; what is there already is not touched.
        saved: The model, its labels, and the files to lie beside it.

    Raises:
        OSError: The folder exists already, or it can't be written.
        ValueError: No class of transformers does what the model does.
    """
    folder = Path(folder)
    name, family = family_of(saved.model)
    entries = {
        "architectures": [name],
        "model_type": family.model_type,
        **family.describe(saved.model),
    }
    if _has_labels(saved.model):
        entries |= _label_entries(saved)
    if folder.exists():
        raise FileExistsError(f"{folder}: wanted a new folder, got an old one")
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        tensors = collect(family.layout(saved.model))
        write_tensors(part / _WEIGHTS, tensors, {"format": "pt"})
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        (part / "config.json").write_text(text, encoding="utf-8")
        for beside, data in saved.files.items():
            if beside in _BESIDE:
                (part / beside).write_bytes(data)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _label_entries(saved: Pretrained) -> dict[str, Any]:
    """Return what config.json says of the classes.

    Raises:
        ValueError: There is not one label for each class.
    """
    head = saved.model.head
    labels = saved.labels or tuple(
        f"LABEL_{i}" for i in range(head.out_features)
    )
    if len(labels) != head.out_features:
        raise ValueError(
            f"labels must be {head.out_features}, got {len(labels)}"
        )
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }


def fingerprint(source: str | Path | nn.Module) -> str:
    """Return the SHA-256 of the names and shapes of all tensors.

    It says of which architecture and size a model is, whatever its numbers
    and their precision. Older names count as today's, and what need not be
    read does not count.

    Args:
        source: A folder, of which only config.json and the header of the
            weights are read; or a model of the book's, which may be on meta.

    Raises:
        OSError: As from_pretrained.
        ValueError: As from_pretrained; a model that no folder can hold.
    """
    if isinstance(source, nn.Module):
        _, family = family_of(source)
        shapes = {x: y.shape for x, y in family.layout(source).items()}
    else:
        folder = Path(source)
        _, family = _promised_model(folder, read_json(folder / "config.json"))
        with open_tensors(folder / _WEIGHTS, READABLE) as file:
            names = promise(file.tensors, family)
            shapes = {
                today: file.tensors[name].shape
                for today, name in names.items()
                if today not in family.twins
            }
    lines = [f"{x} {tuple(shapes[x])}\n" for x in sorted(shapes)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
