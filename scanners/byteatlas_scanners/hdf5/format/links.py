"""The members of a group: old groups (symbol tables) and new ones (link messages, compact or dense).

Format specification III.A.1, III.B-D (old), IV.A.2.c, IV.A.2.g (new). Hard, soft, external and user-defined links are
told apart here; they are followed in `linked_files`.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from byteatlas.errors import CorruptFile
from byteatlas.meta.names import text_of
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import both, buffers
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.header import LINK, LINK_INFO, SYMBOL_TABLE, ObjectHeader
from byteatlas_scanners.hdf5.format.wire import Cursor, Form
from byteatlas_scanners.hdf5.heaps.dense import LINK_NAMES, check_name, dense_addresses, dense_objects
from byteatlas_scanners.hdf5.heaps.local import heap_text, read_local_heap

MOST_NODES = 1 << 20

_CACHED_SOFT = 2
KNOWN_FLAGS = 0x1F


class Hard(NamedTuple):
    """A link to an object header."""

    address: int


@dataclass(frozen=True, slots=True)
class Soft:
    """A link to a path of the same file."""

    path: str


@dataclass(frozen=True, slots=True)
class External:
    """A link to a path of another file."""

    file: str
    path: str


@dataclass(frozen=True, slots=True)
class UserDefined:
    """A link that only the program that made it can follow."""

    kind: int


LinkTarget: TypeAlias = Hard | Soft | External | UserDefined


class Link(NamedTuple):
    """A name in a group; ``order`` is its creation index, or -1."""

    name: str
    target: LinkTarget
    order: int = -1


OF_GROUPS = frozenset((LINK_INFO, SYMBOL_TABLE, LINK))
"""An object is a group when its header has one of these messages."""


def read_links(form: Form, header: ObjectHeader) -> Parse[list[Link]]:
    """All links of a group, in creation order where it was tracked, else by name. Raises `CorruptFile`."""
    table, info = header.find(SYMBOL_TABLE), header.find(LINK_INFO)
    if table is not None and info is None:
        cursor = Cursor(form, table.body)
        return (yield from _old_links(form, cursor.address(), cursor.address()))
    found = [parse_link(form, m.body) for m in header.all(LINK)]
    if info is not None:
        found += yield from _dense_links(form, info.body)
    tracked = all(link.order >= 0 for link in found)
    return sorted(found, key=(lambda link: link.order) if tracked else (lambda link: link.name))


def parse_link(form: Form, body: bytes) -> Link:
    """A link message. Raises `CorruptFile`."""
    found = _usual_link(form, body)
    if found is not None:
        return found
    cursor = Cursor(form, body)
    version, flags = cursor.u8(), cursor.u8()
    if version != 1:
        raise CorruptFile(form.base, f"a link message of version {version}")
    if flags & ~KNOWN_FLAGS:
        raise CorruptFile(form.base, f"a link with unknown flags {flags:#x}")
    kind = cursor.u8() if flags & 0x08 else 0
    order = cursor.u64() if flags & 0x04 else -1
    if flags & 0x10:
        cursor.skip(1)  # character set: UTF-8 reads ASCII too
    length = cursor.uint(1 << (flags & 3))
    if not length:
        raise CorruptFile(form.base, "a link without a name")
    name = text_of(cursor.take(length))
    if kind == 0:
        address = cursor.address()
        if address is None:
            raise CorruptFile(form.base, f"link {name!r} has no address")
        return Link(name, Hard(address), order)
    value = cursor.take(cursor.u16())
    if kind == 1:
        return Link(name, Soft(text_of(value)), order)
    if kind == 64:
        parts = value[1:].split(b"\0")
        if len(parts) < 2 or value[:1] != b"\0":
            raise CorruptFile(form.base, f"external link {name!r} is damaged")
        return Link(name, External(text_of(parts[0]), text_of(parts[1])), order)
    return Link(name, UserDefined(kind), order)


def _usual_link(form: Form, body: bytes) -> Link | None:
    """A hard link, as nearly all are; None for what is anything else, or damaged."""
    if len(body) < 3 or body[0] != 1 or body[1] & ~KNOWN_FLAGS | body[1] & 0x08:
        return None
    flags, number = body[1], int.from_bytes
    at = 10 if flags & 0x04 else 2
    order = number(body[2:10], "little") if flags & 0x04 else -1
    at += 1 if flags & 0x10 else 0
    name_at = at + (1 << (flags & 3))
    name_end = name_at + number(body[at:name_at], "little")
    end = name_end + form.offsets
    address = number(body[name_end:end], "little")
    if end > len(body) or address == form.undefined or name_at == name_end:
        return None
    return Link(text_of(body[name_at:name_end]), Hard(address), order)


def _dense_links(form: Form, info: bytes) -> Parse[list[Link]]:
    where = dense_addresses(form, info, 8)
    if where is None:
        return []
    records, bodies = yield from dense_objects(form, *where, LINK_NAMES)
    links = [parse_link(form, body) for body in bodies]
    for record, link in zip(records, links, strict=True):
        check_name(form, LINK_NAMES, record, link.name)
    return links


def _old_links(form: Form, tree: int | None, heap: int | None) -> Parse[list[Link]]:
    if tree is None or heap is None:
        raise CorruptFile(form.base, "an old-style group without a B-tree or heap")
    nodes, names = yield from both(_symbol_nodes(form, tree), read_local_heap(form, heap))
    size = 8 + 2 * form.leaf_k * _entry_size(form)
    blocks = buffers((yield [form.block(address, size) for address, _ in nodes]))
    found: list[Link] = []
    last = b""
    for (address, bounds), block in zip(nodes, blocks, strict=True):
        raw, links = _symbols(form, address, bytes(block), names)
        _check_names(
            form, address, raw, last, [(heap_text(names, low), heap_text(names, high)) for low, high in bounds]
        )
        last = raw[-1] if raw else last
        found += links
    return found


def _check_names(form: Form, address: int, found: list[bytes], last: bytes, bounds: list[tuple[bytes, bytes]]) -> None:
    """libhdf5 searches by name: names that are out of order, or outside of their node's keys, it would not find."""
    if not found:
        return
    sound = all(a < b for a, b in pairwise(found)) and (found[0] > last or not last)
    if not sound or not all(low < found[0] and found[-1] <= high for low, high in bounds):
        raise CorruptFile(form.base + address, "the names of a group are out of order")


