"""numcodecs' object codecs: ``vlen-array``, ``json2``, ``msgpack2``, ``categorize``.

The JSON and MessagePack payloads are a list of the elements, then a type string and the shape. Pickle is refused: see
`table.REFUSED`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, Context, SerializerStep
from byteatlas.codecs.core.options import flag, text, type_string
from byteatlas.codecs.numcodecs import msgpack
from byteatlas.codecs.zarr.vlen import check_count
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON

ENCODINGS = (
    "utf-8",
    "utf8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "utf-32-le",
    "utf-32-be",
    "ascii",
    "latin-1",
)
MOST_NESTING = 64


def _objects(spec: ArraySpec, name: str) -> None:
    if not spec.dtype.hasobject or spec.dtype.names:
        raise InvalidMetadata("", f"{name} for data type {spec.data_type.name}")


# ------------------------------------------------------------------------------------------------------ vlen-array


@dataclass(frozen=True, slots=True)
class VlenArray:
    """A count, then each element as its number of bytes and the bytes of a one-dimensional array."""

    dtype: np.dtype[Any] | None

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        _objects(spec, "vlen-array")
        count, dtype = spec.size, self.dtype
        native = None if dtype is None else dtype.newbyteorder("=")

        def element(data: memoryview) -> Any:
            if dtype is None or native is None:
                return data.tobytes()
            if len(data) % dtype.itemsize:
                raise CorruptChunk(f"vlen-array: {len(data)} bytes are no {dtype}")
            return np.frombuffer(data, dtype).astype(native)

        def decode(data: Bytes) -> NDArray[Any]:
            check_count(data, count)
            flat = np.empty(count, object)
            view, at = memoryview(data), 4
            for i in range(count):
                if at + 4 > len(view):
                    raise CorruptChunk("vlen-array: the chunk ends within an element")
                (length,) = struct.unpack_from("<I", view, at)
                at += 4
                if at + length > len(view):
                    raise CorruptChunk(f"vlen-array: an element of {length} bytes sticks out of the chunk")
                flat[i] = element(view[at : at + length])
                at += length
            return flat.reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            parts = [struct.pack("<I", count)]
            for value in array.reshape(-1):
                item = value if dtype is None else np.asarray([] if value is None else value).astype(dtype).tobytes()
                parts += [struct.pack("<I", len(item)), item]
            return b"".join(parts)

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)


def make_vlen_array(configuration: Mapping[str, JSON]) -> VlenArray:
    """``numcodecs.vlen-array``; without a dtype the elements are bytes."""
    return VlenArray(type_string(configuration, "dtype") if configuration.get("dtype") is not None else None)


# ------------------------------------------------------------------------------------------------------ json, msgpack


@dataclass(frozen=True, slots=True)
class Listed:
    """Elements as a list with a type string and a shape at its end."""

    name: str
    loads: Callable[[bytes], Any]
    dumps: Callable[[list[Any]], bytes]

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        def decode(data: Bytes) -> NDArray[Any]:
            found = self.loads(bytes(data))
            if not isinstance(found, list) or len(found) < 2 or not isinstance(found[-1], list):
                raise CorruptChunk(f"{self.name}: not a list that ends with a type and a shape")
            shape = tuple(found[-1])
            items = found[:-2]
            flat = items if not shape and len(items) == 1 else _flatten(items, shape, self.name)
            if len(flat) != spec.size:
                raise CorruptChunk(f"{self.name}: {len(flat)} elements where the chunk has {spec.size}")
            return _as_array(flat, spec, self.name)

        def encode(array: NDArray[Any]) -> Bytes:
            values = np.atleast_1d(array).tolist() if self.name == "json2" else array.tolist()
            if not isinstance(values, list):
                values = [values]
            return self.dumps([*values, "|O" if array.dtype.hasobject else array.dtype.str, list(array.shape)])

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)


def _flatten(items: list[Any], shape: tuple[Any, ...], name: str) -> list[Any]:
    """Elements of nested lists of this shape; lists further down are elements."""
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


def _as_array(flat: list[Any], spec: ArraySpec, name: str) -> NDArray[Any]:
    if spec.dtype.hasobject:
        out = np.empty(len(flat), object)
        for i, item in enumerate(flat):
            out[i] = item
        return out.reshape(spec.shape)
    try:
        return np.array(flat, spec.dtype).reshape(spec.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise CorruptChunk(f"{name}: elements are not {spec.dtype}: {error}") from error


def make_json(configuration: Mapping[str, JSON]) -> Listed:
    """``numcodecs.json2``."""
    encoding = text(configuration, "encoding", "utf-8").lower()
    if encoding not in ENCODINGS:
        raise InvalidMetadata("", f"json2: encoding {encoding!r}")
    separators = configuration.get("separators")
    pair = (str(separators[0]), str(separators[1])) if isinstance(separators, list) and len(separators) == 2 else None

    def loads(data: bytes) -> Any:
        try:
            return json.loads(data.decode(encoding))
        except (ValueError, RecursionError) as error:
            raise CorruptChunk(f"json2: {error}") from error

    def dumps(items: list[Any]) -> bytes:
        ensure, order = flag(configuration, "ensure_ascii", True), flag(configuration, "sort_keys", True)
        try:
            return json.dumps(items, ensure_ascii=ensure, sort_keys=order, separators=pair).encode(encoding)
        except (TypeError, ValueError) as error:
            raise InvalidMetadata("", f"json2: {error}") from error

    return Listed("json2", loads, dumps)


def make_msgpack(configuration: Mapping[str, JSON]) -> Listed:
    """``numcodecs.msgpack2``."""
    raw, binary = flag(configuration, "raw", False), flag(configuration, "use_bin_type", True)

    def loads(data: bytes) -> Any:
        return msgpack.loads(data, raw=raw)

    def dumps(items: list[Any]) -> bytes:
        return msgpack.dumps(items, binary=binary)

    return Listed("msgpack2", loads, dumps)


# ------------------------------------------------------------------------------------------------------ categorize


@dataclass(frozen=True, slots=True)
class Categorize:
    """Labels by number; 0 is none of them and reads as the empty string."""

    labels: tuple[str, ...]
    astype: np.dtype[Any]

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        if spec.dtype.kind not in "OU" or spec.dtype.names:
            raise InvalidMetadata("", f"categorize for data type {spec.data_type.name}")
        nbytes = spec.size * self.astype.itemsize
        table = np.empty(len(self.labels) + 1, object)
        table[:] = ["", *self.labels]

        def decode(data: Bytes) -> NDArray[Any]:
            if len(data) != nbytes:
                raise CorruptChunk(f"categorize: {len(data)} bytes where the chunk has {nbytes}")
            codes = np.frombuffer(data, self.astype).astype(np.int64)
            codes[(codes < 0) | (codes >= len(table))] = 0
            return table[codes].astype(spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            codes = np.zeros(array.shape, self.astype)
            for number, label in enumerate(self.labels):
                codes[array == label] = number + 1
            return codes.tobytes()

        return SerializerStep(nbytes, nbytes, decode, encode, self.astype.itemsize)


def make_categorize(configuration: Mapping[str, JSON]) -> Categorize:
    """``numcodecs.categorize``."""
    labels = configuration.get("labels")
    if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
        raise InvalidMetadata("", f"categorize: labels {labels!r}")
    astype = type_string(configuration, "astype", "|u1")
    if astype.kind not in "iu" or len(labels) >= 1 << (8 * astype.itemsize - 1):
        raise InvalidMetadata("", f"categorize: {len(labels)} labels as {astype}")
    return Categorize(tuple(labels), astype)
