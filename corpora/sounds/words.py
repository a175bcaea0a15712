"""Ten words that a formant synthesiser says in many voices."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


__all__ = [
    "RATE",
    "WORDS",
    "Utterance",
    "add_noise",
    "make_utterances",
    "synthesize",
]


WORDS = ("ai", "ao", "ei", "ou", "ia", "ie", "ua", "uo", "iu", "ui")
RATE = 8000  # Hz
_FORMANTS = {  # Hz
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (270.0, 2290.0, 3010.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (300.0, 870.0, 2240.0),
}
_BANDWIDTH = 80.0  # Hz, half a resonance's width


class Utterance(NamedTuple):
    """Words said one after another."""

    waveform: Float[Tensor, " samples"]
    labels: list[int]  # 1 for the first of WORDS; 0 is the blank


def _one_word(
    word: str, pitch: Tensor, duration: float
) -> Float[Tensor, " samples"]:
    """A glide from one vowel to another: a sum of harmonics of the pitch.

    The closer a harmonic is to a formant, the louder it is.
    """
    n_samples = round(duration * RATE)
    t = torch.linspace(0, 1, n_samples)
    hz = pitch[0] + (pitch[1] - pitch[0]) * t
    phase = 2 * math.pi * torch.cumsum(hz, dim=0) / RATE
    first, last = (torch.tensor(_FORMANTS[vowel]) for vowel in word)
    glide = torch.sigmoid(12 * (t - 0.5))[:, None]
    formants = first + (last - first) * glide  # (samples, 3)
    n_harmonics = int(RATE / 2 / pitch.max().item())
    numbers = torch.arange(1, n_harmonics + 1)
    harmonics = hz[:, None] * numbers
    far = (harmonics[..., None] - formants[:, None]) / _BANDWIDTH
    loudness = (1 / (1 + far**2)).sum(dim=-1) / numbers.sqrt()
    x = (loudness * torch.sin(phase[:, None] * numbers)).sum(dim=-1)
    return x * torch.sin(math.pi * t).clamp(min=0).sqrt()


def synthesize(
    words: Sequence[str], generator: torch.Generator
) -> Float[Tensor, " samples"]:
    """Say words without a pause, in a voice that the generator draws.

    The voice has a pitch from 90 to 250 Hz, which moves up to a fifth within
    a word, a word lasts from 0.12 to 0.24 s, and the loudest sample is from
    0.1 to 0.9.

    Returns:
        Samples at 8000 Hz.

    Source: the frequencies of the resonances are the means of men in
        Peterson and Barney (1952), table II.
    """
    drawn = torch.rand(2, generator=generator)
    pitch = 90 + 160 * drawn[0]
    parts = []
    for word in words:
        moves, lasts = torch.rand(2, 2, generator=generator)
        ends = pitch * (0.9 + 0.2 * moves)
        duration = 0.12 + 0.12 * lasts[0].item()
        parts.append(_one_word(word, ends, duration))
    x = torch.cat(parts)
    return x / x.abs().max() * (0.1 + 0.8 * drawn[1])


def make_utterances(
    n: int, seed: int, *, shortest: int = 2, longest: int = 4
) -> list[Utterance]:
    """Draw words at random, and say them."""
    generator = torch.Generator().manual_seed(seed)
    utterances = []
    for _ in range(n):
        size = torch.randint(shortest, longest + 1, (1,), generator=generator)
        drawn = torch.randint(
            len(WORDS), (int(size.item()),), generator=generator
        )
        words = [WORDS[i] for i in drawn.tolist()]
        labels = [i + 1 for i in drawn.tolist()]
        utterances.append(Utterance(synthesize(words, generator), labels))
    return utterances


def add_noise(
    waveform: Float[Tensor, " samples"],
    decibels: float,
    generator: torch.Generator,
) -> Float[Tensor, " samples"]:
    """Add white noise at a signal-to-noise ratio.

    Args:
        waveform: The samples.
        decibels: 10 log10 of the power of the sound over that of the noise:
            20 for a hundredth of the power, 0 for as much.
        generator: Draws the noise.
    """
    noise = torch.randn(waveform.shape, generator=generator)
    power = waveform.square().mean() / 10 ** (decibels / 10)
    return waveform + power.sqrt() * noise.to(waveform)