Bounds: TypeAlias = tuple[tuple[int, int], ...]
"""Keys on the way to a leaf, as offsets in the local heap: names are behind the first, up to the second of each."""


def _symbol_nodes(form: Form, address: int) -> Parse[list[tuple[int, Bounds]]]:
    """The leaves of an old group's B-tree, in the order of their names."""
    entry = form.lengths + form.offsets
    size = 8 + 2 * form.offsets + 2 * form.group_k * entry + form.lengths
    level: list[tuple[int, Bounds]] = [(address, ())]
    seen, depth = {address}, -1
    while True:  # the level is a byte, and falls by one each time
        blocks = buffers((yield [form.block(at, size) for at, _ in level]))
        below: list[tuple[int, Bounds]] = []
        for (at, bounds), block in zip(level, blocks, strict=True):
            cursor = Cursor(form, block)
            if cursor.take(5) != b"TREE\0":
                raise CorruptFile(form.base + at, "no B-tree node of a group")
            height, used = cursor.u8(), cursor.u16()
            if used > 2 * form.group_k or (depth >= 0 and height != depth):
                raise CorruptFile(form.base + at, "a B-tree node of a group with impossible fields")
            cursor.skip(2 * form.offsets)
            low = cursor.length()
            for _ in range(used):
                child, high = cursor.address(), cursor.length()
                if child is None or child in seen or len(seen) > MOST_NODES:
                    raise CorruptFile(form.base + at, "a group's B-tree runs in a circle")
                seen.add(child)
                below.append((child, (*bounds, (low, high))))
                low = high
            here = height
        if here == 0:
            return below
        level, depth = below, here - 1
        if not level:
            return []


def _entry_size(form: Form) -> int:
    """Where the name is (a length in libhdf5, whatever the specification says), where the header is, 24 bytes."""
    return form.lengths + form.offsets + 24


def _symbols(form: Form, address: int, data: bytes, names: bytes) -> tuple[list[bytes], list[Link]]:
    """The entries of a symbol table node: their names as stored, and as links."""
    if data[:5] != b"SNOD\x01":
        raise CorruptFile(form.base + address, "no symbol table node")
    count = int.from_bytes(data[6:8], "little")
    text, width, entry = form.lengths, form.offsets, _entry_size(form)
    if count > 2 * form.leaf_k or 8 + count * entry > len(data):
        raise CorruptFile(form.base + address, "a symbol table node with too many entries")
    raw: list[bytes] = []
    links: list[Link] = []
    for at in range(8, 8 + count * entry, entry):
        target = int.from_bytes(data[at + text : at + text + width], "little")
        raw.append(heap_text(names, int.from_bytes(data[at : at + text], "little")))
        name = text_of(raw[-1])
        cache, value = struct.unpack_from("<I4xI", data, at + text + width)
        if cache == _CACHED_SOFT:
            links.append(Link(name, Soft(text_of(heap_text(names, value)))))
        elif cache > _CACHED_SOFT or target == form.undefined:
            raise CorruptFile(form.base + address, f"link {name!r} has no address, or is of unknown kind {cache}")
        else:
            links.append(Link(name, Hard(target)))
    return raw, links
