"""What scanners of GRIB files share with the codecs that decode them: sections and numbers.

Scanners see the scan contract only; this module is the part of it that knows the format.
"""

from __future__ import annotations

from byteatlas.codecs.grib.sections.fingerprint import fingerprint
from byteatlas.codecs.grib.sections.message import walk
from byteatlas.codecs.grib.sections.values import NO_BITMAP
from byteatlas.codecs.grib.sections.values import GribField as Field
from byteatlas.codecs.grib.sections.values import GribMessage as Message
from byteatlas.codecs.grib.sections.values import GribPacking as Packing
from byteatlas.codecs.grib.sections.wire import ibm32, ieee32, sign_and_magnitude, signed, unsigned

__all__ = [
    "NO_BITMAP",
    "Field",
    "Message",
    "Packing",
    "fingerprint",
    "ibm32",
    "ieee32",
    "sign_and_magnitude",
    "signed",
    "unsigned",
    "walk",
]
