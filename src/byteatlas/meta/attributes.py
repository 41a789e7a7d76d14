"""Attributes in metadata documents: what stands for values that JSON, or version 3, does not hold as they are.

In memory attributes are plain values: ``_FillValue`` of a ``float32`` array is a number, perhaps NaN. Documents differ:

* NaN and infinities are no JSON numbers: the words of fill values stand for them (v3 core, "Fill value").
* In version 3 xarray, which most readers of CF data go through, takes ``_FillValue`` in one form for each type: of
  floating-point arrays base64 of the little-endian ``float64``, of complex ones a pair of these
  (`xarray.backends.zarr.FillValueCoder`). Anything else is an error to it, and the whole dataset stays closed. For
  fixed-length text, times and records it takes none: `KEPT_FILL` keeps the value there.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping

from byteatlas.meta.model import DataType
from byteatlas.types import JSON

FILL = "_FillValue"
KEPT_FILL = "_byteatlas_FillValue"
"""Holds ``_FillValue`` in version 3 documents of types for which xarray takes no such attribute."""
MASKS = (FILL, "missing_value")
"""Attributes whose values are of the array's type (CF 2.5.1)."""
WORDS: Mapping[str, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON cannot say, by the words for them."""
_LEAVES = (str, int, bool, type(None))


def meant_unsigned(attributes: Mapping[str, JSON]) -> bool | None:
    """Whether integers are meant as unsigned ones (``_Unsigned``, NetCDF Users Guide, appendix A); None: as stored.

    >>> meant_unsigned({"_Unsigned": "true"}), meant_unsigned({"_Unsigned": 1}), meant_unsigned({})
    (True, None, None)
    """
    said = attributes.get("_Unsigned")
    return {"true": True, "false": False}.get(said.lower()) if isinstance(said, str) else None


def to_document(attributes: Mapping[str, JSON]) -> dict[str, JSON]:
    """Attributes as any version writes them: words for NaN and infinities.

    >>> to_document({"valid_range": [0.0, float("inf")], "units": "K"})
    {'valid_range': [0.0, 'Infinity'], 'units': 'K'}
    """
    return {name: value if type(value) in _LEAVES else _without_nan(value) for name, value in attributes.items()}


def _without_nan(value: JSON) -> JSON:
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: _without_nan(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [member if type(member) in _LEAVES else _without_nan(member) for member in value]
    return value


def to_v3_document(attributes: Mapping[str, JSON], data_type: DataType) -> dict[str, JSON]:
    """An array's attributes as version 3 writes them: ``_FillValue`` in the form that xarray takes.

    >>> from byteatlas.meta.dtypes import from_v3
    >>> to_v3_document({"_FillValue": -999.0, "units": "K"}, from_v3("float32"))
    {'_FillValue': 'AAAAAAA4j8A=', 'units': 'K'}
    """
    found = to_document(attributes)
    if FILL not in found:
        return found
    kind = data_type.numpy.kind
    if kind in "SUVmM":
        return {KEPT_FILL if name == FILL else name: value for name, value in found.items()}
    value = found[FILL]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if kind == "c" and isinstance(value, list):
        value = [_base64(part) for part in value]
    elif kind == "f":
        value = _base64(value)
    elif kind in "iu" and isinstance(value, float) and value.is_integer():
        value = int(value)
    found[FILL] = value
    return found


def _base64(value: JSON) -> JSON:
    """A number as its eight bytes; anything else as it is."""
    number = _number(value)
    return value if number is None else base64.b64encode(struct.pack("<d", number)).decode()


def _number(value: JSON) -> float | None:
    if isinstance(value, str):
        return WORDS.get(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def from_v2_document(attributes: Mapping[str, JSON], data_type: DataType) -> Mapping[str, JSON]:
    """An array's attributes from a document of version 1 or 2: words in floating-point masks are numbers."""
    if data_type.numpy.kind != "f" or not any(name in attributes for name in MASKS):
        return attributes
    return {name: _from_words(value) if name in MASKS else value for name, value in attributes.items()}


def from_v3_document(attributes: Mapping[str, JSON], data_type: DataType) -> Mapping[str, JSON]:
    """An array's attributes from a document of version 3: ``_FillValue`` is a number again, base64 or not."""
    if KEPT_FILL in attributes:
        attributes = {FILL if name == KEPT_FILL else name: value for name, value in attributes.items()}
    if FILL in attributes and data_type.numpy.kind in "fc":
        value = attributes[FILL]
        parts = [_from_base64(part) for part in value] if isinstance(value, list) else _from_base64(value)
        attributes = {**attributes, FILL: parts}
    return from_v2_document(attributes, data_type)


def _from_words(value: JSON) -> JSON:
    if isinstance(value, str):
        return WORDS.get(value, value)
    return [_from_words(member) for member in value] if isinstance(value, list) else value


def number_of(text: str) -> JSON:
    """The number that a word, or the base64 of its eight bytes, stands for; any other text as it is.

    >>> number_of("Infinity"), number_of("AAAAAAA4j8A="), number_of("none")
    (inf, -999.0, 'none')
    """
    return WORDS[text] if text in WORDS else _from_base64(text)


def _from_base64(value: JSON) -> JSON:
    if not isinstance(value, str) or len(value) != 12:  # eight bytes take twelve characters
        return value
    try:
        return struct.unpack("<d", base64.b64decode(value, validate=True))[0]
    except (binascii.Error, struct.error, ValueError):
        return value
