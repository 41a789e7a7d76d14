"""Arguments by kerchunk's names: a misspelt one is an error that names the right one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from byteatlas.api.indexing import OnRefusal
from byteatlas.errors import BadRequest, unknown_text

ErrorPolicy: TypeAlias = Literal["warn", "raise", "ignore", "pdb"]
"""What kerchunk's ``error=`` may say."""
ON_REFUSAL: Mapping[str, OnRefusal] = {"warn": "warn", "ignore": "ignore", "raise": "raise", "pdb": "raise"}


def refuse(misspelt: Mapping[str, object], function: Callable[..., Any]) -> None:
    """Raise `BadRequest` for arguments that a function does not have."""
    if not misspelt:
        return
    found = inspect.signature(function).parameters.values()
    known = [p.name for p in found if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    raise BadRequest(unknown_text("argument", next(iter(misspelt)), known))


def on_refusal(error: str) -> OnRefusal:
    """What happens to datasets that cannot be represented. ``pdb`` raises: a debugger can be started from there."""
    if error not in ON_REFUSAL:
        raise BadRequest(unknown_text("error policy", str(error), ON_REFUSAL))
    return ON_REFUSAL[error]
