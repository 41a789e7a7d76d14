"""One small face for the formats' own libraries: names, shapes, values, attributes, dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from byteatlas.types import JSON

NATIVE_ERRORS = (OSError, KeyError, RuntimeError, TypeError, ValueError, IndexError)
"""What the libraries raise for files that they cannot read."""


class NativeArray(Protocol):
    """One array as the format's library has it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def attributes(self) -> Mapping[str, JSON] | None:
        """None when the format has none that could be compared."""
        ...

    @property
    def dims(self) -> tuple[str | None, ...] | None: ...

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]: ...


class NativeFile(Protocol):
    """One open file."""

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        """The array behind a path of the virtual hierarchy, or None."""
        ...

    def names(self) -> list[str]:
        """Paths of all arrays that a scan must present or refuse; empty when paths do not tell."""
        ...
