"""Where in which document an error is: said once, at the edge that knows it, and not by every check.

Checks deep inside of a document raise ``invalid("level 99 is not between 0 and 9")``. On its way out the error passes
`InMember` and `InNode` blocks, and each adds its part in front: the member (``codecs``), then the node (``air``).
"""

from __future__ import annotations

from types import TracebackType

from byteatlas.errors import InvalidMetadata, Unsupported


def invalid(why: str) -> InvalidMetadata:
    """An error without a place; the edges that it passes add it."""
    return InvalidMetadata("", why)


class InMember:
    """A block whose `InvalidMetadata` are about this member of a document.

    >>> try:
    ...     with InNode("air"), InMember("codecs"):
    ...         raise invalid("a list with at least one codec is needed")
    ... except InvalidMetadata as error:
    ...     print(error)
    air: codecs: a list with at least one codec is needed
    """

    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The error itself is changed, so that its traceback begins at the check that failed.
        if error is not None and self.place:
            self._add(error)

    def _add(self, error: BaseException) -> None:
        if isinstance(error, InvalidMetadata):
            InvalidMetadata.__init__(error, error.where, f"{self.place}: {error.why}")


class InNode(InMember):
    """A block whose errors are about this array or group: their ``where``, and an `Unsupported`'s ``path``."""

    __slots__ = ()

    def _add(self, error: BaseException) -> None:
        match error:
            case InvalidMetadata(where=where, why=why):
                InvalidMetadata.__init__(error, f"{self.place}: {where}" if where else self.place, why)
            case Unsupported(reason=reason, detail=detail, path=None):
                Unsupported.__init__(error, reason, detail, self.place)
