"""What to verify, and how much of it."""

from __future__ import annotations

from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How much to compare.

    Attributes:
        sample: compare this many chunks of each array, spread at random (always the same ones); None = all values.
        attributes: compare attributes and dimension names as well.

    >>> ba.verify("jan.nc", options=ba.VerifyOptions(sample=2)).ok
    True
    """

    sample: int | None = None
    attributes: bool = True
