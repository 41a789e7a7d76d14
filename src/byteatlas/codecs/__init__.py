"""Codecs: bytes <-> arrays. No I/O."""

from byteatlas.codecs.contract import ArraySpec, ArrayStep, ByteSpec, ByteStep, SerializerStep, ShardLayout
from byteatlas.codecs.pipeline import Pipeline, RawLayout, build_pipeline
from byteatlas.codecs.registry import Registry, default_registry

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
