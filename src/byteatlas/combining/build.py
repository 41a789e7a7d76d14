"""Carrying out a plan: manifests are joined, nothing is decided any more."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from byteatlas.combining.chunks.small_arrays import SMALL, inline_array
from byteatlas.combining.context import Context
from byteatlas.combining.variable.outcome import Job, Mosaic, Ready, Run
from byteatlas.manifest.columns import assemble, concatenated_manifests
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.merged_sources import SourceMemo
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.model import ArrayMeta


def built(job: Job, memo: SourceMemo) -> VirtualArray:
    match job:
        case Ready(array, _):
            return array
        case Run(meta, grid_shape, manifests):
            if set(map(type, manifests)) == {ChunkManifest}:
                loaded = cast("tuple[ChunkManifest, ...]", manifests)
                return VirtualArray(meta, concatenated_manifests(grid_shape, loaded, memo))
            return VirtualArray(meta, SegmentedManifest(grid_shape, manifests))
        case Mosaic(meta, grid_shape, pieces, _):
            return VirtualArray(meta, assemble(grid_shape, pieces))


def compact(job: Job, context: Context) -> Job:
    """A small variable that is in the map already, in many pieces, as one piece."""
    if isinstance(job, Ready) or not few(job.meta):
        return job
    manifests = job.manifests if isinstance(job, Run) else [p.manifest for p in job.pieces]
    if not any(isinstance(m, ChunkManifest) and m.inlined for m in manifests):
        return job
    values = np.asarray(context.read(built(job, SourceMemo())))
    dims = job.meta.dimension_names or (None,) * job.meta.ndim
    return Ready(inline_array(values, dims, job.meta.attributes), "inlined")


def few(meta: ArrayMeta) -> bool:
    """Whether an array has few enough elements, of fixed size, to be kept in the map."""
    dtype = meta.data_type.numpy
    return dtype.kind in "biufcSU" and math.prod(meta.shape) * dtype.itemsize <= SMALL
