"""Arrays along a new axis: chunk grids, encodings and codecs of arrays that are stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byteatlas.manifest.columns import PlacedManifest, assemble
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.model import ArrayMeta, ChunkGrid, CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.values import replace


def new_axis(meta: ArrayMeta, name: str | None, length: int = 1) -> ArrayMeta | None:
    """The metadata with a leading axis of chunk length 1; None when the codecs cannot take one more axis."""
    match meta.grid:
        case RegularGrid(chunk_shape):
            grid: ChunkGrid = RegularGrid((1, *chunk_shape))
        case RectilinearGrid(edges):
            grid = RectilinearGrid(((1,) * length, *edges))
    encodings = []
    for encoding in meta.encodings:
        codecs = lifted(encoding.codecs)
        cast = lifted(encoding.cast)
        if codecs is None or cast is None:
            return None
        shape = None if encoding.chunk_shape is None else (1, *encoding.chunk_shape)
        encodings.append(Encoding(codecs, shape, encoding.data_type, cast))
    dims = (
        None if meta.dimension_names is None and name is None else (name, *(meta.dimension_names or [None] * meta.ndim))
    )
    return replace(
        meta,
        shape=(length, *meta.shape),
        grid=grid,
        encodings=tuple(encodings),
        dimension_names=dims,
    )


def lifted(codecs: Sequence[CodecSpec]) -> tuple[CodecSpec, ...] | None:
    """Codecs for arrays with one more leading axis of length 1. Byte codecs do not see the shape."""
    result = []
    for codec in codecs:
        conf: dict[str, Any] = dict(codec.configuration)
        if codec.name == "transpose":
            order = conf.get("order")
            if not isinstance(order, (list, tuple)):
                return None
            conf["order"] = [0, *(int(i) + 1 for i in order)]
        elif codec.name == "byteatlas.crop":
            conf = {"origin": [0, *conf["origin"]], "shape": [1, *conf["shape"]]}
        elif codec.name == "sharding_indexed":
            inner, index = lifted([CodecSpec(**_spec(c)) for c in conf["codecs"]]), conf.get("index_codecs")
            if inner is None:
                return None
            conf |= {"chunk_shape": [1, *conf["chunk_shape"]], "codecs": [_doc(c) for c in inner]}
            # The index has the shape (chunks per shard..., 2): a transposed index would need other orders.
            if any((c.get("name") if isinstance(c, Mapping) else c) == "transpose" for c in index or ()):
                return None
        result.append(CodecSpec(codec.name, conf))
    return tuple(result)


def _spec(codec: Any) -> dict[str, Any]:
    if isinstance(codec, str):
        return {"name": codec}
    return {"name": codec["name"], "configuration": codec.get("configuration", {})}


def _doc(codec: CodecSpec) -> dict[str, Any]:
    return (
        {"name": codec.name, "configuration": dict(codec.configuration)}
        if codec.configuration
        else {"name": codec.name}
    )


def stacked(arrays: Sequence[VirtualArray]) -> VirtualArray | None:
    """Arrays with equal metadata under a new leading axis; None when their codecs do not allow it."""
    meta = new_axis(arrays[0].meta, None, len(arrays))
    if meta is None:
        return None
    parts = []
    for i, array in enumerate(arrays):
        m = array.manifest.load()
        parts.append(PlacedManifest((i,) + (0,) * len(m.grid_shape), replace(m, grid_shape=(1, *m.grid_shape))))
    inner = parts[0].manifest.grid_shape[1:]
    return VirtualArray(meta, assemble((len(arrays), *inner), parts))
