"""What a verification found."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from byteatlas.importing import report_of, shown_as_html
from byteatlas.types import JSON
from byteatlas.values import dataclass

Status: TypeAlias = Literal["equal", "different", "error", "damaged", "lost", "refused", "unchecked"]
BAD: tuple[Status, ...] = ("different", "error", "damaged", "lost")


@dataclass(frozen=True, slots=True)
class VerifyItem:
    """One array.

    Attributes:
        path: its path in the hierarchy.
        status: ``equal``; ``different``; ``error``: our engine failed where the format's library did not; ``damaged``:
            both fail; ``lost``: the file has it, the map neither has it nor refuses it; ``refused`` by the scan;
            ``unchecked``: nothing to compare with, the detail says why.
        detail: a sentence; for ``different`` the first place and both values.
        values: how many values were compared.
        files: how many files they came from.
    """

    path: str
    status: Status
    detail: str = ""
    values: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """All arrays of a map or an archive."""

    target: str
    items: tuple[VerifyItem, ...]

    @property
    def ok(self) -> bool:
        """Nothing differs, fails, is damaged or lost. Refused and unchecked arrays promise nothing and do not count."""
        return not any(item.status in BAD for item in self.items)

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(item.status for item in self.items))

    @property
    def values(self) -> int:
        """Values compared, all arrays together."""
        return sum(item.values for item in self.items)

    def html(self) -> str:
        """A page about it: see `byteatlas.report`."""
        return report_of(self)

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)

    def document(self) -> JSON:
        """For JSON."""
        items = [
            {"path": i.path, "status": i.status, "detail": i.detail, "values": i.values, "files": i.files}
            for i in self.items
        ]
        return {"target": self.target, "ok": self.ok, "counts": self.counts, "values": self.values, "arrays": items}
