"""A class for each of our codecs, as zarr-python wants it.

zarr-python shows a codec the array that its chunk is, and no codec its neighbours. That is all that array -> bytes and
array -> array codecs need. A bytes -> bytes codec does not learn how many bytes it has to give: its neighbours check.
Where it cannot do without, the chain is written as ``byteatlas.encodings`` (`byteatlas.manifest.ops.version3`).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.core.array_spec import ArraySpec as ZarrSpec
from zarr.core.buffer import Buffer as ZarrBuffer
from zarr.core.buffer import NDBuffer

from byteatlas.codecs.core.contract import ByteSpec, encoded_limit
from byteatlas.zarr_codecs.base import Configured, binder, refuse_encoding
from byteatlas.zarr_codecs.specs import array_of, bytes_of, changed, data_type_of, spec_of

ARRAY_TO_ARRAY = ("unpack", "crop")
ARRAY_TO_BYTES = (
    "bytes", "constant", "hdf5-elements", "grib1", "grib2", "grib_grid", "fits_unsigned", "fits_column", "fits_ascii",
    "fits_heap", "fits_tile",
)  # fmt: skip
BYTES_TO_BYTES = (
    "hdf5-nbit", "hdf5-scaleoffset", "hdf5-bitshuffle", "hdf5-zfp", "hdf5-blosc2", "hdf5-plugin", "hdf4-rle",
    "hdf4-nbit", "hdf4-skphuff", "hdf4-szip", "tiff_complex_int", "tiff_float_planes", "tiff_logluv", "tiff_libtiff",
)  # fmt: skip


class _ArrayToArray(Configured, ArrayArrayCodec):  # type: ignore[misc]  # zarr is an extra
    def check(self) -> None:
        self._codec()

    def resolve_metadata(self, chunk_spec: ZarrSpec) -> ZarrSpec:
        return changed(chunk_spec, self._codec().bind_array(spec_of(chunk_spec), binder()).spec)

    async def _decode_single(self, chunk_data: NDBuffer, chunk_spec: ZarrSpec) -> NDBuffer:
        step = self._codec().bind_array(spec_of(chunk_spec), binder())
        return array_of(await asyncio.to_thread(step.decode, chunk_data.as_numpy_array()), chunk_spec)

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ZarrSpec) -> NDBuffer | None:
        raise refuse_encoding(self.name)


class _ArrayToBytes(Configured, ArrayBytesCodec):  # type: ignore[misc]  # zarr is an extra
    def check(self) -> None:
        self._codec()

    async def _decode_single(self, chunk_data: ZarrBuffer, chunk_spec: ZarrSpec) -> NDBuffer:
        step = self._codec().bind_serializer(spec_of(chunk_spec), binder())
        found = await asyncio.to_thread(step.decode, bytes_of(chunk_data))
        return array_of(found.reshape(chunk_spec.shape), chunk_spec)

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ZarrSpec) -> ZarrBuffer | None:
        raise refuse_encoding(self.name)


class _BytesToBytes(Configured, BytesBytesCodec):  # type: ignore[misc]  # zarr is an extra
    def check(self) -> None:
        self._codec()

    async def _decode_single(self, chunk_data: ZarrBuffer, chunk_spec: ZarrSpec) -> ZarrBuffer:
        data_type = data_type_of(chunk_spec.dtype)
        size = spec_of(chunk_spec).size * max(data_type.numpy.itemsize, 1)
        step = self._codec().bind_bytes(ByteSpec(None, encoded_limit(encoded_limit(size))), binder())
        found = await asyncio.to_thread(step.decode, bytes_of(chunk_data))
        made: ZarrBuffer = chunk_spec.prototype.buffer.from_bytes(bytes(found))
        return made

    async def _encode_single(self, chunk_data: ZarrBuffer, chunk_spec: ZarrSpec) -> ZarrBuffer | None:
        raise refuse_encoding(self.name)


def attribute(name: str) -> str:
    """What the class of a codec is called here.

    >>> attribute("byteatlas.hdf5-nbit")
    'Hdf5Nbit'
    """
    return "".join(part.capitalize() for part in re.split("[-_.]", name.removeprefix("byteatlas.")))


_KINDS: dict[str, tuple[str, type[Configured]]] = {
    attribute(name): (f"byteatlas.{name}", kind)
    for names, kind in (
        (ARRAY_TO_ARRAY, _ArrayToArray),
        (ARRAY_TO_BYTES, _ArrayToBytes),
        (BYTES_TO_BYTES, _BytesToBytes),
    )
    for name in names
}


def __getattr__(name: str) -> Any:
    """The class of a codec, made when it is first asked for. It can be pickled: its name is found here."""
    if name not in _KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    full, kind = _KINDS[name]
    made = type(name, (kind,), {"name": full, "__module__": __name__, "__qualname__": name})
    globals()[name] = made
    return made
