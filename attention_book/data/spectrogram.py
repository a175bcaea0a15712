# Made from docs/source/sound.md (b4f66fec17d1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Log-mel spectrograms.

Explained on the page "Sound files and spectrograms".
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_size


__all__ = ["log_mel_spectrogram"]


def _mel_to_hz(mel: Tensor) -> Tensor:
    """Linear up to 15 mels, 1000 Hz; above, 27 mels are a factor of 6.4."""
    above = 1000 * torch.exp((mel.clamp(min=15) - 15) * math.log(6.4) / 27)
    return torch.where(mel < 15, 200 * mel / 3, above)


def _mel_filters(
    rate: int, n_fft: int, n_mels: int
) -> Float[Tensor, "{n_mels} frequencies"]:
    """Triangles at equal distances in mels, from 0 Hz to half the rate.

    Each rises from the peak of the one before and falls to that of the next.
    Its height is 2 / its base in Hz, so that all have the same area.

    Args:
        rate: Sampling rate in Hz.
        n_fft: Samples in a frame.
        n_mels: Number of triangles.

    Source: Slaney (1998), Auditory Toolbox, as in Whisper.
    """
    hz = torch.linspace(0, rate / 2, n_fft // 2 + 1, dtype=torch.float64)
    top = 3 * rate / 400  # in mels
    if rate > 2000:
        top = 15 + 27 * math.log(rate / 2000) / math.log(6.4)
    mels = torch.linspace(0, top, n_mels + 2, dtype=torch.float64)
    corners = _mel_to_hz(mels)[:, None]
    left, peak, right = corners[:-2], corners[1:-1], corners[2:]
    rising = (hz - left) / (peak - left)
    falling = (right - hz) / (right - peak)
    triangles = torch.minimum(rising, falling).clamp(min=0)
    return (2 / (right - left) * triangles).float()


def log_mel_spectrogram(
    waveform: Float[Tensor, "*batch samples"],
    rate: int = 8000,
    *,
    n_mels: int = 40,
    window: float = 0.025,
    stride: float = 0.010,
) -> Float[Tensor, "*batch {n_mels} frames"]:
    """Turn sound into the logarithm of its power, by frame and frequency.

    Args:
        waveform: Samples, from -1 to 1; more than half a window of them.
        rate: Sampling rate in Hz.
        n_mels: Number of bands of frequencies.
        window: Length of a frame in s.
        stride: From one frame to the next, in s.

    Returns:
        One column for each stride: log10 of the power, at most 8 below the
        largest, then (x + 4) / 4, which brings it to about -1 to 1.5.

    Raises:
        ValueError: There are too few samples, or a number is out of range.

    Source: Radford et al. (2022), §2.2, and the code of Whisper.
    """
    n_fft = round(window * rate)
    hop = round(stride * rate)
    check_size("samples in a window", n_fft, min_size=2)
    check_size("samples in a stride", hop)
    check_size("n_mels", n_mels)
    filters = _mel_filters(rate, n_fft, n_mels).to(waveform)
    least = max(n_fft // 2 + 1, hop)
    if not waveform.ndim or waveform.shape[-1] < least:
        raise ValueError(
            f"waveform must be (..., {least} samples or more), got shape "
            f"{tuple(waveform.shape)}"
        )
    flat = waveform.reshape(-1, waveform.shape[-1])
    hann = torch.hann_window(n_fft, dtype=flat.dtype, device=flat.device)
    spectrum = torch.stft(flat, n_fft, hop, window=hann, return_complex=True)
    power = spectrum[..., : waveform.shape[-1] // hop].abs() ** 2
    mel = filters @ power  # (batch, n_mels, frames)
    log_mel = mel.clamp(min=1e-10).log10()
    floor = log_mel.amax(dim=(-2, -1), keepdim=True) - 8
    log_mel = torch.maximum(log_mel, floor)
    return ((log_mel + 4) / 4).view(*waveform.shape[:-1], *mel.shape[-2:])
