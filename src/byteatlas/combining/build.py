"""Carrying out a plan: manifests are joined, nothing is decided any more."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from byteatlas.combining.chunks.small_arrays import SMALL, inline_array
from byteatlas.combining.context import CombineContext
from byteatlas.combining.variable.treatment import Concatenation, Mosaic, Ready, Treatment
from byteatlas.manifest.columns import assemble, concatenated_manifests
from byteatlas.manifest.kinds.recent import RecentlyRead
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.merged_sources import SourceMemo
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.model import ArrayMeta


def built(treatment: Treatment, memo: SourceMemo, recent: RecentlyRead | None = None) -> VirtualArray:
    """The array; ``recent``: what all arrays of a combination keep in memory of the maps that they read from."""
    match treatment:
        case Ready(array, _):
            return array
        case Concatenation(meta, grid_shape, manifests):
            if set(map(type, manifests)) == {ChunkManifest}:
                loaded = cast("tuple[ChunkManifest, ...]", manifests)
                return VirtualArray(meta, concatenated_manifests(grid_shape, loaded, memo))
            return VirtualArray(meta, SegmentedManifest(grid_shape, manifests, recent))
        case Mosaic(meta, grid_shape, parts, _):
            return VirtualArray(meta, assemble(grid_shape, parts))


def compact(treatment: Treatment, context: CombineContext, most: int) -> Treatment:
    """A variable that is not larger than ``most`` bytes, read and kept in the map."""
    if isinstance(treatment, Ready) or not fits_in_map(treatment.meta, most):
        return treatment
    return in_the_map(treatment, context)


def compact_parts(treatment: Treatment, context: CombineContext) -> Treatment:
    """A small variable that is in the map already, in many parts, as one part."""
    if isinstance(treatment, Ready):
        return treatment
    manifests = treatment.manifests if isinstance(treatment, Concatenation) else [p.manifest for p in treatment.parts]
    if not any(isinstance(m, ChunkManifest) and m.inlined for m in manifests):
        return treatment
    return compact(treatment, context, SMALL)


def in_the_map(treatment: Treatment, context: CombineContext) -> Treatment:
    """A variable read and kept in the map as one part."""
    if isinstance(treatment, Ready):
        return treatment
    values = np.asarray(context.read(built(treatment, SourceMemo())))
    dims = treatment.meta.dimension_names or (None,) * treatment.meta.ndim
    return Ready(inline_array(values, dims, treatment.meta.attributes), "inlined")


def fits_in_map(meta: ArrayMeta, most: int) -> bool:
    """Whether an array is small enough, and its elements of fixed size, to be kept in the map."""
    dtype = meta.data_type.numpy
    return dtype.kind in "biufcSU" and math.prod(meta.shape) * dtype.itemsize <= most
