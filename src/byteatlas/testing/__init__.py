"""A conformance kit for scanners, of this package and of third parties: does a scanner keep the contract?

::

    from byteatlas.testing import Case, assert_conforms

    def test_my_scanner() -> None:
        assert_conforms(Case.of(SCANNER, "fixtures/small.mine"))

What is checked: the file is recognised, and others are not; a second scan gives the same; the report is complete; a
file that is cut off, or claims absurd sizes, gives a fault of the file and nothing else, in bounded time; a failure
of the network at any ask ends the scan with URL and range. Small files are best: every ask is one more scan.
"""

from byteatlas.testing.case import Case
from byteatlas.testing.checks import CHECKS, Deviation, ScannerCheck, assert_conforms, conform
from byteatlas.testing.fingerprint import fingerprint
from byteatlas.testing.parametrize import each_check

__all__ = ["CHECKS", "Case", "Deviation", "ScannerCheck", "assert_conforms", "conform", "each_check", "fingerprint"]
