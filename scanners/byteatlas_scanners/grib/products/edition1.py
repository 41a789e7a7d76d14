"""Section 1 of edition 1, with the local parts of ECMWF and NCEP, which number the members of ensembles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from byteatlas.scanning.grib import GribField
from byteatlas.types import JSON
from byteatlas_scanners.grib.products.model import Level, Product, ProductKeys, Times
from byteatlas_scanners.grib.products.times import INSTANT, SECONDS1, later, moment
from byteatlas_scanners.grib.tables.levels import LAYERS1, UNITS1, level_kind, level_units

ECMWF, NCEP = 98, 7
MEMBER8 = frozenset({1, 13, 14, 18, 19, 26, 30, 31, 36, 37, 40, 50})
"""Local definitions of ECMWF with the number of the member in octet 50."""
SPECTRA = 13
"""The local definition of wave spectra."""
WAVES = (("waveDirectionNumber", "direction"), ("waveFrequencyNumber", "frequency"))
MEMBER16 = frozenset({12, 15, 16, 23})
"""... in octets 50 and 51."""
PROCESSES: Mapping[int, str] = {
    2: "accum", 3: "avg", 4: "accum", 5: "diff", 6: "avg", 7: "avg", 51: "clim", 113: "avgfc", 114: "accumfc",
    115: "avgfc", 116: "accumfc", 117: "avgfc", 118: "cov", 119: "sd", 120: "rms", 121: "sd", 122: "cov", 123: "avgua",
    124: "avgia", 125: "sd", 128: "avgas", 130: "avgad", 133: "avgid",
}  # fmt: skip
"""Code table 5, by the names that ecCodes gives to the types of steps."""
MOMENTS = frozenset({0, 1, 10, 14})
"""Indicators of code table 5 of values of one moment."""
BETWEEN = frozenset({2, 3, 4, 5, 128, 130})
"""Time ranges from P1 to P2: also those of accumulations and means of which a mean over many forecasts was made."""
BETWEEN_NCEP = frozenset({129, 131, 137, 138, 139, 140})
"""More of them, of NCEP's local part of the table (on388, table 5)."""
ORIGINS = ("marsType", "marsStream", "marsClass", "generatingProcessIdentifier", "subCentre", "ensembleType")


def product_of(field: GribField) -> Product:
    """The product of a field of edition 1."""
    data = field.product
    keys: dict[str, JSON] = {
        "table2Version": data[3],
        "centre": data[4],
        "generatingProcessIdentifier": data[5],
        "gridDefinition": data[6],
        "indicatorOfParameter": data[8],
        "indicatorOfTypeOfLevel": data[9],
        "unitOfTimeRange": data[17],
        "P1": data[18],
        "P2": data[19],
        "timeRangeIndicator": data[20],
        "numberIncludedInAverage": int.from_bytes(data[21:23], "big"),
        "numberMissingFromAveragesOrAccumulations": data[23],
        "subCentre": data[25],
    }
    if data[9] in LAYERS1:
        keys |= {"topLevel": data[10], "bottomLevel": data[11], "level": data[10]}
    else:
        keys["level"] = int.from_bytes(data[10:12], "big")
    keys.update(local_keys(data))
    details = [(name, keys[name]) for name in ("probabilityType", "lowerLimit", "upperLimit") if name in keys]
    member = keys.get("perturbationNumber")
    return Product(
        1,
        data[4],
        f"{data[3]}.{data[8]}",
        keys,
        _level(data, keys),
        times_of(data),
        member if isinstance(member, int) else None,
        tuple((axis, float(v)) for name, axis in WAVES if isinstance(v := keys.get(name), int)),
        (*details, ("timeRangeIndicator", _kind_of_range(data[20]))),
        tuple((name, keys[name]) for name in ORIGINS if name in keys),
    )


def _kind_of_range(indicator: int) -> int:
    """Code table 5, where several mean that the values are of one moment: 0."""
    return 0 if indicator in MOMENTS else indicator


def _level(data: bytes, keys: ProductKeys) -> Level:
    number = data[9]
    kind = level_kind(1, number, data[4], keys)
    units, factor = level_units(1, number)
    if number in LAYERS1:
        return Level(kind, float(data[10]) / factor, float(data[11]) / factor, units)
    value = int.from_bytes(data[10:12], "big")
    if not value and number not in UNITS1:
        return Level(kind, None, None, units)
    return Level(kind, float(value) / factor, None, units)


def times_of(data: bytes) -> Times:
    """Reference time, and begin and end of the time that the values are of."""
    century = data[24] if data[24] not in (0, 255) else 21
    year = (century - 1) * 100 + data[12]
    reference = moment((year, data[13], data[14], data[15], data[16], 0))
    unit, first, second, indicator = data[17], data[18], data[19], data[20]

    def step(count: int) -> int:
        return later(reference, count, unit, SECONDS1)

    process = INSTANT if indicator in MOMENTS else PROCESSES.get(indicator, str(indicator))
    match indicator:
        case 10:
            begin = end = step(int.from_bytes(data[18:20], "big"))
        case _ if indicator in BETWEEN or (indicator in BETWEEN_NCEP and data[4] == NCEP):
            begin, end = step(first), step(second)
        case 6:
            begin, end = -step(first), -step(second)
        case 7:
            begin, end = -step(first), step(second)
        case 51 | 123 | 124:
            begin = end = 0
        case _:
            begin = end = step(first)
    return Times(reference, begin, end, process)


def local_keys(data: bytes) -> Iterator[tuple[str, JSON]]:
    """What the local part (from octet 41 on) says of ensembles, and ECMWF's labels."""
    centre, sub = data[4], data[25]
    if len(data) < 43:
        return
    if ECMWF in (centre, sub) and len(data) >= 49:
        yield from _ecmwf(data)
    elif centre == NCEP and data[40] == 1 and len(data) >= 45:
        yield "ensembleType", data[41]
        yield "perturbationNumber", data[42]
        if len(data) >= 55:
            yield "probabilityType", data[46]
            yield "lowerLimit", int.from_bytes(data[47:51], "big")
            yield "upperLimit", int.from_bytes(data[51:55], "big")


def _ecmwf(data: bytes) -> Iterator[tuple[str, JSON]]:
    number = data[40]
    yield "localDefinitionNumber", number
    yield "marsClass", data[41]
    yield "marsType", data[42]
    yield "marsStream", int.from_bytes(data[43:45], "big")
    yield "experimentVersionNumber", data[45:49].decode("latin-1")
    if number in MEMBER8 and len(data) >= 51:
        if data[49] or data[50]:  # else there is no ensemble
            yield "perturbationNumber", data[49]
            yield "numberOfForecastsInEnsemble", data[50]
        if number == SPECTRA and len(data) >= 53:
            yield "waveDirectionNumber", data[51]
            yield "waveFrequencyNumber", data[52]
    elif number in MEMBER16 and len(data) >= 52:
        yield "perturbationNumber", int.from_bytes(data[49:51], "big")
