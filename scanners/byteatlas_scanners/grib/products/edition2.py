"""Sections 1 and 4 of edition 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from byteatlas.scanning.grib import GribField
from byteatlas.types import JSON
from byteatlas_scanners.grib.products.blocks import TemplatePart, names_in, parts_of, read_parts, unpacker
from byteatlas_scanners.grib.products.model import Level, Product, ProductKeys, Times
from byteatlas_scanners.grib.products.templates import BLOCKS, TEMPLATES, keys_of
from byteatlas_scanners.grib.products.times import INSTANT, PROCESSES, later, moment
from byteatlas_scanners.grib.tables.levels import UNITS2, level_kind, level_units

IDENTIFICATION = unpacker(
    keys_of(
        "centre:2 subCentre:2 tablesVersion:1 localTablesVersion:1 significanceOfReferenceTime:1 year:2 month:1 day:1 "
        "hour:1 minute:1 second:1 productionStatusOfProcessedData:1 typeOfProcessedData:1"
    )
)
PARAMETER = (TemplatePart(unpacker(keys_of(BLOCKS["parameter"]))),)
HEAD = 9
"""Octets of section 4 before the template."""
NO_SURFACE, MISSING = 255, 0xFFFFFFFF
ECMWF = 98
AXES: Mapping[str, str] = {
    "percentileValue": "percentile", "quantileValue": "quantile", "tileIndex": "tile", "partitionNumber": "partition",
    "clusterIdentifier": "cluster", "modeNumber": "mode", "waveDirectionNumber": "direction",
    "waveFrequencyNumber": "frequency",
}  # fmt: skip
"""Keys that may be dimensions, and their names as such."""
LIMITS: Mapping[int, str] = {0: "lowerLimit", 1: "upperLimit", 3: "lowerLimit", 4: "upperLimit"}
"""By type of probability (code table 4.9) the limit that counts: a dimension, ``threshold``."""
DETAILS = (
    "derivedForecast", "constituentType", "sourceSinkChemicalPhysicalProcess", "typeOfSizeInterval", "firstSize",
    "secondSize", "typeOfWavelengthInterval", "firstWavelength", "secondWavelength", "probabilityType", "lowerLimit",
    "upperLimit", "statisticalProcess", "spatialProcessing", "satelliteSeries", "satelliteNumber", "instrumentType",
    "centralWaveNumber", "partitionTable", "tileClassification", "attributeOfTile", "typeOfDistributionFunction",
    "codeFigure", "typeOfWavePeriodInterval", "lowerWavePeriodLimit", "upperWavePeriodLimit",
    "typeOfStatisticalProcessing", "section4",
)  # fmt: skip
ORIGINS = ("marsType", "marsStream", "marsClass", "typeOfProcessedData", "typeOfGeneratingProcess",
           "generatingProcessIdentifier", "backgroundProcess", "inputProcessIdentifier", "typeOfPostProcessing",
           "subCentre", "productionStatusOfProcessedData", "significanceOfReferenceTime")  # fmt: skip


@cache
def _identification(section: bytes) -> dict[str, JSON]:
    """The keys of section 1. (A file has few of them, and they are short.)"""
    found: dict[str, JSON] = {}
    IDENTIFICATION.into(section, 5, found)
    return found


def product_keys(section: bytes, template: int) -> dict[str, JSON]:
    """The keys of section 4; of an unknown template category and number, with which all begin."""
    found: dict[str, JSON] = {"productDefinitionTemplateNumber": template}
    read_parts(section, HEAD, parts_of(template) or PARAMETER, found)
    return found


def local_keys(section: bytes, centre: int) -> Iterator[tuple[str, JSON]]:
    """ECMWF's labels in section 2."""
    if centre == ECMWF and len(section) >= 17:
        yield "marsClass", int.from_bytes(section[7:9], "big")
        yield "marsType", int.from_bytes(section[9:11], "big")
        yield "marsStream", int.from_bytes(section[11:13], "big")
        yield "experimentVersionNumber", section[13:17].decode("latin-1")


def scaled(keys: ProductKeys, name: str) -> float | None:
    """A number that is written as a scale factor and a scaled value (``scaleFactorOfX``, ``scaledValueOfX``)."""
    factor, value = keys.get(f"scaleFactorOf{name}"), keys.get(f"scaledValueOf{name}")
    if not isinstance(value, int):
        return None
    if not isinstance(factor, int) or not factor:
        return float(value)
    return float(value) / 10.0**factor if -100 < factor < 100 else None


