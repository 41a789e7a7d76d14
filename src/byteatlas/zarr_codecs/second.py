"""Our codecs for numcodecs, by which zarr-python reads Zarr v2.

A codec of version 2 gets bytes and nothing else: neither the chunk's shape nor its type. Codecs that cannot do without
are not here (`byteatlas.zarr_codecs.chunks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ndarray_copy

from byteatlas.codecs.core.contract import MOST_UNKNOWN, ByteSpec
from byteatlas.codecs.core.registry import default_registry
from byteatlas.types import JSON
from byteatlas.zarr_codecs.base import binder, refuse_encoding

NAMES = (
    "byteatlas.hdf5-scaleoffset", "byteatlas.hdf5-bitshuffle", "byteatlas.hdf5-blosc2", "byteatlas.hdf5-plugin",
    "byteatlas.hdf5-nbit", "byteatlas.hdf4-rle", "imagecodecs_bitshuffle",
)  # fmt: skip
"""Ids. imagecodecs' own class for its bitshuffle takes the width of the buffer's items for that of the elements."""


class _Second(Codec):  # type: ignore[misc]  # numcodecs has no types
    def __init__(self, **configuration: JSON) -> None:
        self.configuration = configuration
        _make(self.codec_id)(configuration)

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.configuration}

    @classmethod
    def from_config(cls, config: Mapping[str, JSON]) -> _Second:
        return cls(**{name: value for name, value in config.items() if name != "id"})

    def decode(self, buf: Any, out: Any = None) -> Any:
        codec: Any = _make(self.codec_id)(self.configuration)
        data: Any = np.ascontiguousarray(buf).reshape(-1).view(np.uint8)
        found = codec.bind_bytes(ByteSpec(None, MOST_UNKNOWN), binder()).decode(memoryview(data))
        return found if out is None else ndarray_copy(np.frombuffer(found, np.uint8), out)

    def encode(self, buf: Any) -> Any:
        raise refuse_encoding(self.codec_id)


def attribute(name: str) -> str:
    """What the class of a codec is called here."""
    return name.removeprefix("byteatlas.").replace("-", "_")


def _make(codec_id: str) -> Any:
    """The maker of our codec: ids that are not ours have a prefix in version 3."""
    ours = codec_id if codec_id.startswith("byteatlas.") else f"numcodecs.{codec_id}"
    return default_registry()[ours]


_CLASSES: dict[str, str] = {attribute(name): name for name in NAMES}


def __getattr__(name: str) -> Any:
    """The class of a codec, made when it is first asked for."""
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = type(name, (_Second,), {"codec_id": _CLASSES[name], "__module__": __name__, "__qualname__": name})
    globals()[name] = made
    return made
