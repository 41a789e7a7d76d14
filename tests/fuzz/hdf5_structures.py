"""HDF5 files in which one field of a structure is changed, and the checksum over it is right again.

A reader that trusts a checksum meets what is behind it: sizes, counts, addresses, ranks, versions and flags that no
library would have written. Structures are found by their signatures, and where their checksum lies by trying every
length, so that nothing here depends on a parser.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np
from fixtures.hdf5.make_structure import WRITERS
from tests.places import FIXTURES

from byteatlas.checksums import fletcher32, lookup3
from byteatlas.values import dataclass

MOST = 9000
"""Bytes of the longest structure whose checksum is looked for."""
FIELDS: Mapping[bytes, tuple[int, ...]] = {
    b"\x89HDF": (8, 1, 1, 1, 1, 8, 8, 8, 8),
    b"OCHK": (4,),
    b"FRHP": (4, 1, 2, 2, 1, 4, *[8] * 12, 2, 8, 8, 2, 2, 8, 2, 8, 4),
    b"FHDB": (4, 1, 8, 4, 4),
    b"FHIB": (4, 1, 8, 4, *[8] * 20),
    b"BTHD": (4, 1, 1, 4, 2, 2, 1, 1, 8, 2, 8),
    b"BTLF": (4, 1, 1),
    b"BTIN": (4, 1, 1),
    b"FAHD": (4, 1, 1, 1, 1, 8, 8),
    b"FADB": (4, 1, 1, 8),
    b"EAHD": (4, 1, 1, 1, 1, 1, 1, 1, 1, *[8] * 6, 8),
    b"EAIB": (4, 1, 1, 8, *[8] * 12),
    b"EASB": (4, 1, 1, 8, 1),
    b"EADB": (4, 1, 1, 8, 1),
    b"SMTB": (4, 1, 1, 2, 4, 2, 2, 2, 8, 8) * 2,
    b"SMLI": (4, 1, 4, 4, 8),
    b"TREE": (4, 1, 1, 2, 8, 8, 4, 4, *[8] * 8),
    b"SNOD": (4, 1, 1, 2, *(8, 8, 4, 4, 8, 8) * 4),
    b"HEAP": (4, 1, 3, 8, 8, 8),
    b"GCOL": (4, 1, 3, 8, *(2, 2, 4, 8, 8) * 4),
}
"""Widths of the fields of each structure, with addresses and lengths of 8 bytes; behind them are records."""
PLAIN = (b"TREE", b"SNOD", b"HEAP", b"GCOL")
"""Structures without a checksum."""
PAGED = (b"FADB", b"EADB")
SIGNS = frozenset((*FIELDS, b"OHDR"))


@dataclass(frozen=True, slots=True)
class Structure:
    """Bytes under one checksum, or under none.

    Attributes:
        sign: the signature; ``page`` and ``chunk`` have none.
        at, size: where it begins, and its bytes without the checksum behind them.
        sums: where the checksum is; None = there is none.
    """

    sign: bytes
    at: int
    size: int
    sums: int | None

    def seal(self, data: bytearray) -> None:
        """Make the checksum right."""
        if self.sums is None:
            return
        inside = bytearray(data[self.at : self.at + self.size])
        if self.sums < self.at + self.size:  # a direct block's own is counted as zeros
            inside[self.sums - self.at : self.sums - self.at + 4] = bytes(4)
        value = fletcher32(bytes(inside)) if self.sign == b"chunk" else lookup3(bytes(inside))
        data[self.sums : self.sums + 4] = struct.pack("<I", value)


def _behind(data: bytes, at: int) -> int | None:
    """Bytes from here that the four bytes behind them are the checksum of."""
    for size in range(6, min(MOST, len(data) - at - 4)):
        if struct.unpack_from("<I", data, at + size)[0] == lookup3(data[at : at + size]):
            return size
    return None


def _direct_block(data: bytes, at: int) -> Structure | None:
    for size in (1 << n for n in range(6, 17)):
        for sums in range(at + 14, at + 22):
            found = Structure(b"FHDB", at, size, sums)
            again = bytearray(data)
            if at + size <= len(data):
                found.seal(again)
                if again == data:
                    return found
    return None


def _places(data: bytes, sign: bytes) -> Iterator[int]:
    at = data.find(sign)
    while at >= 0:
        yield at
        at = data.find(sign, at + 1)


def structures(data: bytes, chunks: list[tuple[int, int]]) -> list[Structure]:
    """Those of a sound file, and its chunks (offset, size) that end with a Fletcher-32."""
    found = [Structure(b"chunk", at, size - 4, at + size - 4) for at, size in chunks]
    for sign in (*FIELDS, b"OHDR"):
        for at in _places(data, sign):
            if sign in PLAIN:
                found.append(Structure(sign, at, min(400, len(data) - at), None))
            elif sign == b"FHDB":
                found += [block] if (block := _direct_block(data, at)) else []
            elif (size := _behind(data, at)) is not None:
                found.append(Structure(sign, at, size, at + size))
                end = at + size + 4
                while sign in PAGED and (more := _behind(data, end)) is not None and data[end : end + 4] not in SIGNS:
                    found.append(Structure(b"page", end, more, end + more))
                    end += more + 4
    return found


def _messages(data: bytes, found: Structure) -> list[tuple[int, int]]:
    """Fields of an object header of version 2: those of the prefix, then of each message, and parts of its body."""
    flags = data[found.at + 5]
    at = found.at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    fields = [(found.at + 4, 1), (found.at + 5, 1), (at, 1 << (flags & 3))]
    at += 1 << (flags & 3)
    head = 6 if flags & 4 else 4
    while at + head <= found.at + found.size:
        size = struct.unpack_from("<H", data, at + 1)[0]
        fields += [(at, 1), (at + 1, 2), (at + 3, 1)]
        body = at + head
        fields += [(body + n, 1) for n in range(min(size, 12))]  # versions, classes, ranks, flags
        fields += [(body + n, w) for w in (2, 4, 8) for n in range(0, size - w + 1, 2)]
        at = body + size
    return [(at, width) for at, width in fields if at + width <= found.at + found.size]


def _fields(data: bytes, found: Structure) -> list[tuple[int, int]]:
    """Places and widths of what can be changed."""
    if found.sign == b"OHDR":
        return _messages(data, found)
    fields, at = [], found.at
    for width in FIELDS.get(found.sign, ()):
        fields.append((at, width))
        at += width
    end = found.at + found.size
    fields = fields[1:]  # not the signature
    records = [(n, w) for w in (1, 2, 4, 8) for n in range(at, end - w + 1, w)]
    return [(n, w) for n, w in fields if n + w <= end] + records[:: 1 + len(records) // 64]


def _changed(value: int, width: int, known: list[int], rng: random.Random) -> int:
    """Another value of a field: near it, a border, an address or a size of the same file."""
    most = (1 << 8 * width) - 1
    borders = (0, 1, 2, 3, 7, 8, 16, 31, 32, 63, 64, 127, 128, 255, most, most - 1, most >> 1, (most >> 1) + 1)
    other = rng.choice(
        (
            value + 1, value - 1, value + rng.choice((2, 4, 8, 16)), value - rng.choice((2, 4, 8, 16)), value * 2,
            value // 2, value ^ 1 << rng.randrange(8 * width), value ^ 1 << rng.randrange(min(4, 8 * width)),
            rng.choice(borders), rng.choice(borders), rng.choice(known), rng.randrange(most + 1),
        )
    )  # fmt: skip
    return other & most


class Original:
    """A sound file and its structures."""

    def __init__(self, data: bytes, chunks: list[tuple[int, int]]) -> None:
        self.data, self.structures = data, structures(data, chunks)
        self.known = [len(data), *(found.at for found in self.structures)]
        self.kinds = sorted({found.sign for found in self.structures})

    def mutant(self, rng: random.Random) -> tuple[bytes, str]:
        """One or two changed fields, their checksums made anew; and what was changed."""
        out, said = bytearray(self.data), []
        for _ in range(rng.choice((1, 1, 1, 2))):
            sign = rng.choice(self.kinds)  # each kind as often as the others, however many there are of it
            found = rng.choice([s for s in self.structures if s.sign == sign])
            fields = _fields(self.data, found)
            if not fields:
                continue
            at, width = rng.choice(fields)
            value = int.from_bytes(out[at : at + width], "little")
            new = _changed(value, width, self.known, rng)
            out[at : at + width] = new.to_bytes(width, "little")
            found.seal(out)
            said.append(f"{sign.decode('latin-1')}@{found.at}+{at - found.at}:{width} {value}->{new}")
        return bytes(out), "; ".join(said)


def _checked_chunks(path: Path) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []

    def visit(_: str, node: object) -> None:
        if isinstance(node, h5py.Dataset) and node.chunks and node.fletcher32:
            infos = (node.id.get_chunk_info(n) for n in range(node.id.get_num_chunks()))
            found.extend((info.byte_offset, info.size) for info in infos if not info.filter_mask)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def _chunk_indexes(path: Path) -> None:
    """Fixed arrays, extensible arrays and B-trees: of one block, of pages, of super blocks, of two levels."""
    options = {"libver": "latest"}
    with h5py.File(path, "w", **options) as file:
        values = np.arange(48, dtype="<i4").reshape(6, 8)
        for name, most in {"fixed": (6, 8), "extensible": (None, 8), "tree": (None, None), "single": (6, 8)}.items():
            chunks = (6, 8) if name == "single" else (2, 2)
            file.create_dataset(name, data=values, chunks=chunks, maxshape=most)
            file.create_dataset(
                f"{name}_z", data=values, chunks=chunks, maxshape=most, compression="gzip", shuffle=True
            )
            file.create_dataset(f"{name}_f", data=values, chunks=chunks, maxshape=most, fletcher32=True)
        file.create_dataset("implicit", data=values[0], chunks=(4,), maxshape=(8,))


def _long_indexes(path: Path) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        many = np.arange(1100, dtype="i1")
        file.create_dataset("pages", data=many, chunks=(1,))
        file.create_dataset("super", data=many[:300], chunks=(1,), maxshape=(None,))
        file.create_dataset("tree", data=many[:300].reshape(100, 3), chunks=(1, 1), maxshape=(None, None))


def _dense(path: Path) -> None:
    """Links and attributes in heaps: filtered ones too, with indirect blocks and huge objects."""
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("d", data=np.arange(4.0))
        for number in range(40):
            data.attrs[f"attribute {number} of many, with a long name"] = np.arange(number)
        plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        plist.set_link_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
        group = h5py.Group(h5py.h5g.create(file.id, b"g", gcpl=plist))
        for number in range(30):
            group[f"link {number} with a name of some length"] = h5py.SoftLink("/d")
        group["hard"] = data
        file["small"] = np.array(["a", "bb"], dtype=object)
        file["text"] = np.array(["é", "x" * 50], dtype=object)
        file["compound"] = np.zeros(3, [("a", "<i2"), ("b", "<f8", (2,)), ("c", "S5")])
        file["small"].attrs["ref"] = data.ref


ORIGINALS: Mapping[str, Callable[[Path], object]] = {
    "indexes": _chunk_indexes, "long": _long_indexes, "dense": _dense,
}  # fmt: skip
WRITTEN = ("links", "virtual", "dimensions", "phony")
STORED = ("shared_messages.h5", "types.h5")


def originals(folder: Path) -> dict[str, Original]:
    """Small files that have every structure there is."""
    paths = {}
    for name, write in ORIGINALS.items():
        paths[name] = folder / f"{name}.h5"
        write(paths[name])
    paths |= {name: WRITERS[name](folder) for name in WRITTEN}
    paths |= {name: FIXTURES / "hdf5" / name for name in STORED}
    return {name: Original(path.read_bytes(), _checked_chunks(path)) for name, path in paths.items()}
