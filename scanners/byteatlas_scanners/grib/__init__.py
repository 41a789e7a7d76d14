"""GRIB files of editions 1 and 2 as virtual Zarr: every message found, fields as cubes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas.values import replace
from byteatlas_scanners.grib.cubes.build import Presentation, refused_fields, to_group
from byteatlas_scanners.grib.cubes.datum import read_data
from byteatlas_scanners.grib.cubes.names import one_of, preset_named
from byteatlas_scanners.grib.messages.chain import SEARCHED, MessageChain
from byteatlas_scanners.grib.messages.find import begins, find_messages
from byteatlas_scanners.grib.messages.indicator import MAGIC, indicator
from byteatlas_scanners.grib.messages.read import Placed, read_fields
from byteatlas_scanners.grib.sidecars.use import from_index

ROWS = ("stored", "straight")
DTYPES: Mapping[str, np.dtype[Any]] = {"float64": np.dtype("<f8"), "float32": np.dtype("<f4")}


class GribScanner(Scanner):
    """The scanner plugin for GRIB files."""

    name = "grib"
    suffixes = (".grib", ".grib1", ".grib2", ".grb", ".grb2", ".gb2")
    options = (
        Option("sidecar", bool, True, "look for an index beside the file (FILE.idx, FILE.index)"),
        Option("preset", str, "byteatlas", "names of variables and groups: byteatlas, cfgrib or kerchunk"),
        Option("dtype", str, "float64", "type of the values: float64 as ecCodes has it, or float32"),
        Option("dims", str, "", "dimensions that stay where they have one value, such as time,step"),
        Option("rows", str, "stored", "rows that run to and fro: stored as ecCodes gives them, or straight"),
    )
    verify = "byteatlas.verifying.native.grib:open_grib"

    def sniff(self, first: FirstBytes) -> bool:
        at = first.data.find(MAGIC)
        while at >= 0:
            if indicator(first.data, at) is not None:
                return True
            at = first.data.find(MAGIC, at + 1)
        return False

    def search(self, source: SourceInfo) -> Parse[bool]:
        """Rubbish or a heading may stand before the first message; of files with our suffixes all is searched."""
        named = source.url.partition("?")[0].lower().endswith(self.suffixes)
        size = source.size or 0
        return (yield from begins(size, size if named else SEARCHED))

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """One array for each variable; messages that cannot be presented are refused one by one in the report.

        Raises `CorruptFile` when the file holds nothing that begins like a message.
        """
        own = chosen(self, options)
        rows = one_of("rows", str(own["rows"]), ROWS)
        preset = preset_named(str(own["preset"]))
        stay = frozenset(str(own["dims"]).split(",")) - {""} or preset.stay
        layout = Presentation(preset, _dtype(str(own["dtype"])), rows == "straight", stay)
        size = source.size or 0
        far = "://" in source.url and not source.url.startswith("file:")
        known = (yield from from_index(source.url, size)) if far and own["sidecar"] else None
        found = yield from find_messages(size, far=far, known=known)
        if not found.messages and not found.damaged:
            raise CorruptFile(0, "no GRIB message in this file")
        fields, refused = yield from _fields(found)
        data, strange = read_data(fields)
        refused += [(placed.locator, error) for placed, error in strange]
        group, report = to_group(data, source, layout)
        report += refused_fields(refused)
        return replace(group, report=tuple(report))


def _dtype(name: str) -> np.dtype[Any]:
    return DTYPES[one_of("dtype", name, DTYPES)]


def _fields(found: MessageChain) -> Parse[tuple[list[Placed], list[tuple[str, FileFault]]]]:
    """All fields, and the places that have none with the reason."""
    refused: list[tuple[str, FileFault]] = [(f"off/{d.offset}", d.error) for d in found.damaged]
    fields: list[Placed] = []
    outcomes = yield from read_fields(found.messages)
    for message, outcome in zip(found.messages, outcomes, strict=True):
        if isinstance(outcome, FileFault):
            refused.append((f"off/{message.offset}", outcome))
        else:
            fields += outcome
    return fields, refused


SCANNER = GribScanner()
