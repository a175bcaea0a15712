"""Whatever the public API is given: it works, or an error says what is wrong.

What PyTorch would take in silence, and what is given to constructors and as
options, the package refuses in one line; for the rest PyTorch has its errors.
"""

import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import attention_book
from attention_book import (
    TrainingConfig,
    Translator,
    beam_search,
    generate,
    sampler,
)
from attention_book.attention.caches import (
    KeyValueCache,
)
from attention_book.attention.functional import (
    AdditiveAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.fused import fused_attention
from attention_book.attention.multi_head import (
    MultiHeadAttention,
)
from attention_book.attention.packed import PaddingLayout
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    RotaryEmbedding,
    SinusoidalPositions,
)
from attention_book.compute import ON_CPU, ComputeConfig
from attention_book.data.split import make_split
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.mask_predict import mask_predict
from attention_book.io.pretrained.folders import from_pretrained
from attention_book.models.config import TextConfig, ViTConfig
from attention_book.models.encoder import (
    FeedForward,
    SwiGLU,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.residuals import PostNorm, PreNorm
from attention_book.models.seq2seq import Seq2Seq
from attention_book.models.text import TextEncoder, TokenClassifier
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.chunked_loss import chunked_cross_entropy
from attention_book.training.losses import cross_entropy
from attention_book.training.mask_predict import random_mask
from tests.factories import (
    TARGET_WORDS,
    make_config,
    make_text_config,
    make_transformer,
)


pytestmark = pytest.mark.usefixtures("unchecked")
Call = Callable[..., object]
PACKAGE = Path(attention_book.__file__).parent


def floats(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def hostile(valid: Any) -> list[Any]:
    """What may stand where the valid argument should, by mistake."""
    if isinstance(valid, Tensor):
        others = [None, "x", 3, valid.tolist(), valid.detach().numpy()]
        shapes = [valid[None], valid[:0], valid[1:], valid[0], valid[..., :0]]
        if valid.ndim > 1:
            shapes += [valid[..., :-1], valid[..., :0, :]]
        dtypes = [torch.float64, torch.float16, torch.int64, torch.bool]
        cast = [valid.to(d) for d in dtypes if d != valid.dtype]
        if valid.dtype == torch.int64:
            return [*others, *shapes, *cast, valid + 1000, valid - 1000]
        return [*others, *shapes, *cast, valid.to(torch.complex64)]
    if isinstance(valid, bool):
        return [None]
    if isinstance(valid, int | float):
        nan = float("nan")
        return [0, -1, 2.5, True, None, "3", nan, [valid], np.float32(0.5)]
    if isinstance(valid, str):
        return [None, 3, b"x", ["x"]]
    return [None, 3, "abc", b"abc", [None], [3]]


def cases() -> dict[str, tuple[Call, dict[str, Any]]]:
    """A valid call of each: what is called, with which arguments."""
    found: dict[str, tuple[Call, dict[str, Any]]] = {}

    def case(call: Call, *, name: str = "", **arguments: Any) -> None:
        found[name or call.__name__] = call, arguments

    torch.manual_seed(0)
    lengths = torch.tensor([5, 3])
    source = torch.randint(3, 11, (2, 5))
    target = torch.randint(3, 11, (2, 4))
    x = floats(2, 5, 24)
    case(causal_mask, n_queries=3, n_keys=5)
    case(padding_mask, lengths=lengths, n_keys=5)
    qkv = {"query": floats(2, 3, 5, 8)}
    qkv |= {"key": floats(2, 3, 7, 8), "value": floats(2, 3, 7, 8)}
    qkv["mask"] = floats(2, 3, 5, 7) > 0
    case(scaled_dot_product_attention, **qkv)
    case(fused_attention, **qkv, dropout=0.1)
    case(AdditiveAttention, d_query=3, d_key=5, d_attn=7)
    for kind in MultiHeadAttention, RotaryAttention, ALiBiAttention:
        case(kind, d_model=24, n_heads=6, n_kv_heads=2, dropout=0.1)
        layer = kind(24, 6).eval()
        call = {"x": x, "mask": padding_mask(lengths, 5)}
        case(layer, name=f"{kind.__name__}, causal", **call, is_causal=True)
        case(layer, name=f"{kind.__name__}, memory", **call, memory=x)
    case(KeyValueCache, capacity=9)
    case(PaddingLayout, lengths=lengths, max_length=5)
    case(SinusoidalPositions, d_model=24)
    case(SinusoidalPositions(24), name="sinusoidal", x=x, offset=3)
    case(LearnedPositions, n_positions=9, d_model=24)
    case(LearnedPositions(9, 24), name="learned", x=x, offset=3)
    case(RotaryEmbedding, d_k=24, base=100.0)
    case(RotaryEmbedding(24), name="rotary", x=x, offset=3)
    case(partial(FeedForward, 24), name="feed-forward", d_ff=10, dropout=0.1)
    case(partial(SwiGLU, 24), name="SwiGLU", d_ff=10)
    for norm in PostNorm, PreNorm:
        name = norm.__name__
        case(partial(norm, 24), name=name, dropout=0.1, eps=1e-5)
    sizes = {"source_vocab_size": 13, "target_vocab_size": 11, "d_model": 24}
    case(Seq2Seq, **sizes)
    case(TransformerConfig, **sizes, n_heads=6, dropout=0.1, norm="pre")
    case(ViTConfig, patch_size=16, n_heads=6, dropout=0.1, eps=1e-6)
    options = {"norm": "post", "activation": "gelu", "eps": 1e-5}
    text_config = make_text_config(n_segments=2)
    case(TextConfig, **vars(text_config) | options)
    case(partial(TokenClassifier, text_config), name="tagger", n_labels=7)

    sources = {"source": source, "lengths": lengths}
    model = make_transformer()
    embedding = model.target_embedding
    case(embedding, name="embedding", token_ids=target, offset=2)
    case(model, name="model", **sources, target=target)
    case(
        TextEncoder(text_config),
        name="TextEncoder",
        token_ids=source,
        lengths=lengths,
        segment_ids=torch.tensor([[0, 0, 1, 1, 1]] * 2),
    )
    sources["max_length"] = 3
    beam = sources | {"beam_size": 2, "length_penalty": 0.6}
    case(partial(generate, model), name="generate", **sources)
    case(partial(beam_search, model), name="beam_search", **beam)
    decoder = IncrementalDecoder(model)
    case(partial(generate, decoder), name="incremental decoder", **sources)
    case(
        lambda **kw: beam_search(CUDAGraphDecoder(model, ON_CPU), **kw),
        name="captured decoder",
        **beam,
    )
    case(
        lambda **kw: sampler(torch.Generator(), **kw)(floats(2, 11)),
        name="sampler",
        temperature=0.5,
        top_k=3,
        top_p=0.9,
    )
    case(random_mask, lengths=lengths, max_length=5)
    masked = MaskedTransformer(MaskedTransformerConfig(**vars(make_config())))
    case(
        partial(mask_predict, masked.eval()),
        name="mask_predict",
        source=source,
        lengths=lengths,
        iterations=2,
        n_lengths=2,
    )

    for loss in cross_entropy, chunked_cross_entropy:
        case(
            loss,
            x=floats(4, 8),
            weight=floats(11, 8),
            targets=torch.tensor([1, 2, 3, 4]),
            label_smoothing=0.1,
        )
    case(
        TrainingConfig,
        max_steps=5,
        learning_rate=0.1,
        label_smoothing=0.1,
        betas=(0.9, 0.98),
    )
    return found


CASES = cases()


def complaint(call: Call, arguments: dict[str, Any]) -> Exception | None:
    """What the call raises, if anything."""
    try:
        call(**arguments)
    except Exception as error:
        return error
    return None


def assert_named_or_works(call: Call, arguments: dict[str, Any]) -> None:
    """Nothing is wrong, or who refuses it says in one line what it got.

    Of tensors PyTorch's own errors will do.
    """
    call(**arguments)
    for argument, valid in arguments.items():
        for wrong in hostile(valid):
            error = complaint(call, {**arguments, argument: wrong})
            if error is None:
                continue
            *_, last = traceback.extract_tb(error.__traceback__)
            here = Path(last.filename).is_relative_to(PACKAGE)
            is_ours = here and type(error) is ValueError
            if isinstance(valid, Tensor) and not is_ours:
                continue
            case = f"{argument} = {wrong!r:.60}: {error!r:.200}"
            assert is_ours, case
            assert "got" in str(error), case
            assert "\n" not in str(error), case


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_what_does_not_fit_is_named_or_works(name: str) -> None:
    assert_named_or_works(*CASES[name])


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        (
            "model",
            {"target": torch.tensor([[1], [-1]])},
            "token_ids must be from 0 to 10, got -1",
        ),
        (
            "model",
            {"source": torch.ones(5).long()},
            r"source must be int64 or int32 .*, got .* of shape \(5,\)",
        ),
        (
            "model",
            {"lengths": torch.tensor([5])},
            "lengths must be one for each of 2 sources, got 1",
        ),
        (
            "MultiHeadAttention, causal",
            {"mask": torch.ones(2, 1, 1, 5)},
            "mask must be boolean, True = may attend, got torch.float32",
        ),
        (
            "padding_mask",
            {"lengths": torch.tensor([4.5, 1.0])},
            "lengths must be whole numbers .*, got torch.float32",
        ),
        ("sinusoidal", {"x": floats(2, 5, 1)}, "x must be .* 24.*, got"),
        (
            "learned",
            {"x": torch.ones(2, 5, 24).long()},
            "x must be a floating.*got torch.int64",
        ),
        ("sinusoidal", {"offset": 2.5}, "offset must be a whole number, got"),
        (
            "rotary",
            {"offset": torch.tensor(2.5)},
            "offset must be one whole number, got torch.float32",
        ),
        (
            "chunked_cross_entropy",
            {"targets": torch.tensor([1])},
            "targets must be one for each row",
        ),
        (
            "cross_entropy",
            {"label_smoothing": -0.1},
            r"label_smoothing must be in \[0, 1\), got -0.1",
        ),
    ],
)
def test_what_pytorch_would_take_in_silence_is_refused(
    name: str, changes: dict[str, Any], says: str
) -> None:
    call, arguments = CASES[name]
    with pytest.raises(ValueError, match=says):
        call(**{**arguments, **changes})


