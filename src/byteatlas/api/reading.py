"""What the verbs that look at values share: a way to read an array, and options from words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byteatlas.errors import BadRequest, unknown_text
from byteatlas.io.access import Access
from byteatlas.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from byteatlas.combining.model import CombineOptions, ReadArray
    from byteatlas.manifest.model import VirtualArray


def reader(access: Access) -> ReadArray:
    """A function that reads all of a virtual array."""
    from byteatlas.array import Array, open_node

    pool = access.pool()

    def read(array: VirtualArray) -> NDArray[Any]:
        opened = open_node(array, pool)
        if not isinstance(opened, Array):
            raise BadRequest("not an array")
        values: NDArray[Any] = opened[...]
        return values

    return read


def chosen(concat: str | Sequence[str], options: CombineOptions | None, more: Mapping[str, Any]) -> CombineOptions:
    """Options for combining: those given, with single ones by name, and the dimensions to concatenate along.

    Raises `BadRequest` for a name that is no option.
    """
    from byteatlas.combining.model import CombineOptions

    if options is not None and not isinstance(options, CombineOptions):
        raise BadRequest(f"options is {type(options).__name__}, CombineOptions was expected")
    check_options(CombineOptions, more)
    changed = replace(options or CombineOptions(), **more)
    if isinstance(concat, (tuple, list)) and not concat:
        return changed
    dims: Any = concat  # checked, and made a tuple, there
    return replace(changed, concat=dims)


def check_options(kind: type[Any], more: Mapping[str, Any]) -> None:
    """Raise `BadRequest` for a name that is no option of this kind."""
    from dataclasses import fields

    known = [f.name for f in fields(kind)]
    if strange := [name for name in more if name not in known]:
        raise BadRequest(unknown_text("option", strange[0], known))
