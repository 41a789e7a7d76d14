"""Attribute messages (format specification IV.A.2.m), compact and dense. Values are decoded in `values`."""

from __future__ import annotations

import math
import struct
from operator import attrgetter
from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.report import detail_of
from byteatlas_scanners.hdf5.format import dataspace, datatype
from byteatlas_scanners.hdf5.format.dataspace import Dataspace
from byteatlas_scanners.hdf5.format.header import (
    ATTRIBUTE,
    ATTRIBUTE_INFO,
    DATASPACE,
    DATATYPE,
    SHARED,
    Message,
    ObjectHeader,
)
from byteatlas_scanners.hdf5.format.shared import Shared, in_heap
from byteatlas_scanners.hdf5.format.types import Datatype
from byteatlas_scanners.hdf5.format.wire import MALFORMED
from byteatlas_scanners.hdf5.heaps.dense import ATTRIBUTE_NAMES, FLAGS_AT, dense_addresses, dense_objects

_V1 = struct.Struct("<BBHHH").unpack_from

_ORDER = attrgetter("order")


class Attribute(NamedTuple):
    """An attribute as stored: its type, extent and the bytes of its value."""

    name: str
    type: Datatype
    space: Dataspace
    data: bytes
    order: int = -1


MOST_KEPT = 8192
"""Attributes of one file that are kept, as siblings mostly have the same ones."""


def dense(header: ObjectHeader) -> bool:
    """Whether some attributes of an object may be in a fractal heap."""
    info = header.find(ATTRIBUTE_INFO)
    return info is not None and not info.body.endswith(_NOWHERE)  # two addresses that are undefined


_NOWHERE = b"\xff" * 16


def read_attributes(
    shared: Shared, types: datatype.Cache, header: ObjectHeader
) -> Parse[tuple[list[Attribute], list[str]]]:
    """All attributes of an object, in creation order where it was tracked, and which ones are damaged and why.

    The object's data do not depend on its attributes: those that are damaged are left out, and named.
    """
    found: list[Attribute] = []
    lost: list[str] = []
    known = shared.attributes
    for message in header.messages:
        if message.type == ATTRIBUTE:
            attribute = known.get(message)
            if attribute is None:
                found += yield from _one(shared, types, message, lost)
            else:
                found.append(attribute)
    info = header.find(ATTRIBUTE_INFO)
    if info is not None and info.body not in shared.empty:
        try:
            more = yield from _dense(shared, info.body)
            if not more:
                shared.empty.add(info.body)
        except FileFault as error:
            lost.append(f"all in its index ({detail_of(error)})")
            more = []
        for message in more:
            found += yield from _one(shared, types, message, lost)
    if all([a.order >= 0 for a in found]):  # noqa: C419
        found.sort(key=_ORDER)
    return found, lost


def _dense(shared: Shared, info: bytes) -> Parse[list[Message]]:
    where = dense_addresses(shared.form, info, 2)
    if where is None:
        return []
    records, bodies = yield from dense_objects(shared.form, *where, ATTRIBUTE_NAMES)
    return [
        Message(
            ATTRIBUTE,
            record[FLAGS_AT],
            in_heap(body) if record[FLAGS_AT] & SHARED else body,
            int.from_bytes(record[-8:-4], "little"),
        )
        for record, body in zip(records, bodies, strict=True)
    ]


def _one(shared: Shared, types: datatype.Cache, message: Message, lost: list[str]) -> Parse[tuple[Attribute, ...]]:
    """One attribute; none when it is damaged, which is then noted in ``lost``."""
    body = message.body
    try:
        if message.flags & SHARED:
            body = yield from shared.resolve(ATTRIBUTE, body)
        plain = parse_plain(shared, types, body, message.order)
        if plain is None:
            return ((yield from _with_shared(shared, types, body, message.order)),)
        if len(shared.attributes) < MOST_KEPT and not message.flags & SHARED:
            shared.attributes[message] = plain
        return (plain,)
    except FileFault as error:
        lost.append(f"{_name_in(body)} ({detail_of(error)})")
    except MALFORMED as error:
        lost.append(f"{_name_in(body)} (damaged: {error})")
    return ()


def _name_in(body: bytes) -> str:
    """The name in an attribute message, as far as it can be read, for messages about damage."""
    if len(body) >= 9 and body[0] in (1, 2, 3):
        begin = 9 if body[0] == 3 else 8
        name = _text(body[begin : begin + int.from_bytes(body[2:4], "little")])
        if name and name.isprintable():
            return name
    return "one without a readable name"


def parse_plain(shared: Shared, types: datatype.Cache, body: bytes, order: int = -1) -> Attribute | None:
    """An attribute message that is whole in itself; None when its type or extent is shared."""
    version, flags, name_size, type_size, space_size = _V1(body, 0)
    if version == 3:
        at, name_end = 9, 9 + name_size
        type_at, space_at = name_end, name_end + type_size
        data_at = space_at + space_size
    elif version == 1:
        at, name_end, flags = 8, 8 + name_size, 0
        type_at = 8 + (name_size + 7 & ~7)
        space_at = type_at + (type_size + 7 & ~7)
        data_at = space_at + (space_size + 7 & ~7)
    elif version == 2:
        at, name_end = 8, 8 + name_size
        type_at, space_at = name_end, name_end + type_size
        data_at = space_at + space_size
    else:
        raise CorruptFile(shared.form.base, f"an attribute message of version {version}")
    if flags & 3:
        return None
    # Type and extent lie together; files repeat the same pair over and over.
    pair = body[type_at:data_at]
    known = shared.pairs.get(pair)
    if known is None:
        kind = datatype.parse(body[type_at : type_at + type_size], 0, types)
        space = dataspace.parse(shared.form, body[space_at : space_at + space_size])
        known = shared.pairs[pair] = kind, space, value_size(kind, space)
    kind, space, size = known
    if data_at + size > len(body):
        raise CorruptFile(shared.form.base, "an attribute's value is cut off")
    return Attribute(_text(body[at:name_end]), kind, space, body[data_at : data_at + size], order)


def value_size(kind: Datatype, space: Dataspace) -> int:
    """Bytes of an attribute's value."""
    return 0 if space.shape is None else math.prod(space.shape) * kind.size


def _text(name: bytes) -> str:
    raw = name.partition(b"\0")[0]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _with_shared(shared: Shared, types: datatype.Cache, body: bytes, order: int) -> Parse[Attribute]:
    version, flags, name_size, type_size, space_size = _V1(body, 0)
    at = 8 if version == 2 else 9
    type_at = at + name_size
    space_at = type_at + type_size
    kind_body, space_body = body[type_at:space_at], body[space_at : space_at + space_size]
    if flags & 1:
        kind_body = yield from shared.resolve(DATATYPE, kind_body)
    if flags & 2:
        space_body = yield from shared.resolve(DATASPACE, space_body)
    kind, space = datatype.parse(kind_body, 0, types), dataspace.parse(shared.form, space_body)
    begin, size = space_at + space_size, value_size(kind, space)
    if begin + size > len(body):
        raise CorruptFile(shared.form.base, "an attribute's value is cut off")
    return Attribute(_text(body[at:type_at]), kind, space, body[begin : begin + size], order)
