# Made from docs/source/sound.md (0ecbe9203c1b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""WAV files. Explained on the page "Sound files and spectrograms"."""

import wave
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor


__all__ = ["load_wave"]


def load_wave(path: Path | str) -> tuple[Float[Tensor, " samples"], int]:
    """Read a WAV file of 8, 16, 24 or 32-bit whole numbers (PCM).

    Channels are averaged. Nothing is resampled.

    Returns:
        The samples, from -1 to 1, and the sampling rate in Hz.

    Raises:
        ValueError: The file is none of these, is cut off or has no sound.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError("wanted a WAV file, got no regular file")
    try:
        with wave.open(str(path), "rb") as file:
            channels = file.getnchannels()
            width = file.getsampwidth()  # bytes
            rate = file.getframerate()
            n_bytes = file.getnframes() * channels * width
            data = file.readframes(min(n_bytes, path.stat().st_size))
    except (EOFError, wave.Error) as error:
        why = str(error) or "a file that ends too soon"
        raise ValueError(f"wanted a PCM WAV file, got: {why}") from None
    if len(data) != n_bytes:
        raise ValueError("wanted a whole WAV file, got one cut off")
    if not data or width not in (1, 2, 3, 4) or rate < 1:
        raise ValueError(
            "wanted a WAV file with sound of 1 to 4 bytes a sample, got "
            f"{n_bytes} bytes, {width} a sample, at {rate} Hz"
        )
    x = _to_samples(data, width)
    return x.view(-1, channels).mean(dim=1), rate


def _to_samples(data: bytes, width: int) -> Float[Tensor, " samples"]:
    """Turn whole numbers, lowest byte first, into numbers from -1 to 1."""
    x = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    if width == 1:  # the only width without a sign
        return (x.float() - 128) / 128
    places = 256.0 ** torch.arange(width, dtype=torch.float64)
    x = (x.view(-1, width) * places).sum(dim=1)
    half = 256.0**width / 2
    x = torch.where(x < half, x, x - 2 * half)  # two's complement
    return (x / half).float()
