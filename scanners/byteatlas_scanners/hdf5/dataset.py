"""One dataset's messages, decoded: extent, type, layout, filters, fill value. Where its bytes are is in `storage`."""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.meta.model import Encoding
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.hdf5.filters import message as filters
from byteatlas_scanners.hdf5.filters.registry import codecs
from byteatlas_scanners.hdf5.format import dataspace, datatype, layout
from byteatlas_scanners.hdf5.format.external_file_list import Slot, read_slots
from byteatlas_scanners.hdf5.format.header import (
    DATASPACE,
    DATATYPE,
    EXTERNAL,
    FILL,
    FILL_OLD,
    LAYOUT,
    PIPELINE,
    SHARED,
    ObjectHeader,
)
from byteatlas_scanners.hdf5.format.layout import Chunked, DataLayout
from byteatlas_scanners.hdf5.format.shared import Shared
from byteatlas_scanners.hdf5.format.types import Datatype
from byteatlas_scanners.hdf5.format.wire import Form
from byteatlas_scanners.hdf5.values import fillvalue
from byteatlas_scanners.hdf5.values.zarr_type import StoredType


class Description(NamedTuple):
    """A dataset's messages, decoded.

    Attributes:
        fill: the fill value that the file defines, or that there is none.
    """

    space: dataspace.Dataspace
    type: Datatype
    layout: DataLayout
    pipeline: filters.FilterPipeline
    fill: fillvalue.Fill
    external: tuple[Slot, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        if self.space.shape is None:
            raise Unsupported(Reason.DATASPACE, "a null dataspace: there is nothing to read")
        return self.space.shape


def describe(shared: Shared, types: datatype.Cache, header: ObjectHeader) -> Parse[Description]:
    """Decode a dataset's messages. Raises `CorruptFile` or `Unsupported`."""
    form = shared.form
    bodies: dict[int, bytes] = {}
    for message in header.messages:
        kind = message.type
        if kind in _WANTED and kind not in bodies:
            bodies[kind] = (yield from shared.body(message)) if message.flags & SHARED else message.body
    if DATASPACE not in bodies or DATATYPE not in bodies or LAYOUT not in bodies:
        raise CorruptFile(form.base + header.address, "a dataset without extent, type or layout")
    space = shared.once(dataspace.parse, bodies[DATASPACE])
    slots: tuple[Slot, ...] = ()
    if EXTERNAL in bodies:
        slots = yield from read_slots(form, bodies[EXTERNAL])
    pipeline = shared.once(_pipeline, bodies[PIPELINE]) if PIPELINE in bodies else filters.FilterPipeline()
    return Description(
        space,
        datatype.parse(bodies[DATATYPE], 0, types),
        layout.parse(form, bodies[LAYOUT]),
        pipeline,
        _fill(shared, bodies),
        slots,
    )


def _pipeline(form: Form, body: bytes) -> filters.FilterPipeline:
    return filters.parse(body)


def _new_fill(form: Form, body: bytes) -> fillvalue.Fill:
    return fillvalue.parse(body)


def _fill(shared: Shared, bodies: dict[int, bytes]) -> fillvalue.Fill:
    """The new message wins where both are there, as in libhdf5; without either there is no fill value."""
    if FILL in bodies:
        return shared.once(_new_fill, bodies[FILL])
    return fillvalue.parse_old(bodies[FILL_OLD]) if FILL_OLD in bodies else fillvalue.Fill(defined=False)


_WANTED = frozenset((DATASPACE, DATATYPE, LAYOUT, PIPELINE, FILL, FILL_OLD, EXTERNAL))


def encodings(what: Description, stored: StoredType, masks: tuple[int, ...]) -> tuple[Encoding, ...]:
    """One encoding per filter mask. Raises `Unsupported` for a filter that cannot be undone."""
    chunk = what.layout.chunk if isinstance(what.layout, Chunked) else ()
    return tuple([Encoding(stored.codecs + codecs(what.pipeline, m, what.type, chunk)) for m in masks])
