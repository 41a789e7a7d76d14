"""Write ``registry.txt`` from PROJ's copy of the EPSG dataset: ``python -m byteatlas_scanners.tiff.crs.make_registry``.

Needs pyproj. Each definition is compared with PROJ's own before the program ends.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyproj
from pyproj.crs import CRS, CoordinateOperation, Datum, Ellipsoid, PrimeMeridian

from byteatlas_scanners.tiff.crs import registry

EXACT = {9102: math.pi / 180, 9122: math.pi / 180, 9105: math.pi / 200, 9003: 12 / 39.37}
"""Units that the database rounds to 15 digits."""
NOT_DEFINITION = ("$schema", "scope", "area", "bbox", "usages", "remarks", "deprecated")
KINDS = {"angle": "A", "length": "L", "scale": "S"}


class EPSGRegistry:
    """PROJ's database, as records of ``registry.txt``."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(Path(pyproj.datadir.get_data_dir()) / "proj.db")
        self.units = {name: code for code, name, *_ in self.rows("unit_of_measure", "code, name")}
        self.units |= {"degree": registry.DEGREE, "metre": registry.METRE, "unity": registry.UNITY}
        self.methods: dict[int, list[Any]] = {}
        self.parameters: dict[int, list[str]] = {}
        self.systems: dict[int, Any] = {}

    def rows(self, table: str, columns: str, where: str = "1") -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM {table} WHERE auth_name = 'EPSG' AND {where} ORDER BY code"
        return self.database.execute(query).fetchall()

    def lines(self) -> Iterator[tuple[str, int, list[Any]]]:
        for code, name, kind, size in self.rows("unit_of_measure", "code, name, type, conv_factor"):
            if kind in ("length", "angle", "scale") and size:
                yield "U", code, [name, kind, EXACT.get(code, size)]
        for (code,) in self.rows("ellipsoid", "code"):
            found = definition(Ellipsoid.from_authority("EPSG", code))
            yield "E", code, [v for pair in found.items() for v in pair if pair[0] not in ("type", "id")][1:]
        for (code,) in self.rows("prime_meridian", "code"):
            found = definition(PrimeMeridian.from_authority("EPSG", code))
            angle = found["longitude"]
            written = [angle["value"], self.unit_code(angle["unit"])] if isinstance(angle, dict) else angle
            yield "M", code, [found["name"], written]
        yield from self.datums()
        for code, name, frame, system in self.rows(
            "geodetic_crs", "code, name, datum_code, coordinate_system_code", "type LIKE 'geographic%'"
        ):
            self.systems[system] = definition(CRS.from_epsg(code))["coordinate_system"]
            yield "G", code, [name, frame, system]
        for code, name, base, operation, system in self.rows(
            "projected_crs", "code, name, geodetic_crs_code, conversion_code, coordinate_system_code"
        ):
            self.systems[system] = definition(CRS.from_epsg(code))["coordinate_system"]
            yield "P", code, [name, base, operation, system]
        yield from self.conversions()
        for code, system in sorted(self.systems.items()):
            yield "C", code, [system]

    def datums(self) -> Iterator[tuple[str, int, list[Any]]]:
        for code, shape, meridian in self.rows("geodetic_datum", "code, ellipsoid_code, prime_meridian_code"):
            found = definition(Datum.from_authority("EPSG", code))
            more = {k: v for k, v in found.items() if k not in ("name", "ellipsoid", "prime_meridian", "id")}
            if "members" in more:
                more = {"members": more["members"], "accuracy": more["accuracy"], "id": found["id"]}
            yield "D", code, [found["name"], shape, meridian, more]

    def conversions(self) -> Iterator[tuple[str, int, list[Any]]]:
        used = "code IN (SELECT conversion_code FROM projected_crs)"
        for (code,) in self.rows("conversion", "code", used):
            found = definition(CoordinateOperation.from_authority("EPSG", code))
            how, parameters = found["method"], found["parameters"]
            codes = [p["id"]["code"] for p in parameters]
            assert self.methods.setdefault(how["id"]["code"], [how["name"], *codes])[1:] == codes, how
            values = []
            for p in parameters:
                unit = self.unit_code(p["unit"])
                # The first conversion with a parameter tells what it is; two give a scale factor in metres.
                name, kind = self.parameters.setdefault(p["id"]["code"], [p["name"], self.kind_of(unit)])
                assert name == p["name"], (code, p)
                values.append(p["value"] if unit == registry.DEFAULT_UNITS[kind] else [p["value"], unit])
            yield "O", code, [found["name"], how["id"]["code"], *values]
        yield from (("X", code, names) for code, names in sorted(self.methods.items()))
        yield from (("R", code, names) for code, names in sorted(self.parameters.items()))

    def kind_of(self, unit: int) -> str:
        return KINDS[dict(self.rows("unit_of_measure", "code, type"))[unit]]

    def unit_code(self, unit: Any) -> int:
        return int(self.units[unit if isinstance(unit, str) else unit["name"]])


def definition(of: Any) -> dict[str, Any]:
    """What is used of a PROJ object's PROJJSON."""
    return {k: v for k, v in of.to_json_dict().items() if k not in NOT_DEFINITION}


def same(ours: Any, theirs: Any) -> bool:
    """Equal documents; numbers within what 15 digits can say."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=1e-14)
    return bool(ours == theirs)


def main() -> None:
    source = EPSGRegistry()
    version = pyproj.database.get_database_metadata("EPSG.VERSION")
    head = f"EPSG dataset {version} of the IOGP (epsg.org/terms-of-use), by way of PROJ; see make_registry.py"
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines = [f"{kind}{code} {write(record)}" for kind, code, record in source.lines()]
    Path(__file__).with_name("registry.txt").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    for table, find in (("geodetic_crs", registry.geographic), ("projected_crs", registry.projected)):
        for (code,) in source.rows(table, "code"):
            ours = find(code)
            if ours is not None and not same(ours, definition(CRS.from_epsg(code))):
                print("differs:", json.dumps(ours), json.dumps(definition(CRS.from_epsg(code))), sep="\n  ")


if __name__ == "__main__":
    main()
