"""How far a copy has come: a record in the store itself, so that one that was stopped can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping

from byteatlas.errors import Conflict, shortlist
from byteatlas.store.base import UNFINISHED, WritableStore
from byteatlas.store.documents import load_object
from byteatlas.store.nodes import Nodes
from byteatlas.types import JSON
from byteatlas.values import dataclass


@dataclass(slots=True)
class Journal:
    """How many regions of each array are done.

    Attributes:
        prints: what makes the copy of each array the same as another.
        done: regions by array path.
    """

    store: WritableStore
    prints: Mapping[str, str]
    done: dict[str, int]

    @staticmethod
    def load(store: WritableStore, prints: Mapping[str, str], *, resume: bool) -> Journal:
        """The record in a store, or a new one in an empty store.

        Raises `Conflict` for a store that holds something else, or the copy of something else.
        """
        data = store.get(UNFINISHED)
        if data is None:
            if Nodes(store, consolidated=False).kind("") is not None:
                raise Conflict([f"{store.url} holds Zarr nodes already"], "copy")
            if names := store.names(""):
                raise Conflict(
                    [f"{store.url} is no copy, and not empty either: it holds {shortlist(names, 3)}"], "copy"
                )
            return Journal(store, prints, {})
        if not resume:
            raise Conflict([f"{store.url} holds an unfinished copy (resume takes it up)"], "copy")
        found = load_object(data, f"{store.url}/{UNFINISHED}")
        if found.get("arrays") != dict(prints):
            raise Conflict([f"{store.url} holds an unfinished copy of another source, or with other options"], "copy")
        done: dict[str, JSON] = found.get("done", {})
        return Journal(store, prints, {str(k): int(v) for k, v in done.items()})

    def mark(self, path: str, count: int) -> None:
        self.done[path] = count
        self.save()

    def save(self) -> None:
        self.store.set(UNFINISHED, json.dumps({"arrays": dict(self.prints), "done": self.done}).encode())

    def close(self) -> None:
        """The copy is complete."""
        self.store.delete(UNFINISHED)
