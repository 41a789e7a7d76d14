"""HDF-EOS5: the metadata are datasets of text in a group of their own."""

from __future__ import annotations

from byteatlas.errors import FileFault
from byteatlas.manifest.model import INLINE, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.types import ByteRange
from byteatlas_scanners.eos.decorate import decorate
from byteatlas_scanners.eos.structure import parse_structure

INFORMATION, STRUCTURE = "HDFEOS INFORMATION", "StructMetadata."
PLACES = {"grids": "HDFEOS/GRIDS", "swaths": "HDFEOS/SWATHS"}
LONGEST = 16 << 20


def with_structure(root: VirtualGroup) -> Parse[VirtualGroup]:
    """The tree of an HDF-EOS5 file with what its metadata say; any other one as it is."""
    information = root.groups.get(INFORMATION)
    if information is None:
        return root
    names = sorted(name for name in information.arrays if name.startswith(STRUCTURE))
    parts: list[str] = []
    for name in names:
        parts.append((yield from _text(information.arrays[name])))
    return decorate(root, parse_structure("".join(parts)), PLACES) if parts else root


def _text(array: VirtualArray) -> Parse[str]:
    """One dataset of fixed-length text in one piece; nothing where it is stored in another way."""
    rows = array.manifest.load()
    chain = array.meta.encodings[0].codecs
    if rows.nchunks != 1 or len(chain) != 1 or array.meta.data_type.numpy.kind != "S":
        return ""
    if int(rows.source[0]) == INLINE:
        raw = rows.inline(0)
    elif int(rows.source[0]) == 0 and int(rows.length[0]) <= LONGEST:
        try:
            raw = bytes((yield from one(ByteRange(int(rows.offset[0]), int(rows.length[0])))))
        except FileFault:
            return ""
    else:
        return ""
    return raw.rstrip(b"\0").decode("latin-1")
