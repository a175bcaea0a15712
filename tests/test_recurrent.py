"""attention_book.models.seq2seq against PyTorch's cells and plain loops."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq


BATCH = 3
SOURCE = 7
TARGET = 5
D = 6
SOURCE_VOCAB_SIZE = 13
TARGET_VOCAB_SIZE = 11
LENGTHS = torch.tensor([7, 2, 4])
KINDS = [Seq2Seq, AttentiveSeq2Seq]


def make_model(kind: type[Seq2Seq]) -> Seq2Seq:
    torch.manual_seed(0)
    return kind(
        source_vocab_size=SOURCE_VOCAB_SIZE,
        target_vocab_size=TARGET_VOCAB_SIZE,
        d_model=D,
    )


def make_token_ids() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randint(SOURCE_VOCAB_SIZE, (BATCH, SOURCE), generator=generator),
        torch.randint(TARGET_VOCAB_SIZE, (BATCH, TARGET), generator=generator),
    )


def cell(gru: torch.nn.GRU, x: Tensor, h: Tensor, end: str = "") -> Tensor:
    """One step of a GRU, from its equations."""

    def gates(x: Tensor, kind: str) -> tuple[Tensor, ...]:
        weight = getattr(gru, f"weight_{kind}_l0{end}")
        return F.linear(x, weight, getattr(gru, f"bias_{kind}_l0{end}")).chunk(
            3, dim=-1
        )

    (r_x, z_x, n_x) = gates(x, "ih")
    (r_h, z_h, n_h) = gates(h, "hh")
    z = torch.sigmoid(z_x + z_h)
    r = torch.sigmoid(r_x + r_h)
    return (1 - z) * torch.tanh(n_x + r * n_h) + z * h


def test_the_encoder_reads_each_sentence_from_both_ends() -> None:
    encoder = make_model(Seq2Seq).encoder
    source, _ = make_token_ids()
    encoded = encoder(source, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        x = encoder.embedding(source[b, :n])
        forward = [torch.zeros(D // 2)]
        backward = [torch.zeros(D // 2)]
        for t in range(n):
            forward.append(cell(encoder.gru, x[t], forward[-1]))
            backward.append(
                cell(encoder.gru, x[n - 1 - t], backward[-1], "_reverse")
            )
        states = torch.cat(
            [torch.stack(forward[1:]), torch.stack(backward[:0:-1])], dim=-1
        )
        torch.testing.assert_close(encoded.states[b, :n], states)
        assert (encoded.states[b, n:] == 0).all()
        context = torch.cat([forward[-1], backward[-1]])
        torch.testing.assert_close(encoded.context[b], context)
        assert encoded.mask[b, 0].tolist() == [j < n for j in range(SOURCE)]


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_the_equations_token_by_token(kind: type[Seq2Seq]) -> None:
    model = make_model(kind)
    source, target = make_token_ids()
    logits = model(source, LENGTHS, target)
    encoded = model.encoder(source, LENGTHS)
    for b, n in enumerate(LENGTHS.tolist()):
        state = encoded.context[b]
        for i in range(TARGET):
            context = encoded.context[b]
            read = model.embedding(target[b, i])
            if not isinstance(model, AttentiveSeq2Seq):
                read = torch.cat([read, context])
            state = cell(model.decoder, read, state)
            if isinstance(model, AttentiveSeq2Seq):
                net = model.attention
                h = encoded.states[b, :n]
                scores = [
                    net.score(
                        torch.tanh(net.q_proj(state) + net.k_proj(h[j]))
                    ).item()
                    for j in range(n)
                ]
                total = sum(map(math.exp, scores))
                context = torch.stack(
                    [
                        math.exp(score) / total * h[j]
                        for j, score in enumerate(scores)
                    ]
                ).sum(dim=0)
            expected = model.output(torch.cat([state, context]))
            torch.testing.assert_close(
                logits[b, i], expected, atol=1e-5, rtol=1e-5
            )


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_and_gets_no_gradient(
    kind: type[Seq2Seq],
) -> None:
    model = make_model(kind)
    source, target = make_token_ids()
    longer = F.pad(source, (0, 4), value=9)
    torch.testing.assert_close(
        model(longer, LENGTHS, target), model(source, LENGTHS, target)
    )
    only = F.pad(torch.zeros(BATCH, 1, dtype=torch.long), (0, 4), value=12)
    model(only, torch.ones(BATCH, dtype=torch.long), target).sum().backward()
    gradient = model.encoder.embedding.weight.grad
    assert gradient is not None
    assert (gradient[12] == 0).all()
    assert (gradient[0] != 0).any()


@pytest.mark.parametrize("kind", KINDS)
def test_step_by_step_equals_all_at_once(kind: type[Seq2Seq]) -> None:
    model = make_model(kind)
    source, target = make_token_ids()
    encoded = model.encoder(source, LENGTHS)
    state = encoded.context[None]
    steps = []
    for tokens in target.split([1, 2, 2], dim=1):
        logits, state, weights = model.decode_step(tokens, state, encoded)
        steps.append(logits)
        assert (weights is None) == (kind is Seq2Seq)
    torch.testing.assert_close(
        torch.cat(steps, dim=1), model(source, LENGTHS, target)
    )
