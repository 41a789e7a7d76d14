"""Chains of codecs made of names and configurations, and how exactly an error is checked, for tables of refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import pytest

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.errors import ByteatlasError
from byteatlas.meta.dtypes import from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, DataType, Encoding

Configuration: TypeAlias = dict[str, Any]
LITTLE = CodecSpec("bytes", {"endian": "little"})


def data_type(name: str) -> DataType:
    """Of a NumPy type string, or of a name that version 3 has."""
    try:
        return from_numpy(np.dtype(name))
    except TypeError:
        return from_v3(name)


def chain(
    *codecs: tuple[str, Configuration], dtype: str = "u1", shape: tuple[int, ...] = (8,), fill: object = None
) -> Pipeline:
    """The pipeline of these codecs, which include one that makes bytes."""
    specs = tuple(CodecSpec(name, configuration) for name, configuration in codecs)
    return build_pipeline(Encoding(specs), data_type(dtype), shape, fill)


def of_bytes(*codecs: tuple[str, Configuration], dtype: str = "u1", shape: tuple[int, ...] = (8,)) -> Pipeline:
    """The pipeline of codecs of bytes: ``bytes`` comes before them."""
    return chain(("bytes", {"endian": "little"}), *codecs, dtype=dtype, shape=shape)


@contextmanager
def fault(kind: type[ByteatlasError], *words: str) -> Iterator[None]:
    """The block raises exactly this class, and its message has these words (reasons are in brackets at its end)."""
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind
    for text in words:
        assert text in str(caught.value)
