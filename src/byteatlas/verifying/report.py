"""What a verification found."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from byteatlas.importing import report_of, shown_as_html
from byteatlas.meta.text import cut_short
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

    >>> ba.verify("jan.nc").items[-1]
    VerifyItem(path='air', status='equal', detail='', values=64, files=1)
    """

    path: str
    status: Status
    detail: str = ""
    values: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class VerifyReport:
    """All arrays of a map or an archive.

    >>> found = ba.verify("jan.nc")
    >>> found.ok, found.counts, found.values
    (True, {'equal': 4}, 78)
    """

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

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items()) or "no arrays"
        told = [f"{i.path}: {i.status}: {i.detail}".removesuffix(": ") for i in self.items if i.status != "equal"]
        return "\n  ".join([f"<VerifyReport {self.target}: {counts}, {self.values} values>", *cut_short(told)])

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
