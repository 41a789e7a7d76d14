"""What a field is of, in the same terms for both editions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from byteatlas.types import JSON

ProductKeys: TypeAlias = Mapping[str, JSON]
"""Numbers of the sections under the names that ecCodes gives them; None where all bits are set ("missing")."""


class Level(NamedTuple):
    """Where a field is in the vertical.

    Attributes:
        kind: the type of the level, a name of `tables.levels`.
        first, second: its value, and that of the lower bound of a layer; None where the type has none.
        units: of the values.
    """

    kind: str
    first: float | None
    second: float | None
    units: str


class Times(NamedTuple):
    """When a field is of. All in whole seconds.

    Attributes:
        reference: since 1970-01-01, proleptic Gregorian calendar; None where the file does not say a date.
        begin, end: of the time that the values are of, counted from the reference. Equal for values at an instant.
        process: how the values over the time were made: ``instant``, ``accum``, ``avg``, ``max`` ...
    """

    reference: int | None
    begin: int
    end: int
    process: str


class Product(NamedTuple):
    """The meaning of one field.

    Attributes:
        edition, centre: as numbers.
        primary: what the tables of parameters are looked up by: ``discipline.category.number`` in edition 2,
            ``table.parameter`` in edition 1.
        member: number in an ensemble; None outside of one.
        axes: other numbers that a field has a value of, and that may be dimensions: percentile, threshold, tile ...
        details: what else tells one variable from another, such as a constituent or a kind of probability.
        origins: what tells fields apart that are the same but for the way they were made.
    """

    edition: int
    centre: int
    primary: str
    keys: ProductKeys
    level: Level
    times: Times
    member: int | None = None
    axes: tuple[tuple[str, float], ...] = ()
    details: tuple[tuple[str, JSON], ...] = ()
    origins: tuple[tuple[str, JSON], ...] = ()