def test_ids_are_read_on_the_cpu_only() -> None:
    model = make_transformer().to("meta")
    ids = torch.full((2, 5), 99)
    lengths = torch.tensor([9, -1])
    found = model(ids.to("meta"), lengths.to("meta"), ids.to("meta"))
    assert found.shape == (2, 5, 11)
    with pytest.raises(ValueError, match="source must be from 0 to 12, got"):
        make_transformer()(ids, lengths, ids)


def test_one_text_is_not_several() -> None:
    for refused in "a b", b"a b", None:
        for call in (
            Translator(
                make_transformer(), TARGET_WORDS, TARGET_WORDS
            ).translate,
            WordTokenizer.train,
            lambda texts: BPETokenizer.train(texts, 300),
        ):
            with pytest.raises(ValueError, match="must be several texts, got"):
                call(refused)
    assert WordTokenizer.train(iter(["a b"])).words[-1] == "b"


@pytest.mark.parametrize("vocab_size", [258, 2.5, True])
def test_a_vocabulary_that_can_not_be_is_named(vocab_size: int) -> None:
    with pytest.raises(ValueError, match=r"vocab_size must be .*, got"):
        BPETokenizer.train(["a b"], vocab_size)


def test_a_translator_wants_a_model_and_tokenizers() -> None:
    model = make_transformer()
    for arguments, says in (
        (
            (nn.Linear(2, 2), TARGET_WORDS, TARGET_WORDS),
            "model must be a Transf",
        ),
        ((model, "en", TARGET_WORDS), "source must be a tokenizer, got str"),
        (
            (model, TARGET_WORDS, None),
            "target must be a tokenizer, got NoneTy",
        ),
    ):
        with pytest.raises(ValueError, match=says):
            Translator(*arguments)


