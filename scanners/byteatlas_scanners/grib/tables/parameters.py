"""Parameters by their numbers: short name, name, units, CF standard name."""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.types import JSON
from byteatlas_scanners.grib.products.model import Product
from byteatlas_scanners.grib.tables.concepts import best

FILES = {1: "grib1.txt", 2: "grib2.txt"}
CHEMICAL = frozenset({40, 41, 42, 43})
AEROSOL = frozenset({44, 45, 46, 47, 50})
OPTICAL = frozenset({48, 49})
DISTRIBUTED = frozenset({57, 58, 67, 68})
SOURCE = frozenset({76, 77, 78, 79})


class Parameter(NamedTuple):
    """What is measured.

    Attributes:
        short: ecCodes' short name, ``unknown_...`` with the numbers where no table has it.
        number: ecCodes' ``paramId``, 0 for unknown ones.
        standard: CF standard name, or empty.
        variable: the name that cfgrib gives the variable.
    """

    short: str
    number: int
    name: str
    units: str
    standard: str
    variable: str

    @property
    def known(self) -> bool:
        return self.number != 0


def parameter_of(product: Product) -> Parameter:
    """The parameter of a product."""
    template = product.keys.get("productDefinitionTemplateNumber")
    keys: dict[str, JSON] = {**product.keys, **dict(product.details)}
    if "constituentType" in keys:
        keys["aerosolType"] = keys["constituentType"]
    if product.edition == 2:
        keys |= {
            "is_chemical": int(template in CHEMICAL),
            "is_chemical_distfn": int(template in DISTRIBUTED),
            "is_chemical_srcsink": int(template in SOURCE),
            "is_aerosol": int(template in AEROSOL),
            "is_aerosol_optical": int(template in OPTICAL),
        }
    row = best(FILES[product.edition], product.primary, product.centre, keys, dated=True)
    if row is None:
        short = f"unknown_{product.primary.replace('.', '_')}"
        return Parameter(short, 0, f"unknown parameter {product.primary}", "", "", short)
    short, number, name, units, standard, variable = row.values
    return Parameter(
        short, int(number or 0), name, "" if units == "~" else units, standard, variable or _variable(short)
    )


def _variable(short: str) -> str:
    """A name that is legal in netCDF and Python.

    >>> _variable("2t"), _variable("10u"), _variable("t")
    ('p2t', 'p10u', 't')
    """
    return f"p{short}" if short[:1].isdigit() else short
