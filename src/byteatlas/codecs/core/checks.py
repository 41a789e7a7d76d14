"""What all codecs check, and how they say what is wrong: one place for each.

Codecs raise `CorruptChunk` with a reason alone, which begins with the codec's name. Which array, chunk and file it is
about is added by who reads the chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, encoded_limit
from byteatlas.errors import ByteatlasError, CorruptChunk, Unsupported

IMAGECODECS_FAULTS = (
    RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, OSError, EOFError, AttributeError,
    SystemError, BufferError,
)  # fmt: skip
"""What imagecodecs' decoders raise for bytes that they cannot read (each has its own subclass of RuntimeError).

Some are written in Python, around libraries with errors of their own; `SystemError` is what a faulty extension leaves.
"""


def exactly(name: str, found: int, wanted: int) -> None:
    """So many bytes, no more and no fewer. Raises `CorruptChunk`."""
    if found != wanted:
        raise CorruptChunk(f"{name}: {found} bytes where there should be {wanted}")


def at_least(name: str, found: int, needed: int) -> None:
    """So many bytes or more. Raises `CorruptChunk`."""
    if found < needed:
        raise CorruptChunk(f"{name}: {found} bytes where at least {needed} are needed")


def at_most(name: str, found: int, limit: int) -> None:
    """So many bytes or fewer. Raises `CorruptChunk`."""
    if found > limit:
        raise CorruptChunk(f"{name}: {found} bytes where the chunk has at most {limit}")


def fits(name: str, found: int, spec: ByteSpec) -> None:
    """A decoded size that the chunk can have: exactly its own where that is known. Raises `CorruptChunk`."""
    at_most(name, found, spec.limit)
    if spec.nbytes is not None:
        exactly(name, found, spec.nbytes)


class DamageGuard:
    """A block in which these errors of a library mean that the chunk is damaged.

    It costs as much as two calls: codecs that decode tiny chunks in a loop have a ``try`` instead.
    """

    __slots__ = ("faults", "name")

    def __init__(self, name: str, *faults: type[Exception]) -> None:
        self.name, self.faults = name, faults or IMAGECODECS_FAULTS

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and isinstance(error, self.faults) and not isinstance(error, ByteatlasError):
            raise CorruptChunk(f"{self.name}: {error}") from error


def decode_only(name: str, why: str = "") -> Callable[[Any], Any]:
    """The encode function of a codec that has none; it raises `Unsupported`."""

    def encode(data: Any) -> Any:
        raise Unsupported("codec", f"codec {name!r} only decodes{why and ': ' + why}")

    return encode


def byte_step(
    name: str,
    spec: ByteSpec,
    decode: Callable[[Bytes], Bytes],
    encode: Callable[[Bytes], Bytes] | None = None,
    *faults: type[Exception],
) -> ByteStep:
    """A bytes -> bytes codec whose encoded size varies, from a plain function.

    What ``decode`` gives is checked (`fits`), and what it raises becomes `CorruptChunk` (``faults``; none: what
    imagecodecs raises).
    """
    caught = faults or IMAGECODECS_FAULTS

    def checked(data: Bytes) -> Bytes:
        try:
            found = decode(data)
        except ByteatlasError:
            raise
        except caught as error:
            raise CorruptChunk(f"{name}: {error}") from error
        fits(name, len(found), spec)
        return found

    return ByteStep(
        None, encoded_limit(spec.limit), checked, encode or decode_only(name), itemsize=spec.itemsize
    )  # fmt: skip
