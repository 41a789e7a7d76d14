"""The packages that byteatlas declares, by extra, and which of them are installed."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from byteatlas.values import dataclass

REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*(?P<versions>[^;]*?)\s*(?:;(?P<marker>.*))?$")
EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
PYTHON = re.compile(r"python_version\s*(>=|<)\s*['\"](\d+)\.(\d+)['\"]")
LEAST = re.compile(r">=\s*([\d.]+)")
FOR_DEVELOPERS = frozenset({"all", "test", "dev", "bench", "mutation", "docs"})


@dataclass(frozen=True, slots=True)
class PackageState:
    """A package that is declared.

    Attributes:
        extra: which asks for it; None: byteatlas itself.
        found: the version that is installed; None: none is.
        least: the least version that will do, as it is declared; empty: any.
    """

    name: str
    extra: str | None
    found: str | None
    least: str

    @property
    def ok(self) -> bool:
        return self.found is not None and numbers(self.found) >= numbers(self.least)

    @property
    def text(self) -> str:
        if self.found is None:
            return self.name
        return f"{self.name} {self.found}" + ("" if self.ok else f" (older than {self.least})")


def numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with.

    >>> numbers("2.10.0rc1"), numbers("")
    ((2, 10, 0), ())
    """
    found = []
    for part in text.split("."):
        digits = re.match(r"\d+", part)
        if digits is None:
            break
        found.append(int(digits[0]))
    return tuple(found)


def packages(declared: list[str] | None = None) -> list[PackageState]:
    """Every package that byteatlas declares for users on this version of Python.

    Args:
        declared: requirements as package metadata have them (PEP 508); None: those of the installed byteatlas, none
            where it runs without being installed.
    """
    if declared is None:
        try:
            declared = requires("byteatlas") or []
        except PackageNotFoundError:
            declared = []
    found = [state for text in declared if (state := _state(text)) is not None]
    return [state for state in found if state.extra not in FOR_DEVELOPERS and state.name != "byteatlas"]


def _state(requirement: str) -> PackageState | None:
    parts = REQUIREMENT.match(requirement.strip())
    if parts is None:
        return None
    marker = parts["marker"] or ""
    for sign, major, minor in PYTHON.findall(marker):
        here = sys.version_info[:2] >= (int(major), int(minor))
        if here != (sign == ">="):
            return None
    extra, least = EXTRA.search(marker), LEAST.search(parts["versions"].strip("() "))
    return PackageState(
        parts["name"], extra[1] if extra else None, version_of(parts["name"]), least[1] if least else ""
    )


def version_of(name: str) -> str | None:
    """The version of an installed package; None when it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