def product_of(field: GribField, discipline: int) -> Product:
    """The product of a field of edition 2."""
    template = field.product_template or 0
    keys: dict[str, JSON] = {"discipline": discipline, **_identification(field.identification)}
    centre = _int(keys, "centre")
    if field.local:
        keys.update(local_keys(field.local, centre))
    keys |= product_keys(field.product, template)
    derived: dict[str, JSON] = {**keys, **dict(_values(keys, template))}
    if template not in TEMPLATES:
        derived["section4"] = field.product[HEAD:].hex()
    limit = LIMITS.get(_int(keys, "probabilityType", -1))
    primary = f"{discipline}.{_int(keys, 'parameterCategory')}.{_int(keys, 'parameterNumber')}"
    return Product(
        2,
        centre,
        primary,
        keys,
        _level(keys),
        _times(keys),
        _member(keys),
        tuple(_axes(derived)),
        tuple([(name, v) for name in DETAILS if (v := derived.get(name)) is not None and name != limit]),
        tuple([(name, v) for name in ORIGINS if (v := keys.get(name)) is not None]),
    )


def _axes(keys: ProductKeys) -> Iterator[tuple[str, float]]:
    for name, axis in AXES.items():
        value = keys.get(name)
        if isinstance(value, int):
            yield axis, float(value)
    limit = keys.get(LIMITS.get(_int(keys, "probabilityType", -1), ""))
    if isinstance(limit, float):
        yield "threshold", limit


def _int(keys: ProductKeys, name: str, otherwise: int = 0) -> int:
    value = keys.get(name)
    return value if isinstance(value, int) else otherwise


PAIRS = ("FirstSize", "SecondSize", "FirstWavelength", "SecondWavelength", "LowerLimit", "UpperLimit",
         "CentralWaveNumber", "LowerWavePeriodLimit", "UpperWavePeriodLimit")  # fmt: skip
"""Numbers that are written as a factor and a value, other than those of levels."""


@cache
def _pairs(template: int) -> tuple[str, ...]:
    return tuple(name for name in PAIRS if f"scaledValueOf{name}" in names_in(template))


def _values(keys: ProductKeys, template: int) -> Iterator[tuple[str, JSON]]:
    """Pairs of factor and value as numbers."""
    for name in _pairs(template):
        value = scaled(keys, name)
        if value is not None:
            yield name[0].lower() + name[1:], value


def _member(keys: ProductKeys) -> int | None:
    """The number in the ensemble. A control forecast is member 0 however it is numbered."""
    number = keys.get("perturbationNumber")
    if not isinstance(number, int):
        return None
    return number


def _level(keys: ProductKeys) -> Level:
    first = _int(keys, "typeOfFirstFixedSurface", NO_SURFACE)
    second = _int(keys, "typeOfSecondFixedSurface", NO_SURFACE)
    kind = level_kind(2, first, _int(keys, "centre"), keys)
    units, factor = level_units(2, first)
    top, bottom = scaled(keys, "FirstFixedSurface"), None
    if second != NO_SURFACE:
        bottom = scaled(keys, "SecondFixedSurface")
    if first == 100:
        top, bottom = _times_factor(top, factor), _times_factor(bottom, factor)
    if not top and not bottom and first not in UNITS2:  # zero says as little as a missing value
        top = bottom = None
    return Level(kind, top, bottom, units)


def _times_factor(value: float | None, factor: float) -> float | None:
    return None if value is None else value / factor


def _times(keys: ProductKeys) -> Times:
    reference = moment(_date(keys, "year", "month", "day", "hour", "minute", "second"))
    begin = later(reference, _int(keys, "forecastTime"), _int(keys, "indicatorOfUnitOfTimeRange", 1))
    process = keys.get("typeOfStatisticalProcessing")
    if not isinstance(process, int) or "numberOfTimeRanges" not in keys:
        return Times(reference, begin, begin, INSTANT)
    word = PROCESSES.get(process, INSTANT if process == NO_SURFACE else f"process{process}")
    parts = ("year", "month", "day", "hour", "minute", "second")
    stop = moment(_date(keys, *(f"{part}OfEndOfOverallTimeInterval" for part in parts)))
    if stop is not None and reference is not None and stop - reference >= begin:
        return Times(reference, begin, stop - reference, word)
    count = _int(keys, "lengthOfTimeRange")
    length = 0 if count >= MISSING // 2 else later(reference, count, _int(keys, "indicatorOfUnitForTimeRange", 1))
    return Times(reference, begin, begin + length, word)


def _date(keys: ProductKeys, *names: str) -> tuple[int, int, int, int, int, int]:
    year, month, day, hour, minute, second = (_int(keys, name, -1) for name in names)
    return year, month, day, max(hour, 0), max(minute, 0), max(second, 0)
