"""Codecs: bytes <-> arrays. No I/O."""

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, ByteSpec, ByteStep, SerializerStep, ShardLayout
from byteatlas.codecs.core.pipeline import Pipeline
from byteatlas.codecs.core.registry import Registry, default_registry
from byteatlas.codecs.core.resolve import build_pipeline
from byteatlas.codecs.core.steps import RawLayout

__all__ = [
    "ArraySpec",
    "ArrayStep",
    "ByteSpec",
    "ByteStep",
    "Pipeline",
    "RawLayout",
    "Registry",
    "SerializerStep",
    "ShardLayout",
    "build_pipeline",
    "default_registry",
]
