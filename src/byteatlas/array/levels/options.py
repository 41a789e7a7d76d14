"""Which levels a copy gets."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from byteatlas.arguments import TEXT, TEXTS, accept_fields
from byteatlas.errors import BadRequest, unknown_text
from byteatlas.values import dataclass

Resampling: TypeAlias = Literal["nearest", "mean", "mode"]
MOST_FACTOR = 1 << 16


LEVEL_OPTIONS = {"resampling": TEXT, "arrays": TEXTS | None}


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """Overviews of rasters and grids: arrays whose last two axes are y and x.

    Attributes:
        factors: of each level, relative to the finest; rising. None = 2, 4, 8 ... until an image is small.
        until: elements; with ``factors`` None, the last level's longer side is not longer than this.
        resampling: ``mean`` leaves out missing values (NaN, ``_FillValue``, ``missing_value``) and rounds to even in
            arrays of whole numbers; ``mode`` is the most frequent value, the smallest of several; ``nearest`` the value
            in the middle of a block.
        arrays: paths of the arrays that get levels; None = all rasters.

    >>> options = ba.CopyOptions(levels=ba.LevelOptions(factors=(2,)))
    >>> _ = ba.copy("land.tif", "land.zarr", options=options)
    >>> [node.path for level, node in ba.levels_of(ba.open("land.zarr"))]
    ['data', 'overview_1/data']
    """

    factors: tuple[int, ...] | None = None
    until: int = 512
    resampling: Resampling = "mean"
    arrays: frozenset[str] | None = None

    def __post_init__(self) -> None:
        accept_fields(LEVEL_OPTIONS, self)
        if self.resampling not in get_args(Resampling):
            raise BadRequest(unknown_text("resampling", str(self.resampling), get_args(Resampling)))
        if not _whole(self.until) or self.until < 1:
            raise BadRequest("until is a number of elements, at least 1")
        found = self.factors
        if found is not None and not _rising(found):
            raise BadRequest(f"factors are rising whole numbers from 2 to {MOST_FACTOR}, such as (2, 4, 8)")

    def factors_for(self, height: int, width: int) -> tuple[int, ...]:
        """The factors of an image's levels.

        >>> LevelOptions(until=256).factors_for(1000, 600)
        (2, 4)
        """
        if self.factors is not None:
            return tuple(f for f in self.factors if f < 2 * max(height, width))
        found, factor = [], 2
        while -(-max(height, width) * 2 // factor) > self.until:
            found.append(factor)
            factor *= 2
        return tuple(found)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _rising(factors: object) -> bool:
    """Whether these are factors: whole numbers, each larger than the one before."""
    if not isinstance(factors, tuple | list) or not factors or not all(map(_whole, factors)):
        return False
    return list(factors) == sorted(set(factors)) and factors[0] >= 2 and factors[-1] <= MOST_FACTOR
