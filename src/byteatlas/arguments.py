"""What callers hand in, checked once where it comes in: one line that names the argument and says what it may be.

A name means the same in every verb, so what the verbs share is in one table (`VERBS`). Classes of options have tables
of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from operator import index
from typing import Any, NamedTuple

from byteatlas.errors import BadRequest

KNOWN = "known: "


class Kind(NamedTuple):
    """What an argument may be: a test, and the same in words.

    ``valued``: a wrong value is shown itself, not its type.
    """

    test: Callable[[Any], bool]
    words: str
    valued: bool = False

    def __or__(self, other: object) -> Kind:
        """``KIND | None``: the same, or nothing."""
        return Kind(lambda value: value is None or self.test(value), f"{self.words}, or None", self.valued)


def shown(value: object) -> str:
    """A value in a message: itself where it is short and plain, else its type.

    >>> shown("x"), shown(3), shown([3]), shown(int)
    ("'x'", '3', 'a list', 'the class int')
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    return f"the class {name}" if isinstance(value, type) else f"{'an' if name[:1] in 'aeiouAEIO' else 'a'} {name}"


def wrong(name: str, value: object, words: str, valued: bool = False) -> BadRequest:
    """The error for an argument that is not what it may be."""
    found = shown(value) if valued or isinstance(value, type) else type(value).__name__
    return BadRequest(f"{name} is {found}; {words}{'' if words.startswith(KNOWN) else ' was expected'}")


def accept(kinds: Mapping[str, Kind], **values: object) -> None:
    """Raise `BadRequest` for the first value that is not of its kind."""
    for name, value in values.items():
        kind = kinds[name]
        if not kind.test(value):
            raise wrong(name, value, kind.words, kind.valued)


def accept_fields(kinds: Mapping[str, Kind], options: object) -> None:
    """Raise `BadRequest` for the first field of options that is not of its kind."""
    accept(kinds, **{name: getattr(options, name) for name in kinds})


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or of NumPy; True and False are none."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return True
    try:
        return index(value) is not None
    except TypeError:
        return False


def is_number(value: object) -> bool:
    """Whether a value is a real number, of Python or of NumPy, NaN too; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(least: int = 0, most: int = (1 << 63) - 1) -> Kind:
    """A whole number within these bounds."""
    words = f"a whole number from {least}" + (f" to {most}" if most < (1 << 63) - 1 else " on")
    return Kind(lambda value: is_whole(value) and least <= value <= most, words, True)


def one_of(*known: object) -> Kind:
    """One of a few values."""
    return Kind(
        lambda value: isinstance(value, (str, int)) and not isinstance(value, bool) and value in known,
        f"{KNOWN}{', '.join(str(name) for name in known)}",
        True,
    )


def made_by(*kinds: type, words: str) -> Kind:
    """A value of one of these classes."""
    return Kind(lambda value: isinstance(value, kinds), words)


def listed(of: Kind, words: str) -> Kind:
    """A list or tuple (or any other collection that is no text) of one kind."""

    def test(value: object) -> bool:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            return False
        return not hasattr(value, "__len__") or all(of.test(item) for item in value)

    return Kind(test, words)


def _named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _path(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))


TEXT = made_by(str, words="text")
FLAG = made_by(bool, words="True or False")
FUNCTION = Kind(lambda value: callable(value) and not isinstance(value, type), "a function")
NUMBER = Kind(lambda value: is_number(value) and value == value, "a number", True)
FINITE = Kind(lambda value: NUMBER.test(value) and abs(value) < float("inf"), "a finite number", True)
PATH = Kind(_path, "a path or URL")
NAMED = Kind(_named, "a dict whose keys are text")
TEXTS = listed(TEXT, "a list of text")
VERBS: Mapping[str, Kind] = {
    "append": FLAG,
    "at_least": FINITE,
    "concat": Kind(lambda value: isinstance(value, str) or TEXTS.test(value), "a name or a list of names"),
    "attributes": NAMED | None,
    "consolidated": FLAG,
    "coo_map": NAMED | None,
    "dimension_names": listed(TEXT | None, "a list of text (or None for axes without a name)") | None,
    "fill": Kind(is_number, "a number", True) | None,
    "format": TEXT | None,
    "href": TEXT | None,
    "keep_cut": FLAG,
    "cut": FLAG,
    "look_in": listed(PATH, "a list of paths or URLs"),
    "looks": FLAG,
    "names": TEXTS | None,
    "normalise": FLAG,
    "on_refusal": one_of("warn", "raise", "ignore"),
    "overwrite": FLAG,
    "path": TEXT,
    "region": NAMED,
    "scanners": Kind(
        lambda value: NAMED.test(value) and all(hasattr(scanner, "priority") for scanner in value.values()),
        "a dict from names to scanners",
    )
    | None,
    "progress": FUNCTION | None,
    "replace": FLAG,
    "side_file": PATH | None,
    "title": TEXT | None,
    "urls": Kind(lambda value: PATH.test(value) or listed(PATH, "").test(value), "a list of paths or URLs"),
    "width": whole(1),
    "zarr_format": one_of(2, 3) | None,
}
"""The arguments that verbs share."""
