"""Decoding in a child process beside decoding in place: images of 1 MiB."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray
from tests.bench.report import Row, interleaved

from byteatlas.codecs.core.imagecodecs_table import KEPT
from byteatlas.codecs.isolated.children import decode_apart

ROUNDS = 30
NAMES = ("gif", "jpeg8", "jpegls", "png", "qoi", "spng", "webp", "htj2k", "jpegxr", "ljpeg")


def image(name: str) -> NDArray[Any]:
    """1 MiB that compresses somewhat."""
    noise = np.random.default_rng(0).integers(0, 4, (1024, 1024))
    gray = (np.add.outer(np.arange(1024), np.arange(1024)) // 3 + noise).astype(np.uint8)
    if name in ("qoi", "webp"):
        return np.ascontiguousarray(np.stack([gray[:591, :591]] * 3, -1))
    return gray[:512].astype(np.uint16) * 3 if name == "ljpeg" else gray


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """Each decoder in place and apart, in turn."""
    rows: list[Row] = []
    for name in NAMES:
        array = image(name)
        options = {"lossless": True} if name == "webp" else {}
        data = bytes(getattr(imagecodecs, f"{name}_encode")(array, **options))
        decode = getattr(imagecodecs, f"{name}_decode")
        timed = {
            "in place": partial(decode, data),
            f"apart, process {'kept' if name in KEPT else 'for each'}": partial(
                decode_apart, name, data, 4 * array.nbytes
            ),
        }
        rows += interleaved(f"isolated decoder: {name}", timed, ROUNDS, array.nbytes)
    return rows
