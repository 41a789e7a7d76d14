"""A repository that is open for writing: made or found, its branch, its configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from byteatlas.errors import Conflict, NotFound, unknown
from byteatlas.io.access import Access
from byteatlas.io.local import is_repository, local_path
from byteatlas.manifest.foreign.icechunk.containers import Containers
from byteatlas.manifest.foreign.icechunk.options import MANIFEST_SIZE, IcechunkOptions
from byteatlas.manifest.foreign.icechunk.storage import container_credentials, library, storage_of, wait
from byteatlas.manifest.tree import WrittenArray
from byteatlas.types import Shape


def opened(where: str | os.PathLike[str] | Any, options: IcechunkOptions, access: Access) -> Any | None:
    """The repository that is there; None when there is none, which only ``create`` and ``replace`` make new.

    Raises `NotFound` where one is to be appended to.
    """
    ice = library()
    path = local_path(os.fspath(where)) if isinstance(where, (str, os.PathLike)) else None
    there = path is None or is_repository(path)  # icechunk 1 makes a folder while it looks
    storage = storage_of(where, access) if there else None
    if there and ice.Repository.exists(storage):
        return ice.Repository.open(storage)
    if options.mode == "append":
        raise NotFound(f"no Icechunk repository at {where}: mode='create' makes one")
    return None


def known_containers(repository: Any | None) -> dict[str, str | None]:
    """Prefix -> name of the containers of a repository."""
    there = {} if repository is None else repository.config.virtual_chunk_containers or {}
    return {prefix: getattr(c, "name", None) for prefix, c in there.items()}


def configured(
    repository: Any | None,
    where: str | os.PathLike[str] | Any,
    arrays: Sequence[WrittenArray],
    containers: Containers,
    options: IcechunkOptions,
    access: Access,
) -> Any:
    """The repository, made where there is none, with the containers that are needed in its saved configuration."""
    ice, storage = library(), storage_of(where, access)
    config = ice.RepositoryConfig.default() if repository is None else repository.config
    if repository is None:
        config.manifest = _splitting(ice, arrays)
    elif not containers.made:
        return repository
    containers.add_to(config)
    prefixes = [*(config.virtual_chunk_containers or {})]
    given = {p: options.credentials.get(p) or container_credentials(p, access) for p in prefixes}
    allowed = ice.containers_credentials(given) if prefixes else None
    how = ice.Repository.create if repository is None else ice.Repository.open
    found = how(storage, config, authorize_virtual_chunk_access=allowed)
    found.save_config()
    return found


def _splitting(ice: Any, arrays: Sequence[WrittenArray]) -> Any:
    """Manifest files of bounded size: appending to an archive writes the last one again, not all."""
    by_split: dict[Shape, list[str]] = {}
    for array in arrays:
        if array.manifest.grid_shape:
            by_split.setdefault(split_shape(array.manifest.grid_shape), []).append(re.escape(array.path))
    along = ice.ManifestSplitDimCondition.Axis
    sizes = {
        ice.ManifestSplitCondition.path_matches(f"^/?({'|'.join(paths)})$"): {along(i): n for i, n in enumerate(shape)}
        for shape, paths in by_split.items()
    }
    if not sizes:
        return ice.ManifestConfig()
    return ice.ManifestConfig(splitting=ice.ManifestSplittingConfig.from_dict(sizes))


def split_shape(counts: Shape, size: int = MANIFEST_SIZE) -> Shape:
    """How many chunks along each axis one manifest file has. The first axis may grow, so it is cut in any case.

    >>> split_shape((30, 300)), split_shape((4, 5, 100_000)), split_shape((7, 1 << 20))
    ((436, 300), (1, 1, 100000), (1, 131072))
    """
    shape: list[int] = []
    left = size
    for n in reversed(counts[1:]):
        shape.append(max(1, min(n, left)))
        left = max(1, left // shape[-1])
    return (max(1, left), *reversed(shape))


def session_on(repository: Any, options: IcechunkOptions, where: object) -> Any:
    """A session that writes to the branch, which is made where there is none.

    Raises `Conflict` for a branch that holds something already and was to be new.
    """
    branch = options.branch
    if branch not in repository.list_branches():
        if options.mode == "append":
            raise unknown("branch", branch, sorted(repository.list_branches()))
        first = list(repository.ancestry(branch="main"))[-1]
        repository.create_branch(branch, snapshot_id=first.id)
    session = repository.writable_session(branch)
    if options.mode == "create" and not wait(session.store.is_empty("")):
        what = f"{where} holds data in branch {branch!r}"
        raise Conflict([f"{what}: mode='append' adds to it, mode='replace' takes its place"], "write")
    return session
