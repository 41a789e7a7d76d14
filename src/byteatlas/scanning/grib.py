"""GRIB's sections for scanners, which see the contract only: the parser is the decoders' own."""

from __future__ import annotations

from byteatlas.codecs.grib.sections.message import parse, walk
from byteatlas.codecs.grib.sections.values import Bitmap, Field, Message, Packing

__all__ = ["Bitmap", "Field", "Message", "Packing", "parse", "walk"]
