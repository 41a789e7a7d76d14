"""Structure without data: `to_model`, `from_model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from byteatlas.api.opening import Openable, how_for, opened
from byteatlas.api.targets import check_zarr_format, expect
from byteatlas.arguments import VERBS, accept, wrong
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.array import Node
    from byteatlas.meta.zom import Model
    from byteatlas.store.write import WriteTarget


def to_model(
    target: Openable | Node,
    *,
    path: str = "",
    depth: int | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> Model:
    """The Zarr object model (ZEP 6) of a store, a reference map or an archive: its structure, without its data.

    Args:
        target: what `open` takes, or a `Group` or `Array`.
        path: of the member to start from.
        depth: levels of members to go down; None = all.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.

    ``byteatlas.meta.zom`` has what can be done with a model: JSON, flat and consolidated forms, comparison, conversion.

    >>> model = ba.to_model("jan.nc")
    >>> sorted(model.members)
    ['air', 'lat', 'lon', 'time']
    """
    accept(VERBS, path=path)
    from byteatlas.array.models import model_of

    expect(path, str, "path")
    if depth is not None and (not isinstance(depth, int) or isinstance(depth, bool) or depth < 0):
        raise BadRequest("depth is a number of levels, 0 or more; None is all of them")
    return model_of(opened(target, path, how_for(target, access, storage_options, policy)), depth=depth)


def from_model(
    model: Model | Mapping[str, JSON],
    target: WriteTarget,
    *,
    path: str = "",
    zarr_format: Literal[2, 3] | None = None,
    overwrite: bool = False,
    consolidated: bool = False,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> None:
    """Create a hierarchy from a model (or its JSON form): groups, and arrays that hold their fill values.

    Args:
        target: where `copy` can write to. path: where in the store the model's root goes.
        zarr_format: the version to create; None = the model's.
        overwrite: remove what is there, chunks included; else that is a `Conflict`.
        access: how the target may be reached; ``storage_options`` is short for one.

    Nothing is written before all of it is known to be possible; the root appears last.

    >>> model = ba.to_model("jan.nc")
    >>> _ = ba.from_model(model, "empty.zarr")
    >>> ba.open("empty.zarr")["air"].shape
    (2, 4, 8)
    """
    accept(VERBS, path=path, overwrite=overwrite, consolidated=consolidated)
    from byteatlas.array.models import create_from_model
    from byteatlas.meta.zom import Model
    from byteatlas.store.write import writable

    check_zarr_format(zarr_format)
    if not isinstance(model, (Mapping, Model)):
        raise wrong("model", model, "what to_model gives, or its JSON form,")
    with writable(target, Access.of(access, storage_options)) as store:
        create_from_model(model, store, path, zarr_format=zarr_format, overwrite=overwrite, consolidated=consolidated)
