"""Run scanners and their parsers on bytes, say how they refuse, and read an uncompressed virtual array by hand.

The engine takes no part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.chunks import read_chunks

from byteatlas.errors import Absent, ByteatlasError
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import Encoding
from byteatlas.scanning.contract import Ask, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import complete
from byteatlas.scanning.feed import Feed


def scan_bytes(
    scanner: Scanner, data: bytes, options: ScanOptions | None = None, batches: list[list[Ask]] | None = None
) -> VirtualGroup:
    """What the scanner makes of a file's bytes; ``batches`` collects what it asked for, step by step."""
    return run(complete(scanner, SourceInfo("memory://file", len(data)), options or ScanOptions()), data, batches)


T = TypeVar("T")


def run(parser: Parse[T], data: bytes, batches: list[list[Ask]] | None = None) -> T:
    """What a parser makes of a file's bytes."""
    feed = Feed(MemorySource(data, "memory://file"), _nothing_else)
    try:
        asks = next(parser)
        while True:
            if batches is not None:
                batches.append(list(asks))
            asks = parser.send(feed.answer(asks))
    except StopIteration as stop:
        found: T = stop.value
        return found


def refuses(error: ByteatlasError, act: Callable[[], object]) -> None:
    """The call raises this error: of this class, at this place, for this reason, in these words."""
    with pytest.raises(type(error)) as caught:
        act()
    assert (type(caught.value), str(caught.value)) == (type(error), str(error))


Refused = tuple[Callable[[], object], ByteatlasError]


def refusals(*rows: Refused) -> pytest.MarkDecorator:
    """A table of calls and the errors that they raise, for tests that hand both to `refuses`."""
    return pytest.mark.parametrize(
        ("act", "error"), rows, ids=[f"{number}: {error}" for number, (_, error) in enumerate(rows)]
    )


def _nothing_else(url: str) -> Any:
    raise Absent(url)


def read_plain(array: VirtualArray, data: bytes) -> NDArray[Any]:
    """The values of an array whose only codec is ``bytes``."""

    def plain(encoding: Encoding, shape: tuple[int, ...], raw: Any) -> NDArray[Any]:
        (codec,) = encoding.codecs
        assert codec.name == "bytes"
        stored = array.meta.data_type.numpy.newbyteorder(">" if codec.configuration.get("endian") == "big" else "<")
        return np.frombuffer(raw, stored).reshape(encoding.chunk_shape or shape)

    return read_chunks(array, data, plain)
