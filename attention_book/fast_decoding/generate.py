# Made from docs/chapters/36-fast-decoding.md (279cea380ec2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import TypeVar

import torch

from attention_book.corpus.special_tokens import BOS, EOS
from attention_book.decoding.strategies import NextToken, greedy
from attention_book.fast_decoding.decoder import IncrementalDecoder
from attention_book.fast_decoding.state import DecodingState, Lengths, Table


Who = TypeVar("Who")


def drop_finished(
    writing: DecodingState, going: list[bool], who: list[Who]
) -> list[Who]:
    """Keep the rows that are going on; return who sits in each row."""
    n = sum(going)
    who = list(who)
    seats = [row for row in range(n) if not going[row]]
    movers = [row for row in range(n, len(going)) if going[row]]
    writing.copy(movers, into=seats)
    writing.keep(n)
    for seat, row in zip(seats, movers, strict=True):
        who[seat] = who[row]
    return who[:n]


@torch.inference_mode()
def write(
    decoder: IncrementalDecoder,
    source: Table,
    lengths: Lengths,
    *,
    max_length: int,
    next_token: NextToken = greedy,
) -> list[list[int]]:
    """Write the translation of each source, up to <eos> or max_length."""
    writing = decoder.start(source, lengths, max_length)
    who = list(range(len(source)))
    written: list[list[int]] = [[] for _ in who]
    words = torch.full((len(who),), BOS, device=decoder.output.weight.device)
    while who and writing.length < max_length:
        words = next_token(decoder.step(writing, words))
        chosen = words.tolist()
        for row, word in zip(who, chosen, strict=True):
            written[row].append(word)
        going = [word != EOS for word in chosen]
        if not all(going):
            who = drop_finished(writing, going, who)
            words = torch.tensor([written[row][-1] for row in who])
            words = words.to(decoder.output.weight.device)
    return written
