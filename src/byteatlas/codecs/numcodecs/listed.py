"""numcodecs' ``json2`` and ``msgpack2``: a list of the elements, then a type string and the shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard, at_most
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice, flag, text
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

ENCODINGS = (
    "utf-8", "utf8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "ascii", "latin-1",
)  # fmt: skip
MOST_NESTING = 64
MOST_LISTS = 1 << 24
"""Lists and objects in a chunk: an empty one takes two bytes there, and 64 in memory."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Elements as a list with a type string and a shape at its end."""

    name: str
    loads: Callable[[bytes], Any]
    dumps: Callable[[list[Any]], bytes]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        def decode(data: Bytes) -> NDArray[Any]:
            found = self.loads(bytes(data))
            if not isinstance(found, list) or len(found) < 2 or not isinstance(found[-1], list):
                raise CorruptChunk(f"{self.name}: not a list that ends with a type and a shape")
            check_type(self.name, found[-2], spec)
            shape = tuple(found[-1])
            items = found[:-2]
            flat = items if not shape and len(items) == 1 else flatten(items, shape, self.name)
            if len(flat) != spec.size:
                raise CorruptChunk(f"{self.name}: {len(flat)} elements where the chunk has {spec.size}")
            return self._array(flat, spec)

        def encode(array: NDArray[Any]) -> Bytes:
            values = np.atleast_1d(array).tolist() if self.name == "json2" else array.tolist()
            if not isinstance(values, list):
                values = [values]
            return self.dumps([*values, "|O" if array.dtype.hasobject else array.dtype.str, list(array.shape)])

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)

    def _array(self, flat: list[Any], spec: ArraySpec) -> NDArray[Any]:
        if spec.dtype.hasobject:
            out = np.empty(len(flat), object)
            for i, item in enumerate(flat):
                out[i] = item
            return out.reshape(spec.shape)
        with DamageGuard(f"{self.name}: elements are not {spec.dtype}", TypeError, ValueError, OverflowError):
            return np.array(flat, spec.dtype).reshape(spec.shape)


def check_type(name: str, given: Any, spec: ArraySpec) -> None:
    """The list's own type string must be that of the chunk, but for byte order. Raises `CorruptChunk`."""
    if spec.dtype.hasobject:
        return
    try:
        same = np.dtype(given).newbyteorder("=") == spec.dtype
    except (TypeError, ValueError):
        same = False
    if not same:
        raise CorruptChunk(f"{name}: elements of type {str(given)[:40]!r} where the chunk has {spec.dtype}")


def flatten(items: list[Any], shape: tuple[Any, ...], name: str) -> list[Any]:
    """Elements of nested lists of this shape; lists further down are elements. Raises `CorruptChunk`."""
    if len(shape) > MOST_NESTING or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise CorruptChunk(f"{name}: shape {shape!r}")
    level: list[Any] = [items]
    for n in shape:
        following: list[Any] = []
        for item in level:
            if not isinstance(item, (list, tuple)) or len(item) != n:
                raise CorruptChunk(f"{name}: the elements do not have the shape {shape}")
            following += item
        level = following
    return level


def make_json(configuration: Configuration) -> Listed:
    """``numcodecs.json2``."""
    encoding = text(configuration, "encoding", "utf-8").lower()
    choice({"encoding": encoding}, "encoding", ENCODINGS)
    separators = configuration.get("separators")
    pair = (str(separators[0]), str(separators[1])) if isinstance(separators, list) and len(separators) == 2 else None

    def loads(data: bytes) -> Any:
        at_most("json2", data.count(b"[") + data.count(b"{"), MOST_LISTS)
        with DamageGuard("json2", ValueError, RecursionError):
            return json.loads(data.decode(encoding))

    def dumps(items: list[Any]) -> bytes:
        ensure, order = flag(configuration, "ensure_ascii", True), flag(configuration, "sort_keys", True)
        try:
            return json.dumps(items, ensure_ascii=ensure, sort_keys=order, separators=pair).encode(encoding)
        except (TypeError, ValueError) as error:
            raise invalid(f"json2: {error}") from error

    return Listed("json2", loads, dumps)


def make_msgpack(configuration: Configuration) -> Listed:
    """``numcodecs.msgpack2``."""
    raw = flag(configuration, "raw", False)

    def dumps(items: list[Any]) -> bytes:
        import msgpack

        binary = flag(configuration, "use_bin_type", True)
        single = flag(configuration, "use_single_float", False)
        try:
            return bytes(msgpack.packb(items, use_bin_type=binary, use_single_float=single))
        except (TypeError, ValueError, OverflowError) as error:
            raise invalid(f"msgpack2: {error}") from error

    return Listed("msgpack2", lambda data: load_msgpack(data, raw), dumps)


def load_msgpack(data: bytes, raw: bool) -> Any:
    """The value of a MessagePack document without extension types; text as bytes when ``raw``. Raises `CorruptChunk`.

    Lists are allocated when their lengths are read. So the document is walked first without making anything: then
    every element that a length announces is known to be there, and the whole is bounded by its bytes.
    """
    import msgpack

    with DamageGuard("msgpack2", ValueError, TypeError, msgpack.UnpackException):
        walk = msgpack.Unpacker(max_buffer_size=len(data) or 1)
        walk.feed(data)
        walk.skip()
        return msgpack.unpackb(data, raw=raw, strict_map_key=False, max_ext_len=0, ext_hook=_no_extension)


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"a value of extension type {code}")
