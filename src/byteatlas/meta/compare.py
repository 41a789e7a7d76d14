"""Whether metadata say the same: the one place that decides.

There are two relations:

* **identical**: the same values of the same types. ``True`` is not ``1``, and ``1`` is not ``1.0``; NaN is NaN.
* **equal in value**: numbers of different types may be equal (``1`` and ``1.0``), but a truth value is no number. It is
  asked of attributes that say what numbers mean (packing, flags), which writers spell as they like.

Whether chunks *decode alike* is a question to codecs: each says which members of its configuration only its encoder
uses. The answer is passed in, because metadata know no codecs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from byteatlas.meta.model import ArrayMeta, ChunkGrid, CodecSpec, DataType, Encoding
from byteatlas.types import JSON

IgnoredMembers: TypeAlias = Callable[[str], Collection[str]]
"""A codec's name -> the members of its configuration that decoding ignores."""


def nothing_ignored(name: str) -> Collection[str]:
    """For comparing configurations in full."""
    return ()


# JSON values


def identical(a: JSON, b: JSON) -> bool:
    """Whether two JSON values are the same, types included. Lists and tuples are one type; so are mappings."""
    return _compare(a, b, identical_leaves)


def equal_in_value(a: JSON, b: JSON) -> bool:
    """Whether two JSON values are the same, however numbers are spelled.

    >>> equal_in_value([1, 2], [1.0, 2.0]), identical([1, 2], [1.0, 2.0]), equal_in_value(1, True)
    (True, False, False)
    """
    return _compare(a, b, equal_leaves)


def _compare(a: JSON, b: JSON, leaves: Callable[[JSON, JSON], bool]) -> bool:
    """Compare two trees without recursion: attributes of untrusted maps may be nested deeply."""
    todo: list[tuple[JSON, JSON]] = [(a, b)]
    while todo:
        x, y = todo.pop()
        kind = type(x)
        if kind is str:  # most leaves are texts
            if kind is not type(y) or x != y:
                return False
        elif kind in (list, tuple):
            if type(y) not in (list, tuple) or len(x) != len(y):
                return False
            todo += zip(x, y, strict=True)
        elif kind is dict or isinstance(x, Mapping):
            if not isinstance(y, Mapping) or x.keys() != y.keys():
                return False
            todo += [(value, y[key]) for key, value in x.items()]
        elif x is not y and not leaves(x, y):
            return False
    return True


def identical_leaves(a: JSON, b: JSON) -> bool:
    """As `identical`, for values that hold no others."""
    if type(a) is not type(b):
        return False
    # Zeros of both signs are equal, and not the same.
    return bool(a == b and (a or not isinstance(a, float) or repr(a) == repr(b))) or bool(a != a and b != b)


