"""Install byteatlas into fresh environments of several versions of Python, and try the core in each.

    python docs/release/matrix.py                     # every python3.11 to python3.14 that is found
    python docs/release/matrix.py /opt/py/bin/python3.13 python3.14

Only the dependencies are installed, no extra: the core must do with these. Each line says what was tried; the status is
1 when a version failed, 2 when none was found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SAMPLE = "fixtures/hdf5"
SMOKE = """\
import sys, warnings
warnings.simplefilter("error")
from pathlib import Path
import byteatlas as ba
from byteatlas.cli.app import run

assert not {"h5py", "xarray", "zarr", "dask"} & set(sys.modules)
files = sorted(Path(sys.argv[1]).glob("*.h5"))
read = 0
for file in files:
    try:
        ba.write(ba.scan(file, on_refusal="ignore"), "map.json")
        root = ba.open("map.json")
        for _, node in root.walk():
            if isinstance(node, ba.Array):
                node[...]
                read += 1
    except ba.ByteatlasError as error:
        print(f"  {file.name}: {error}")
    finally:
        Path("map.json").unlink(missing_ok=True)
assert read > 10, read
assert run(["doctor"]) == 0
print(f"read {read} arrays of {len(files)} files")
"""


def found(names: list[str]) -> list[str]:
    """Interpreters that are there, by name or path; pyenv's are looked for too."""
    paths = [shutil.which(name) for name in names or [f"python{version}" for version in VERSIONS]]
    if not names:
        home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        for version in VERSIONS:
            paths += [str(p / "bin/python") for p in sorted(home.glob(f"{version}.*"))]
    works = {version: path for path in paths if path and (version := _version(path))}
    return list(works.values())


def _version(path: str) -> str:
    """The version of an interpreter; empty when it does not run (a shim of a version that is not there)."""
    done = subprocess.run([path, "-c", "import sys; print(sys.version[:6])"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def tried(python: str) -> bool:
    """One version, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "venv"
        own = fresh / ("Scripts" if os.name == "nt" else "bin") / "python"
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        commands = [
            [python, "-m", "venv", str(fresh)],
            [str(own), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(ROOT)],
            [str(own), "-c", SMOKE, str(ROOT / SAMPLE)],
        ]
        for command in commands:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"{python}: failed\n{done.stdout}{done.stderr}")
                return False
    print(f"Python {_version(python)} ({python}): {done.stdout.splitlines()[-1]}")
    return True


def main() -> int:
    interpreters = found(sys.argv[1:])
    if not interpreters:
        print("no interpreter was found")
        return 2
    return int(not min(map(tried, interpreters)))


if __name__ == "__main__":
    sys.exit(main())
