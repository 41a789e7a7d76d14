"""``packbits`` (Zarr extensions registry): elements of a fixed number of bits, packed without gaps, low bits first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice, integer
from byteatlas.errors import CorruptChunk
from byteatlas.meta import dtypes
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

PADDINGS = {"none": "none", "first_byte": "first", "start_byte": "first", "last_byte": "last", "end_byte": "last"}


@dataclass(frozen=True, slots=True)
class PackBits:
    """Bits ``first`` to ``last`` of each component (None: all of them); ``padding`` none, first or last."""

    first: int | None
    last: int | None
    padding: str

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        component, parts = _component(spec)
        width = component.itemsize * 8
        bits = dtypes.BITS.get(component.name, 1 if component.kind == "b" else width)
        first = 0 if self.first is None else self.first
        last = bits - 1 if self.last is None else self.last
        if not 0 <= first <= last < bits:
            raise invalid(f"bits {first} to {last} of {bits}")
        kept, count = last - first + 1, spec.size * parts
        body = -(-count * kept // 8)
        nbytes = body + (self.padding != "none")
        signed = component.kind == "i" or component.name in ("int2", "int4") or component.kind in "mM"

        def decode(data: Bytes) -> NDArray[Any]:
            octets = self._body(np.frombuffer(data, np.uint8), nbytes, -count * kept % 8)
            words = unpack(octets, count, kept)
            if signed and kept < 64:
                spare = np.uint64(64 - kept)
                words = ((words << spare).view(np.int64) >> spare.astype(np.int64)).view(np.uint64)
            return _elements(words << np.uint64(first), component, spec)

        def encode(array: NDArray[Any]) -> Bytes:
            words = _words(array, component, spec) >> np.uint64(first)
            packed = pack(words, kept)
            note = bytes([-count * kept % 8])
            return note + packed if self.padding == "first" else packed + note if self.padding == "last" else packed

        return SerializerStep(nbytes, nbytes, decode, encode)

    def _body(self, octets: NDArray[np.uint8], nbytes: int, padding: int) -> NDArray[np.uint8]:
        exactly("packbits", len(octets), nbytes)
        if self.padding == "none":
            return octets
        note, body = (octets[0], octets[1:]) if self.padding == "first" else (octets[-1], octets[:-1])
        if int(note) != padding:
            raise CorruptChunk(f"packbits: {int(note)} bits of padding where the chunk has {padding}")
        return body


def _component(spec: ArraySpec) -> tuple[np.dtype[Any], int]:
    """The type of one component, and how many make an element."""
    dtype = spec.dtype
    part = dtypes.complex_part(spec.data_type)
    if part is not None:
        return part, 2
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}"), 2
    if dtype.name in dtypes.NARROW or (dtype.kind in "biufmM" and dtype.itemsize <= 8):
        return dtype, 1
    raise invalid(f"not for data type {spec.data_type.name}")


def unpack(octets: NDArray[np.uint8], count: int, width: int) -> NDArray[np.uint64]:
    """``count`` unsigned numbers of ``width`` bits, the lowest bit first."""
    bits = np.unpackbits(octets, bitorder="little", count=count * width).reshape(count, width)
    wide = np.zeros((count, 64), np.uint8)
    wide[:, :width] = bits
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").reshape(count).astype(np.uint64, copy=False)


def pack(words: NDArray[np.uint64], width: int) -> bytes:
    """The low ``width`` bits of numbers, without gaps."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return np.packbits(bits[:, :width].reshape(-1), bitorder="little").tobytes()


def _elements(words: NDArray[np.uint64], component: np.dtype[Any], spec: ArraySpec) -> NDArray[Any]:
    size = component.itemsize
    octets = np.ascontiguousarray(words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size])
    values = octets.reshape(-1).view(f"<u{size}").astype(f"=u{size}", copy=False).view(component)
    if dtypes.complex_part(spec.data_type) is not None:
        values = values.astype(np.float32)
    return values.view(spec.dtype).reshape(spec.shape)


def _words(array: NDArray[Any], component: np.dtype[Any], spec: ArraySpec) -> NDArray[np.uint64]:
    flat = np.ascontiguousarray(array, spec.dtype).reshape(-1)
    if dtypes.complex_part(spec.data_type) is not None:
        flat = flat.view(np.float32).astype(component)
    return flat.view(component).view(f"u{component.itemsize}").astype(np.uint64)


def make(configuration: Configuration) -> PackBits:
    """``packbits``; both spellings of its members that are in use are read."""
    padding = PADDINGS[choice(configuration, "padding_encoding", PADDINGS, "none")]
    return PackBits(_bit(configuration, "first_bit", "start_bit"), _bit(configuration, "last_bit", "end_bit"), padding)


def _bit(configuration: Configuration, *names: str) -> int | None:
    given = [name for name in names if configuration.get(name) is not None]
    return integer(configuration, given[0]) if given else None
