"""Pipelines: the decoder and encoder of chunks of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ShardLayout
from byteatlas.codecs.core.many import compile_many
from byteatlas.codecs.core.steps import Steps
from byteatlas.meta.place import invalid
from byteatlas.types import Buffer


class Pipeline:
    """Decodes and encodes the chunks of one shape. Safe to use from many threads.

    Attributes:
        shape, dtype: of the decoded chunk; dtype is the array's, in native byte order.
        nbytes: bytes of the decoded chunk; None for variable-length elements.
        raw: set when the chunk's bytes are the array's bytes.
        shard: set when a chunk is a shard whose inner chunks can be read by themselves.
        encoded_nbytes: bytes that every encoded chunk takes, when that is fixed.
    """

    __slots__ = (
        "_decode",
        "_into",
        "_many",
        "_patch",
        "_steps",
        "dtype",
        "encoded_nbytes",
        "nbytes",
        "raw",
        "shape",
        "shard",
    )

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        spec = steps.spec
        self.shape, self.dtype = spec.shape, spec.dtype
        self.nbytes = None if spec.dtype.hasobject else spec.size * spec.dtype.itemsize
        self.raw = steps.raw_layout()
        self.shard: ShardLayout | None = (
            steps.serializer.shard if not steps.arrays and not steps.byte_steps and steps.cast is None else None
        )
        self.encoded_nbytes = steps.byte_steps[-1].nbytes if steps.byte_steps else steps.serializer.nbytes
        self._into = steps.compile_into()
        self._many = compile_many(steps.byte_steps, self.nbytes) if self._into is not None and self.nbytes else None
        self._patch = steps.serializer.patch
        self._decode = steps.decode

    def decode(self, data: Buffer, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """One chunk's array; with ``out`` (writable, C-contiguous, of this shape and dtype) decoded into it.

        Without ``out`` the result may be a read-only view of ``data``. Raises `CorruptChunk`.
        """
        if self._into is not None:
            if out is None:
                if self.raw is not None:
                    return self._decode(data)
                out = np.empty(self.shape, self.dtype)
            self._into(data, out)
            return out
        found = self._decode(data)
        if out is None:
            return found
        out[...] = found
        return out

    def decode_many(self, values: Sequence[Buffer]) -> NDArray[Any] | None:
        """Tiny chunks together: shape (chunks, chunk shape...), perhaps read-only.

        None when these chunks have to be decoded one by one; `decode` then says what is wrong with which.
        """
        rows = None if self._many is None else self._many(values)
        if rows is None:
            return None
        if self._patch is not None:
            rows = rows if rows.flags.writeable else rows.copy()
            self._patch(rows.view(self.dtype))
        return rows.view(self.dtype).reshape(len(rows), *self.shape)

    def encode(self, array: NDArray[Any]) -> bytes:
        """The bytes of one chunk. Raises `Unsupported` when a codec cannot encode, `InvalidMetadata` for a misfit."""
        if array.shape != self.shape:
            raise invalid(f"a chunk of shape {array.shape} where the pipeline takes {self.shape}")
        found = self._steps.encode(array)
        return found if isinstance(found, bytes) else bytes(memoryview(found).cast("B"))