def equal_leaves(a: JSON, b: JSON) -> bool:
    """As `equal_in_value`, for values that hold no others."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b or (a != a and b != b))


def all_identical(first: JSON, values: Sequence[JSON]) -> bool:
    """Whether all values are identical to the first one. Of thousands of files, most say the same: C code counts."""
    n, kind = len(values), type(first)
    if kind is str:  # nothing but the same text is equal to a text
        return values.count(first) == n
    if kind in _PLAIN or (kind is float and first and first == first):
        return list(map(type, values)).count(kind) == n and values.count(first) == n
    if kind is list and set(map(type, values)) == {list} and values.count(first) == n:
        return all(all_identical(item, [v[i] for v in values]) for i, item in enumerate(first))
    return all(identical(first, value) for value in values)


_PLAIN = (int, bool, type(None))


def all_equal_in_value(first: JSON, values: Sequence[JSON]) -> bool:
    """Whether all values are equal to the first one, however numbers are spelled."""
    kind = type(first)
    if kind is str:
        return values.count(first) == len(values)
    if kind not in (list, tuple, dict) and values.count(first) == len(values):
        types = set(map(type, values))
        if types <= ({int, float} if kind in (int, float) else {kind}):
            return True
    return all(equal_in_value(first, value) for value in values)


def all_identical_documents(first: Mapping[str, JSON], documents: Sequence[Mapping[str, JSON]]) -> bool:
    """Whether all documents are identical to the first one. NaN counts as a difference here: ask again, one by one."""
    if documents.count(first) != len(documents):
        return False
    # Equal documents may differ in types, but only where there are no texts.
    doubtful = [name for name, value in first.items() if type(value) is not str]
    return all(all_identical(first[name], [d[name] for d in documents]) for name in doubtful)


# Fill values and types


def identical_scalars(a: object, b: object) -> bool:
    """Whether two fill values are the same: type and value. NaN is NaN, whatever its bits; None is not zero.

    >>> identical_scalars(np.float32("nan"), np.float32("nan")), identical_scalars(np.int8(0), np.uint8(0))
    (True, False)
    """
    if a is b:
        return True
    if isinstance(a, np.generic) and isinstance(b, np.generic):
        return _identical_numpy(a, b)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):  # a field of a structure that is an array itself
        return a.shape == b.shape and all(map(identical_scalars, a.reshape(-1), b.reshape(-1)))
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


def _identical_numpy(a: np.generic, b: np.generic) -> bool:
    if a.dtype.kind in "SU" and a.dtype.kind == b.dtype.kind:  # the type of such a scalar has the length of its text
        return bool(a == b)
    if a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():
        return True
    if isinstance(a, np.void) and isinstance(b, np.void):
        return all(identical_scalars(a[name], b[name]) for name in a.dtype.names or ()) and bool(a.dtype.names)
    if isinstance(a, np.complexfloating) and isinstance(b, np.complexfloating):
        return identical_scalars(a.real, b.real) and identical_scalars(a.imag, b.imag)
    return bool(a != a and b != b)


def all_identical_scalars(first: Any, values: list[Any]) -> bool:
    """Whether all fill values are the same as the first one."""
    if list(map(type, values)).count(type(first)) != len(values):
        return False
    if isinstance(first, np.floating):
        line = np.array(values, first.dtype)
        return bool(np.isnan(line).all()) if first != first else line.tobytes() == first.tobytes() * len(values)
    if isinstance(first, (np.complexfloating, np.void, np.datetime64, np.timedelta64)):
        return all(identical_scalars(first, v) for v in values)
    return values.count(first) == len(values)


def identical_types(a: DataType, b: DataType) -> bool:
    """Whether two data types are the same, configuration included."""
    return a is b or (a.name == b.name and a.numpy == b.numpy and identical(a.configuration, b.configuration))


def identical_grids(a: ChunkGrid, b: ChunkGrid) -> bool:
    """Whether two chunk grids are the same. Chunk lengths are integers: plain equality says it all."""
    return a == b


# Codecs and encodings


def decode_alike(a: Sequence[Encoding], b: Sequence[Encoding], ignored: IgnoredMembers) -> bool:
    """Whether the same bytes give the same arrays by either list of encodings, number by number."""
    return a is b or (len(a) == len(b) and all(map(encoding_alike, a, b, repeat(ignored))))


def encoding_alike(a: Encoding, b: Encoding, ignored: IgnoredMembers) -> bool:
    """Whether the same bytes give the same array by either encoding."""
    return a is b or (
        a.chunk_shape == b.chunk_shape
        and codecs_alike(a.codecs, b.codecs, ignored)
        and codecs_alike(a.cast, b.cast, ignored)
        and (a.data_type is b.data_type or _types_alike(a.data_type, b.data_type))
    )


def _types_alike(a: DataType | None, b: DataType | None) -> bool:
    return a is not None and b is not None and identical_types(a, b)


def codecs_alike(a: Sequence[CodecSpec], b: Sequence[CodecSpec], ignored: IgnoredMembers) -> bool:
    """Whether two chains decode alike."""
    return a is b or (len(a) == len(b) and all(map(codec_alike, a, b, repeat(ignored))))


def codec_alike(a: CodecSpec, b: CodecSpec, ignored: IgnoredMembers) -> bool:
    """Whether two codecs decode alike."""
    if a.name != b.name or a.must_understand != b.must_understand:
        return False
    if identical(a.configuration, b.configuration):
        return True
    free = ignored(a.name)
    first, second = ({k: v for k, v in c.configuration.items() if k not in free} for c in (a, b))
    return bool(free) and identical(first, second)


# Arrays

FIELDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "shape": lambda a, b: bool(a == b),
    "data_type": identical_types,
    "grid": identical_grids,
    "encodings": lambda a, b: decode_alike(a, b, nothing_ignored),
    "fill_value": identical_scalars,
    "dimension_names": lambda a, b: bool(a == b),
    "attributes": identical,
    "keys": lambda a, b: bool(a == b),
    "zarr_format": lambda a, b: bool(a == b),
}
"""Every field of `ArrayMeta`, and what says that two values of it are the same."""


def differing_fields(a: ArrayMeta, b: ArrayMeta) -> list[str]:
    """The names of the fields in which two arrays' metadata differ, in the order of `FIELDS`."""
    return [name for name, same in FIELDS.items() if not same(getattr(a, name), getattr(b, name))]


def identical_arrays(a: ArrayMeta, b: ArrayMeta) -> bool:
    """Whether two arrays' metadata are the same in every field. Cheapest tests first."""
    return a is b or (
        a.shape == b.shape
        and a.dimension_names == b.dimension_names
        and a.zarr_format == b.zarr_format
        and a.keys == b.keys
        and identical_grids(a.grid, b.grid)
        and identical_types(a.data_type, b.data_type)
        and identical_scalars(a.fill_value, b.fill_value)
        and identical(a.attributes, b.attributes)
        and decode_alike(a.encodings, b.encodings, nothing_ignored)
    )


def read_alike(a: ArrayMeta, b: ArrayMeta, ignored: IgnoredMembers) -> bool:
    """Whether equal references give equal arrays: attributes, names and versions do not matter."""
    return a is b or (
        a.shape == b.shape
        and identical_grids(a.grid, b.grid)
        and identical_types(a.data_type, b.data_type)
        and decode_alike(a.encodings, b.encodings, ignored)
        and identical_scalars(a.fill_value, b.fill_value)
    )


def fingerprint(*values: JSON) -> str:
    """A text that identical documents have in common, to be kept in a file: SHA-256 of their JSON, keys sorted."""
    import hashlib  # OpenSSL takes milliseconds to load, and most readers of metadata compare nothing

    return hashlib.sha256(json.dumps(list(values), sort_keys=True, default=str).encode()).hexdigest()
