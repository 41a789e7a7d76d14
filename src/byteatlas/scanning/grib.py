"""What scanners of GRIB files share with the codecs that decode them: sections and numbers.

Scanners see the scan contract only; this module is the part of it that knows the format.
"""

from __future__ import annotations

from byteatlas.codecs.grib.grids.earth import Spheroid, earth_of
from byteatlas.codecs.grib.grids.gaussian import MOST_PARALLELS, gaussian_latitudes
from byteatlas.codecs.grib.grids.points import can_make
from byteatlas.codecs.grib.sections.fingerprint import fingerprint
from byteatlas.codecs.grib.sections.message import walk
from byteatlas.codecs.grib.sections.values import NO_BITMAP, GribField
from byteatlas.codecs.grib.sections.wire import ibm32, ieee32, sign_and_magnitude, signed, unsigned

__all__ = [
    "MOST_PARALLELS",
    "NO_BITMAP",
    "GribField",
    "Spheroid",
    "can_make",
    "earth_of",
    "fingerprint",
    "gaussian_latitudes",
    "ibm32",
    "ieee32",
    "sign_and_magnitude",
    "signed",
    "unsigned",
    "walk",
]
