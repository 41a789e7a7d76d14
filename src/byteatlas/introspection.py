"""Value classes as the standard library sees them: for `dataclasses.fields`, `dataclasses.replace` and `inspect`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def standard(name: str, fields: Mapping[str, tuple[Any, Any]], options: Mapping[str, bool], no_default: object) -> type:
    """A standard dataclass with the same fields.

    Args:
        fields: what `byteatlas.values.field` was told, and the annotation, by name.
        options: ``frozen``, ``eq``, ``repr``.
        no_default: stands for no default in ``fields``.
    """
    content: dict[str, Any] = {name: _field(f, no_default) for name, (f, _) in fields.items()}
    content["__annotations__"] = {name: annotation for name, (_, annotation) in fields.items()}
    made: type = dataclasses.dataclass(**options)(type(name, (), content))
    return made


def _field(f: Any, no_default: object) -> Any:
    if f.default_factory is not no_default:
        return dataclasses.field(default_factory=f.default_factory, init=f.init, repr=f.repr, compare=f.compare)
    if f.default is not no_default:
        return dataclasses.field(default=f.default, init=f.init, repr=f.repr, compare=f.compare)
    return dataclasses.field(init=f.init, repr=f.repr, compare=f.compare)


def signature(initializer: Callable[..., None]) -> inspect.Signature:
    """The parameters of a class, from its ``__init__``."""
    found = inspect.signature(initializer)
    return found.replace(parameters=list(found.parameters.values())[1:])
