"""One small face for the formats' own libraries: names, shapes, values, attributes, dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

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


@runtime_checkable
class Stacked(Protocol):
    """An array of the library's that is made of several pieces: how they stand is what our hierarchy says."""

    def shaped(self, shape: tuple[int, ...]) -> NativeArray:
        """The same in this shape, or as it is where it has another number of values."""
        ...


class NativeFile(Protocol):
    """One open file."""

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        """The array behind a path of the virtual hierarchy, or None."""
        ...

    def names(self) -> list[str]:
        """Paths of all arrays that a scan must present or refuse; empty when paths do not tell."""
        ...
