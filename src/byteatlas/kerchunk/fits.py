"""``kerchunk.fits``: references to one FITS file."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from byteatlas.api.indexing import scan
from byteatlas.errors import unknown
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import access_to, handed_out
from byteatlas.kerchunk.single import references_to
from byteatlas.kerchunk.utils import class_factory
from byteatlas.values import replace


def process_file(
    url: str,
    storage_options: Mapping[str, Any] | None = None,
    extension: int | str | Sequence[int | str] | None = None,
    inline_threshold: float | None = 100,
    primary_attr_to_group: bool = False,
    out: MutableMapping[str, Any] | None = None,
    **misspelt: object,
) -> Any:
    """References (version 0) to a FITS file. With kerchunk's arguments, but for ``extension``.

    Args:
        extension: names of the HDUs to keep (a number, of one that has no name); None = all of them.
        primary_attr_to_group: no choice here: the primary header's cards are attributes of the root.
    """
    refuse(misspelt, process_file)
    found = scan(url, format="fits", access=access_to(storage_options))
    if extension is not None:
        wanted = [extension] if isinstance(extension, (int, str)) else list(extension)
        known = [*found.arrays, *found.groups]
        names = {_name(item, known) for item in wanted}
        arrays = {name: array for name, array in found.arrays.items() if name in names}
        found = replace(found, arrays=arrays, groups={n: g for n, g in found.groups.items() if n in names})
    return handed_out(references_to(found, url, storage_options, inline_threshold or 0), out, 0)


def _name(item: int | str, known: list[str]) -> str:
    name = f"hdu_{item}" if isinstance(item, int) else item
    if name not in known:
        raise unknown("extension", name, known)
    return name


FitsToZarr = class_factory(process_file)
