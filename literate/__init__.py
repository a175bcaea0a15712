"""The toolchain that makes a program, a site and notebooks of the chapters."""

from pathlib import Path


ROOT = Path(__file__).resolve().parent.parent
