"""Element layouts: how the bytes of one stored element become one NumPy value.

NumPy's own dtypes cover numbers that fill whole bytes. Archives also hold integers of 12 bits in 4 bytes, floats with
exponents of other widths, text that ends at a NUL or before trailing blanks, and records of all of these. A layout is
a frozen tree; `decode` turns an array of elements into values of `dtype` at once. `to_json` and `from_json` are its
form in codec configurations.
"""

from byteatlas.meta.elements.as_json import from_json, to_json
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
    stored_dtype,
)
from byteatlas.meta.elements.values import decode

__all__ = [
    "NULLPAD",
    "NULLTERM",
    "SPACEPAD",
    "ElementLayout",
    "Field",
    "Integer",
    "Plain",
    "Real",
    "Record",
    "Sub",
    "Text",
    "Truth",
    "decode",
    "dtype",
    "from_json",
    "stored_dtype",
    "to_json",
]
