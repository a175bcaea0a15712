"""Train a recogniser of the synthetic words, and count its errors."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.data.spectrogram import log_mel_spectrogram
from attention_book.models.speech import ctc_collapse
from corpora.minimize import minimize
from corpora.sounds.words import Utterance, add_noise


__all__ = [
    "edit_distance",
    "error_rate",
    "pad_spectrograms",
    "recognize",
    "train_recognizer",
    "with_noise",
]


def pad_spectrograms(
    spectrograms: Sequence[Float[Tensor, "n_mels _"]],
) -> tuple[Float[Tensor, "batch n_mels frames"], Int[Tensor, " batch"]]:
    """Pad spectrograms with zeros to one tensor; return lengths too."""
    lengths = torch.tensor([mel.shape[1] for mel in spectrograms])
    longest = int(lengths.max())
    padded = [F.pad(m, (0, longest - m.shape[1])) for m in spectrograms]
    return torch.stack(padded), lengths


def with_noise(
    utterances: Sequence[Utterance], decibels: float, seed: int
) -> list[Utterance]:
    """Return utterances with noise of their own, as add_noise makes it."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Utterance(add_noise(u.waveform, decibels, generator), u.labels)
        for u in utterances
    ]


def _noisy(
    waveforms: list[Tensor],
    decibels: tuple[float, float],
    generator: torch.Generator,
) -> list[Tensor]:
    """Add noise to each, at a ratio drawn between these two."""
    low, high = decibels
    drawn = torch.rand(len(waveforms), generator=generator)
    ratios = (low + (high - low) * drawn).tolist()
    return [
        add_noise(x, ratio, generator)
        for x, ratio in zip(waveforms, ratios, strict=True)
    ]


def train_recognizer(
    model: nn.Module,
    utterances: Sequence[Utterance],
    *,
    max_steps: int,
    batch_size: int = 16,
    learning_rate: float = 4e-3,
    decibels: tuple[float, float] | None = None,
    seed: int = 0,
) -> None:
    """Train with the CTC loss, in place.

    Args:
        model: A SpeechRecognizer, or what takes and returns the same.
        utterances: What it is trained on, drawn at random.
        max_steps: Number of batches.
        batch_size: Utterances in a batch.
        learning_rate: Its peak, after a tenth of the steps.
        decibels: From and to which signal-to-noise ratio noise is added, new
            at each step; None for none.
        seed: Decides batches and noise.
    """

    def loss_of(generator: torch.Generator) -> Tensor:
        drawn = torch.randint(
            len(utterances), (batch_size,), generator=generator
        )
        batch = [utterances[i] for i in drawn.tolist()]
        waveforms = [u.waveform for u in batch]
        if decibels is not None:
            waveforms = _noisy(waveforms, decibels, generator)
        spectrograms = [log_mel_spectrogram(x) for x in waveforms]
        log_probs, n_tokens = model(*pad_spectrograms(spectrograms))
        labels = torch.tensor([label for u in batch for label in u.labels])
        sizes = torch.tensor([len(u.labels) for u in batch])
        # F.ctc_loss wants (tokens, batch, classes)
        return F.ctc_loss(log_probs.transpose(0, 1), labels, n_tokens, sizes)

    minimize(
        model,
        loss_of,
        max_steps=max_steps,
        learning_rate=learning_rate,
        seed=seed,
    )


@torch.no_grad()
def recognize(
    model: nn.Module,
    mel: Float[Tensor, "batch n_mels frames"],
    lengths: Int[Tensor, " batch"],
) -> list[list[int]]:
    """Return the labels of the most probable path of each row."""
    log_probs, lengths = model(mel, lengths)
    paths = log_probs.argmax(dim=-1).tolist()
    ends = lengths.tolist()
    return [
        ctc_collapse(path[:end]) for path, end in zip(paths, ends, strict=True)
    ]


def edit_distance(a: Sequence[object], b: Sequence[object]) -> int:
    """Return the fewest insertions, deletions and replacements from a to b.

    Source: Wagner and Fischer (1974).
    """
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before = row
        row = [i]
        for j, y in enumerate(b, 1):
            replaced = before[j - 1] + (x != y)
            row.append(min(before[j] + 1, row[-1] + 1, replaced))
    return row[-1]


def error_rate(model: nn.Module, utterances: Sequence[Utterance]) -> float:
    """Return the edit distance to what was said, per word that was said."""
    n_said = sum(len(u.labels) for u in utterances)
    mel, lengths = pad_spectrograms(
        [log_mel_spectrogram(u.waveform) for u in utterances]
    )
    heard = recognize(model, mel, lengths)
    errors = sum(
        edit_distance(u.labels, labels)
        for u, labels in zip(utterances, heard, strict=True)
    )
    return errors / n_said