def test_what_is_taken_for_something_else_is_named() -> None:
    with pytest.raises(ValueError, match="wanted a TransformerConfig, got 10"):
        Transformer(1000)
    with pytest.raises(FileNotFoundError, match="bert: wanted a folder with"):
        from_pretrained("bert")
    assert ComputeConfig("cpu") == ON_CPU
    with pytest.raises(AttributeError) as found:
        _ = attention_book.Transformr
    assert found.value.name == "Transformr"
    assert found.value.obj is attention_book


def test_nothing_to_translate_is_translated_to_nothing() -> None:
    model = make_transformer()
    source = torch.zeros(0, 5, dtype=torch.long)
    lengths = torch.zeros(0, dtype=torch.long)
    for search in generate, beam_search:
        for decoder in (
            model,
            IncrementalDecoder(model),
            CUDAGraphDecoder(model, ON_CPU),
        ):
            assert search(decoder, source, lengths, max_length=3) == []
    x = torch.zeros(2, 0, 24)
    for kind in MultiHeadAttention, RotaryAttention, ALiBiAttention:
        mask = padding_mask(torch.tensor([0, 0]), 0)
        assert kind(24, 6)(x, mask=mask, is_causal=True).shape == x.shape


def test_a_split_of_less_than_nothing_is_empty() -> None:
    assert [len(part) for part in make_split(-1, -2)] == [0, 0, 0]
    assert [len(part) for part in make_split(3, -2)] == [3, 0, 0]
