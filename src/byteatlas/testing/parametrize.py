"""The kit in pytest: one test for each file and check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from byteatlas.testing.case import Case
from byteatlas.testing.checks import CHECKS, ScannerCheck

Test = TypeVar("Test", bound=Callable[..., Any])


def each_check(cases: Iterable[Case], checks: Iterable[ScannerCheck] = CHECKS) -> Callable[[Test], Test]:
    """A decorator for a test that takes ``case`` and ``check``.

    ::

        @each_check([Case.of(SCANNER, path) for path in FILES])
        def test_conforms(case: Case, check: ScannerCheck) -> None:
            assert_conforms(case, [check])
    """
    import pytest

    every = list(checks)
    pairs = [pytest.param(case, check, id=f"{case.name}-{check.__name__}") for case in cases for check in every]
    return pytest.mark.parametrize(("case", "check"), pairs)
