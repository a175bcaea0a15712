# Made from docs/chapters/33-texts.md (615b08bb88f4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Iterable
from typing import Any

from attention_book.corpus.special_tokens import EOS, SPECIAL_TOKENS
from attention_book.corpus.tokenizers import Tokenizer, WordTokenizer


class BPETokenizer:
    """Pieces of words and their numbers; has WordTokenizer's methods.

    Args:
        tokenizer: A tokenizers.Tokenizer whose first three are special.

    Source: Sennrich et al. (2016), §3.2, on bytes as in Radford et al.
        (2019), §2.2.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        tokenizer.encode_special_tokens = True  # "<eos>" in a text is text

    @classmethod
    def train(
        cls, sentences: Iterable[str], vocab_size: int
    ) -> "BPETokenizer":
        """Find up to vocab_size subwords, 256 bytes and 3 special ones included."""
        if vocab_size < 259:
            raise ValueError(
                f"vocab_size must be 259 or more, got {vocab_size}"
            )
        tokenizers = import_tokenizers()
        as_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = as_bytes
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=SPECIAL_TOKENS,
            initial_alphabet=as_bytes.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return cls(tokenizer)

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Return the number of each piece; there are no unknown ones."""
        return list(self.tokenizer.encode(text).ids)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to the end."""
        ids = list(token_ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return str(self.tokenizer.decode(ids))


def import_tokenizers() -> Any:
    """Import the library that only subwords need."""
    try:
        import tokenizers
    except ImportError:
        raise ImportError("run first: pip install tokenizers") from None
    return tokenizers


def tokenizer_to_json(tokenizer: Tokenizer) -> str:
    """Write a tokenizer of either kind."""
    if isinstance(tokenizer, WordTokenizer):
        return json.dumps({"words": tokenizer.words}, ensure_ascii=False)
    if isinstance(tokenizer, BPETokenizer):
        return json.dumps({"subwords": tokenizer.tokenizer.to_str()})
    raise ValueError(
        "tokenizer must be a WordTokenizer or a BPETokenizer, got "
        f"{type(tokenizer).__name__}"
    )


def tokenizer_from_json(text: str) -> Tokenizer:
    """Read what tokenizer_to_json wrote."""
    made = json.loads(text)
    if "words" in made:
        return WordTokenizer(made["words"])
    return BPETokenizer(
        import_tokenizers().Tokenizer.from_str(made["subwords"])
    )
