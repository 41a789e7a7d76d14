"""Decoding for scanners (`Decode`): the codecs of the library, with a bound on what they may make."""

from __future__ import annotations

from byteatlas.codecs.core.contract import ByteSpec, ByteStep
from byteatlas.codecs.core.registry import default_registry
from byteatlas.codecs.core.resolve import Binder
from byteatlas.errors import CorruptChunk
from byteatlas.meta.model import CodecSpec
from byteatlas.types import Buffer


class Decoding:
    """Decodes blocks of one scan; a chain of codecs that comes again is bound once."""

    __slots__ = ("_bound",)

    def __init__(self) -> None:
        self._bound: dict[tuple[int, int], tuple[tuple[CodecSpec, ...], list[ByteStep]]] = {}

    def __call__(self, codecs: tuple[CodecSpec, ...], data: Buffer, size: int) -> Buffer:
        """The ``size`` bytes that a block decodes to. Raises `CorruptChunk`, `Unsupported`, `MissingExtra`."""
        known = self._bound.get((id(codecs), size))
        if known is None:  # the codecs are kept as well: what the key names must not go away
            steps = Binder(default_registry()).byte_codecs(codecs, ByteSpec(size, size))
            known = self._bound[id(codecs), size] = codecs, steps
        for step in reversed(known[1]):
            data = step.decode(data)
        view = memoryview(data).cast("B")
        if len(view) != size:
            raise CorruptChunk(f"a block decodes to {len(view)} bytes instead of {size}")
        return view
