"""Element layouts in codec configurations: JSON objects, tagged by ``kind``."""

from __future__ import annotations

import numpy as np

from byteatlas.meta.dtypes.names import MOST_AXES, axes_of
from byteatlas.meta.elements.layout import (
    NULLPAD,
    NULLTERM,
    SPACEPAD,
    ElementLayout,
    Field,
    Integer,
    Plain,
    Real,
    Record,
    Sub,
    Text,
    Truth,
    dtype,
)
from byteatlas.meta.place import invalid
from byteatlas.types import JSON

MOST_NESTING = 32
MOST_SIZE = 1 << 32


def to_json(layout: ElementLayout) -> JSON:
    """The layout as a JSON object, tagged by ``kind``."""
    match layout:
        case Plain(kind):
            return kind
        case Integer(size, order, offset, precision, signed):
            return {
                "kind": "integer", "size": size, "order": order, "offset": offset, "precision": precision,
                "signed": signed,
            }  # fmt: skip
        case Real():
            names = ("size", "order", "sign", "exponent_at", "exponent", "mantissa_at", "mantissa", "bias", "implied")
            return {"kind": "float", **{name: getattr(layout, name) for name in names}}
        case Truth(size):
            return {"kind": "bool", "size": size}
        case Text(size, padding):
            return {"kind": "text", "size": size, "padding": padding}
        case Sub(dims, base):
            return {"kind": "array", "dims": list(dims), "base": to_json(base)}
        case Record(size, fields):
            return {"kind": "record", "size": size, "fields": [[f.name, f.offset, to_json(f.layout)] for f in fields]}


def from_json(document: JSON, depth: int = 0) -> ElementLayout:
    """The layout in a codec configuration. Raises `InvalidMetadata`."""
    if depth > MOST_NESTING:
        raise invalid("an element layout nested too deep")
    try:
        found = _from_json(document, depth)
        if not 0 < found.size <= MOST_SIZE:
            raise invalid(f"an element layout of {found.size} bytes")
        if axes_of(dtype(found)) > MOST_AXES:
            raise ValueError("too many axes")
    except (KeyError, TypeError, ValueError, AttributeError, SyntaxError) as error:
        raise invalid(f"not an element layout: {error}") from error
    return found


def _from_json(document: JSON, depth: int) -> ElementLayout:
    if isinstance(document, str):
        kind = np.dtype(document)
        if kind.kind not in "biufcmMSV" or kind.names or kind.subdtype or (kind.kind in "mM" and "[0" in kind.str):
            raise ValueError(f"type {document!r}")
        return Plain(document)
    tag = document["kind"]
    return _from_object(tag, document, depth)


def _from_object(tag: str, document: JSON, depth: int) -> ElementLayout:
    if tag == "array":
        dims = tuple(_count(n) for n in document["dims"])
        return Sub(dims, from_json(document["base"], depth + 1))
    if tag == "record":
        fields = tuple(Field(str(n), _count(at), from_json(f, depth + 1)) for n, at, f in document["fields"])
        size = _count(document["size"])
        if not fields or any(f.offset + f.layout.size > size for f in fields):
            raise ValueError("a record's fields do not fit it")
        return Record(size, fields)
    size = _count(document["size"])
    if tag == "bool":
        return Truth(size)
    if tag == "text":
        if document["padding"] not in (NULLTERM, NULLPAD, SPACEPAD):
            raise ValueError(f"padding {document['padding']!r}")
        return Text(size, document["padding"])
    if document["order"] not in "<>" or size > 8:
        raise ValueError(f"a number of {size} bytes, order {document['order']!r}")
    if tag == "integer":
        offset, precision = _count(document["offset"]), _count(document["precision"])
        _inside(size, offset, precision)
        return Integer(size, document["order"], offset, precision, bool(document["signed"]))
    if tag != "float":
        raise ValueError(f"kind {tag!r}")
    names = ("sign", "exponent_at", "exponent", "mantissa_at", "mantissa", "bias")
    sign, exponent_at, exponent, mantissa_at, mantissa, bias = (_count(document[name]) for name in names)
    for at, width in ((sign, 1), (exponent_at, exponent), (mantissa_at, mantissa)):
        _inside(size, at, width)
    return Real(
        size, document["order"], sign, exponent_at, exponent, mantissa_at, mantissa, bias, bool(document["implied"])
    )


def _count(value: JSON) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_SIZE:
        raise ValueError(f"{value!r} where a count should be")
    return value


def _inside(size: int, at: int, width: int) -> None:
    if not width or at + width > 8 * size:
        raise ValueError(f"{width} bits at bit {at} of {size} bytes")
