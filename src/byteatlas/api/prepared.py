"""A combination that was looked at, whose result is a tree that knows how its bytes may be reached."""

from __future__ import annotations

from dataclasses import dataclass, fields

from byteatlas.api.tree import VirtualTree, tree
from byteatlas.combining.plan import Prepared
from byteatlas.io.access import DEFAULT, Access


@dataclass(frozen=True, slots=True, repr=False)
class PreparedTree(Prepared):
    """What `byteatlas.prepare_combine` gives."""

    access: Access = DEFAULT

    def result(self) -> VirtualTree:
        """The combined group. Raises `Conflict` when there are conflicts."""
        return tree(Prepared.result(self), self.access)


def prepared_tree(found: Prepared, access: Access) -> PreparedTree:
    """The same combination, with how its bytes may be reached."""
    return PreparedTree(**{f.name: getattr(found, f.name) for f in fields(Prepared)}, access=access)
