"""Codecs: bytes <-> arrays. No I/O.

`core.contract` says what a codec is and shows how one is written.
"""

from byteatlas.codecs.core.checks import byte_step, decode_only
from byteatlas.codecs.core.contract import (
    ArraySpec,
    ArrayStep,
    ByteSpec,
    ByteStep,
    ChainContext,
    SerializerStep,
    ShardLayout,
)
from byteatlas.codecs.core.pipeline import Pipeline
from byteatlas.codecs.core.registry import Registry, default_registry
from byteatlas.codecs.core.resolve import build_pipeline
from byteatlas.codecs.core.steps import RawLayout

__all__ = [
    "ArraySpec",
    "ArrayStep",
    "ByteSpec",
    "ByteStep",
    "ChainContext",
    "Pipeline",
    "RawLayout",
    "Registry",
    "SerializerStep",
    "ShardLayout",
    "build_pipeline",
    "byte_step",
    "decode_only",
    "default_registry",
]
