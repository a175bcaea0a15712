"""Speech and graphs against Whisper, PyTorch and plain loops."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_book.attention.graph import GraphAttention
from attention_book.data.spectrogram import log_mel_spectrogram
from attention_book.models.graph import NodeClassifier, neighbour_mask
from attention_book.models.speech import SpeechRecognizer, ctc_collapse
from corpora.graphs.hops import hop_distances, make_graphs, train_on_graphs
from corpora.sounds.recognition import (
    edit_distance,
    error_rate,
    pad_spectrograms,
    recognize,
    train_recognizer,
    with_noise,
)
from corpora.sounds.words import (
    RATE,
    WORDS,
    add_noise,
    make_utterances,
    synthesize,
)
from tests.torch_state import randomise


N_MELS = 7
N_LABELS = 3
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]
SIX = neighbour_mask(EDGES, 6)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def a_recognizer(**changes: Any) -> SpeechRecognizer:
    """Return a small one none of whose parameters is zero or one."""
    sizes = {"n_mels": N_MELS, "d_model": 10, "n_heads": 2, "d_ff": 11}
    model = SpeechRecognizer(N_LABELS, **{**sizes, **changes})
    randomise(model)
    return model.eval()


# Spectrograms


@pytest.mark.filterwarnings("ignore:At least one mel filter")
@pytest.mark.parametrize(("rate", "n_mels"), [(8000, 40), (16000, 128)])
def test_the_spectrogram_is_that_of_whisper(rate: int, n_mels: int) -> None:
    """The steps of WhisperFeatureExtractor, which is for 16 kHz alone."""
    theirs = pytest.importorskip("transformers.audio_utils")
    x = 0.3 * torch.randn(3, rate, generator=rng())
    x[1, rate // 3 :] = 0  # at most 8 below the largest
    x[2] = 0  # 1e-10 at least
    found = log_mel_spectrogram(x, rate, n_mels=n_mels)
    assert found.shape == (3, n_mels, 100)
    n_fft = rate // 40
    kinds = {"norm": "slaney", "mel_scale": "slaney"}
    for row in range(3):
        wanted = theirs.spectrogram(
            x[row].numpy(),
            theirs.window_function(n_fft, "hann"),
            n_fft,
            rate // 100,
            power=2.0,
            mel_filters=theirs.mel_filter_bank(
                n_fft // 2 + 1, n_mels, 0.0, rate / 2, rate, **kinds
            ),
            log_mel="log10",
        )[:, :-1]
        wanted = (wanted.clip(wanted.max() - 8) + 4) / 4
        assert_close(
            found[row], torch.from_numpy(wanted).float(), rtol=0, atol=1e-4
        )


def test_a_tone_is_loudest_in_its_band() -> None:
    t = torch.arange(8000) / 8000
    tones = [torch.sin(2 * math.pi * hz * t) for hz in (300, 600, 1000, 3000)]
    peaks = log_mel_spectrogram(torch.stack(tones))[..., 50].argmax(dim=1)
    first, second, third, last = peaks.tolist()
    # linear up to 1000 Hz, logarithmic above
    assert abs((third - second) / (second - first) - 4 / 3) < 0.2
    wanted = 27 * math.log(3, 6.4) / (3 * (1000 - 300) / 200)
    assert abs((last - third) / (third - first) - wanted) < 0.2


def test_batches_of_sound_keep_their_shape() -> None:
    x = torch.randn(2, 3, 1000, generator=rng())
    found = log_mel_spectrogram(x, n_mels=5)
    assert found.shape == (2, 3, 5, 12)
    assert_close(found[1, 2], log_mel_spectrogram(x[1, 2], n_mels=5))


# Words


def test_utterances_are_of_the_seed_and_as_long_as_asked() -> None:
    first, again, other = (make_utterances(30, seed) for seed in (3, 3, 4))
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a.waveform, b.waveform)
        assert a.labels == b.labels
    assert [u.labels for u in first] != [u.labels for u in other]
    labels = {k for u in [*first, *other] for k in u.labels}
    assert labels == set(range(1, len(WORDS) + 1))
    some = make_utterances(30, 0, shortest=1, longest=3)
    assert {len(u.labels) for u in some} == {1, 2, 3}
    noisy, again = (with_noise(some, 5.0, seed=1) for _ in range(2))
    assert torch.equal(noisy[1].waveform, again[1].waveform)
    assert not torch.equal(noisy[1].waveform, some[1].waveform)
    assert [u.labels for u in noisy] == [u.labels for u in some]


def test_words_glide_from_the_first_vowel_to_the_second() -> None:
    for word in WORDS:
        x = synthesize([word], rng())
        assert 0.1 <= x.abs().max() <= 0.9
        assert 0.12 * RATE <= len(x) <= 0.24 * RATE
    there, back = (
        log_mel_spectrogram(synthesize([word], rng()))[28:36]
        for word in ("ui", "iu")
    )  # where i is loud, about 2300 Hz, and u is not
    n = there.shape[1] // 4
    assert there[:, :n].mean() < there[:, -n:].mean() - 0.05
    assert back[:, :n].mean() > back[:, -n:].mean() + 0.05


@pytest.mark.parametrize("decibels", [20.0, -5.0])
def test_noise_has_the_power_that_is_asked(decibels: float) -> None:
    x = synthesize(["ai", "uo", "ei"], rng())
    before = x.clone()
    noise = add_noise(x, decibels, rng()) - x
    ratio = x.square().mean() / noise.square().mean()
    assert abs(10 * ratio.log10().item() - decibels) < 0.3
    assert torch.equal(x, before)


# CTC and the recogniser


@pytest.mark.parametrize("label", [[1], [1, 2], [1, 1], [2, 1, 2]])
def test_the_loss_adds_up_all_paths_that_collapse(label: list[int]) -> None:
    y = torch.randn(5, 3, generator=rng()).softmax(dim=-1)
    total = sum(
        math.prod(y[t, k].item() for t, k in enumerate(path))
        for path in itertools.product(range(3), repeat=5)
        if ctc_collapse(path) == label
    )
    loss = F.ctc_loss(
        y.log()[:, None],
        torch.tensor([label]),
        torch.tensor([5]),
        torch.tensor([len(label)]),
        reduction="sum",
    )
    assert loss.item() == pytest.approx(-math.log(total), rel=1e-5)


def test_padding_changes_nothing() -> None:
    model = a_recognizer()
    long = torch.randn(1, N_MELS, 11, generator=rng(1))
    for frames in (1, 6, 7):
        short = torch.randn(1, N_MELS, frames, generator=rng(frames))
        alone, n_alone = model(short, torch.tensor([frames]))
        mel, lengths = pad_spectrograms([short[0], long[0]])
        mel[0, :, frames:] = 5  # must not be looked at
        both, n_both = model(mel, lengths)
        n = (frames + 1) // 2
        assert n_alone.tolist() == [n]
        assert n_both.tolist() == [n, 6]
        assert_close(both[:1, :n], alone, rtol=0, atol=1e-5)


def test_the_stem_and_the_encoder_are_whispers() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.WhisperConfig(
        num_mel_bins=N_MELS,
        d_model=10,
        encoder_layers=2,
        encoder_attention_heads=2,
        encoder_ffn_dim=11,
        max_source_positions=6,
        dropout=0.0,
        attn_implementation="eager",
    )
    kind = transformers.models.whisper.modeling_whisper.WhisperEncoder
    theirs = kind(config).eval()
    randomise(theirs)
    ours = a_recognizer()
    parts = {
        "encoder.norm": "layer_norm",
        "conv1": "conv1",
        "conv2": "conv2",
    }
    for i in range(2):
        for here, there in {
            "self_attention.q_proj": "self_attn.q_proj",
            "self_attention.out_proj": "self_attn.out_proj",
            "feed_forward.up_proj": "fc1",
            "feed_forward.down_proj": "fc2",
            "residuals.0.norm": "self_attn_layer_norm",
            "residuals.1.norm": "final_layer_norm",
        }.items():
            parts[f"encoder.layers.{i}.{here}"] = f"layers.{i}.{there}"
    for here, there in parts.items():
        state = theirs.get_submodule(there).state_dict()
        ours.get_submodule(here).load_state_dict(state)
    mel = torch.randn(2, N_MELS, 12, generator=rng())
    with torch.no_grad():
        x = torch.zeros(1, 6, 10)
        theirs.embed_positions.weight.copy_(ours.positions(x)[0])
        for a, b in zip(ours.encoder.layers, theirs.layers, strict=True):
            key, value = b.self_attn.k_proj, b.self_attn.v_proj
            assert key.bias is None
            kv = a.self_attention.kv_proj
            kv.weight.copy_(torch.cat([key.weight, value.weight]))
            kv.bias.copy_(torch.cat([torch.zeros(10), value.bias]))
        wanted = ours.head(theirs(mel).last_hidden_state).log_softmax(dim=-1)
        found, _ = ours(mel, torch.tensor([12, 12]))
    assert_close(found, wanted, rtol=0, atol=1e-5)


def test_recognition_takes_the_real_tokens_only() -> None:
    paths = torch.tensor([[1, 1, 0, 2, 3], [2, 2, 2, 0, 2]])
    fixed: Any = nn.Module()
    fixed.forward = lambda *_: (F.one_hot(paths, 4), torch.tensor([3, 5]))
    found = recognize(fixed, torch.zeros(2, 1, 10), torch.tensor([6, 10]))
    assert found == [[1], [2, 2]]


def test_two_words_can_be_learnt() -> None:
    torch.manual_seed(0)
    model = SpeechRecognizer(len(WORDS), d_model=32, d_ff=32, n_layers=1)
    utterances = make_utterances(2, seed=0, shortest=1, longest=1)
    train_recognizer(
        model, utterances, max_steps=200, batch_size=2, learning_rate=1e-2
    )
    assert not model.training
    assert error_rate(model, utterances) == 0


def slow_distance(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(
        slow_distance(a[:-1], b) + 1,
        slow_distance(a, b[:-1]) + 1,
        slow_distance(a[:-1], b[:-1]) + (a[-1] != b[-1]),
    )


def test_edit_distances() -> None:
    texts = ["", "a", "ab", "ba", "abc", "bca", "aabb", "abab", "cab"]
    for a, b in itertools.product(texts, repeat=2):
        assert edit_distance(a, b) == slow_distance(a, b)


def test_errors_are_counted_per_word() -> None:
    utterances = make_utterances(2, seed=0, shortest=2, longest=4)
    model = SpeechRecognizer(len(WORDS)).requires_grad_(False)
    model.head.weight.zero_()
    model.head.bias.copy_(torch.eye(11)[0])  # blanks only
    assert error_rate(model, utterances) == 1
    model.head.bias.copy_(torch.eye(11)[4])  # one word, always
    errors = sum(edit_distance(u.labels, [4]) for u in utterances)
    n = sum(len(u.labels) for u in utterances)
    assert error_rate(model, utterances) == errors / n


# Graphs


def test_neighbours_see_each_other_and_themselves() -> None:
    for i, j in itertools.product(range(6), repeat=2):
        joined = (i, j) in EDGES or (j, i) in EDGES
        assert SIX[i, j] == (i == j or joined)


def plain_gat(layer: GraphAttention, h: Tensor, mask: Tensor) -> Tensor:
    """Equations 1 to 5, node by node and head by head."""
    heads = []
    for head, weight in enumerate(layer.proj.weight.chunk(layer.n_heads)):
        Wh = h @ weight.T
        a = torch.cat([layer.a[0, head], layer.a[1, head]])
        rows = []
        for i in range(len(h)):
            near = [j for j in range(len(h)) if mask[i, j]]
            e = [a @ torch.cat([Wh[i], Wh[j]]) for j in near]
            alpha = F.leaky_relu(torch.stack(e), 0.2).softmax(dim=0)
            rows.append(alpha @ Wh[near])
        heads.append(torch.stack(rows))
    return torch.cat(heads, dim=1)


def test_graph_attention_is_that_of_the_paper() -> None:
    torch.manual_seed(0)
    layer = GraphAttention(5, 6, 2)
    h = torch.randn(6, 5)
    wanted = plain_gat(layer, h, SIX)
    assert_close(layer(h, SIX), wanted, rtol=0, atol=1e-6)
    both = layer(torch.stack([h, -h]), SIX)  # in a batch
    assert_close(both[0], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [lambda: NodeClassifier(3, 5), lambda: GraphAttention(3, 10, 2)],
)
def test_permuting_the_nodes_permutes_the_output(
    make: Callable[[], Callable[[Tensor, Tensor | None], Tensor]],
) -> None:
    torch.manual_seed(1)
    layer = make()
    x = torch.randn(2, 6, 3, generator=rng())
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    for mask, moved in (SIX, SIX[order][:, order]), (None, None):
        found, wanted = layer(x[:, order], moved), layer(x, mask)[:, order]
        assert_close(found, wanted, rtol=0, atol=1e-5)
    shuffled = layer(x[:, order], SIX)  # nodes without their edges
    assert (shuffled - layer(x, SIX)[:, order]).abs().max() > 1e-3


def test_a_layer_goes_one_step() -> None:
    x = torch.randn(1, 6, 3, generator=rng())
    changed = x.clone()
    changed[0, 0] += 1
    steps = hop_distances(SIX, torch.arange(6) == 0, 6)
    for n_layers in range(4):
        torch.manual_seed(0)
        model = NodeClassifier(3, 5, d_model=8, n_heads=2, n_layers=n_layers)
        moved = (model(changed, SIX) - model(x, SIX)).abs().amax(dim=(0, 2))
        assert (moved[steps <= n_layers] > 0).all()
        assert (moved[steps > n_layers] == 0).all()


def plain_distances(mask: Tensor, start: int, most: int) -> list[int]:
    """Breadth-first search."""
    found = {start: 0}
    queue = [start]
    for node in queue:
        for other in mask[node].nonzero().flatten().tolist():
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return [min(found.get(i, most), most) for i in range(len(mask))]


def test_labels_are_shortest_paths() -> None:
    graphs = make_graphs(5, seed=0, n_nodes=11, n_extra=2, max_distance=3)
    assert graphs.marks.shape == (5, 11, 1)
    assert graphs.masks.shape == (5, 1, 11, 11)
    for marks, mask, labels in zip(*graphs, strict=True):
        assert marks.sum() == 1
        assert torch.equal(mask[0], mask[0].mT)
        assert mask[0].diagonal().all()
        wanted = plain_distances(mask[0], int(marks.argmax()), 3)
        assert labels.tolist() == wanted
        everywhere = plain_distances(mask[0], 0, 99)
        assert max(everywhere) < 11  # connected
    mask = neighbour_mask([(0, 1)], 3)  # the last is out of reach
    found = hop_distances(mask, torch.tensor([True, False, False]), 7)
    assert found.tolist() == [0, 1, 7]
    for a, b in zip(make_graphs(3, 1), make_graphs(3, 1), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(make_graphs(3, 1).masks, make_graphs(3, 2).masks)


def test_steps_up_to_the_layers_are_learnt_under_a_mask_only() -> None:
    marks, masks, labels = make_graphs(200, 0, n_nodes=7, max_distance=2)

    def accuracy(mask: Tensor | None) -> float:
        torch.manual_seed(0)
        model = NodeClassifier(1, 3, d_model=16, d_ff=16, n_layers=1)
        train_on_graphs(model, marks, mask, labels, max_steps=150)
        assert not model.training
        found = model(marks, mask).argmax(dim=-1)
        return (found == labels).double().mean().item()

    assert accuracy(masks) == 1
    assert accuracy(None) < 0.7


# Bad input


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match=r"\(\.\.\., 101 samples or more\)"):
        log_mel_spectrogram(torch.zeros(100))
    with pytest.raises(ValueError, match="in a window must be at least 2"):
        log_mel_spectrogram(torch.zeros(999), window=0.0)
    with pytest.raises(ValueError, match="in a stride must be at least 1"):
        log_mel_spectrogram(torch.zeros(999), stride=1e-9)
    with pytest.raises(ValueError, match="lengths must be from 1 to 9"):
        a_recognizer()(torch.zeros(2, 7, 9), torch.tensor([9, 0]))
    with pytest.raises(ValueError, match="nodes must be from 0 to 2"):
        neighbour_mask([(-1, 0)], 3)
    with pytest.raises(ValueError, match="n_heads must divide d_out = 7"):
        GraphAttention(5, 7, 2)
