"""kerchunk's own tests, with `byteatlas.kerchunk` in the place of its modules.

``BYTEATLAS_KERCHUNK_TESTS=FOLDER`` names a checkout of kerchunk's repository. What cannot pass is in `KNOWN`, each with
the row of docs/how-to/from-kerchunk.md that gives the reason; any other failure, and any of these that passes, fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from tests.places import ROOT

FOLDER = os.environ.get("BYTEATLAS_KERCHUNK_TESTS")
PAGE = ROOT / "docs" / "how-to" / "from-kerchunk.md"
FILES = ("hdf", "netcdf", "tiff", "utils", "df", "combine", "combine_concat")
KNOWN: Mapping[str, str] = {
    "test_hdf::test_string_pathlib": "text",
    "test_hdf::test_string_null": "vlen",
    "test_hdf::test_string_leave": "vlen",
    "test_hdf::test_string_decode": "vlen",
    "test_hdf::test_compound_string_null": "vlen",
    "test_hdf::test_compound_string_leave": "vlen",
    "test_hdf::test_compound_string_encode": "compound",
    "test_hdf::test_compress": "codecs",
    "test_hdf::test_small_chunks": "codecs",
    "test_tiff::test_one_class": "text",
    "test_utils::test_json": "private",
    "test_utils::test_encode_fill_value": "private",
    "test_utils::test_deflate_zip_archive": "deflate",
    "test_df::test_1[True]": "no-dtype",
    "test_df::test_1[False]": "no-dtype",
    "test_combine::test_chunk_error": "no-dtype",
    "test_combine::test_cftimes_to_normal": "calendar",
    "test_combine::test_inline": "whole-files",
    "test_combine::test_no_inline": "whole-files",
}
"""Tests -> the name of the difference."""
NOT_OURS = ("test_hdf::test_single", "test_hdf::test_single_direct_open", "test_hdf::test_multizarr")
"""Tests that need a network."""
ENVIRONMENT = ("test_combine::test_lazy_filler",)
"""Tests that may fail with kerchunk's own modules too: pandas 3 gives NaN where they expect None."""


def test_every_difference_stands_in_the_migration_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for reason in set(KNOWN.values()):
        assert f'<a id="{reason}">' in page, reason


if FOLDER:

    def test_kerchunks_own_tests(tmp_path: Path) -> None:
        assert FOLDER is not None
        found = _run(Path(FOLDER), tmp_path)
        failed = {name for name, passed in found.items() if not passed} - set(ENVIRONMENT)
        assert failed == set(KNOWN)
        assert sum(found.values()) > 50


def _run(folder: Path, scratch: Path) -> dict[str, bool]:
    """Tests by name -> whether they passed; skipped ones are left out."""
    (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    files = [str(folder / "tests" / f"test_{name}.py") for name in FILES]
    left_out = [f"--deselect=tests/{name.replace('::', '.py::')}" for name in NOT_OURS]
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.differential.kerchunk_alias",
        "-c", str(scratch / "pytest.ini"), "--rootdir", str(folder), "--import-mode=importlib",
        f"--junitxml={scratch / 'found.xml'}", *left_out, *files,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    subprocess.run(command, cwd=scratch, env=environment, capture_output=True, timeout=600, check=False)
    cases = ElementTree.parse(scratch / "found.xml").getroot().iter("testcase")
    return {
        f"{case.get('classname', '').rsplit('.', 1)[-1]}::{case.get('name')}": not any(
            case.findall(kind) for kind in ("failure", "error")
        )
        for case in cases
        if case.find("skipped") is None
    }
