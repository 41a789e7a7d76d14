"""Play the newcomer: a bare machine, the README's words, and every page as it stands.

    python docs/running/newcomer.py                                     # with this Python
    python docs/running/newcomer.py --only README,tutorial python3.11 python3.13

For each Python a fresh environment gets what the README says; each page then has a copy of that environment and an
empty folder, and runs from top to bottom, its ``pip install`` lines too. byteatlas itself is not fetched: pip finds a
wheel of this checkout. Files that a reader would bring are made beforehand, in an environment of their own with
``byteatlas[all]``. A step that fails, and a warning that is ours, are findings; the status is 1 when there are any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.running.blocks import ROOT, SHELLS, Page, pages, read_page

GIVEN = ROOT / "docs" / "running" / "given.py"
VERSION = "import sys; print(sys.version_info.major, sys.version_info.minor, sep='.', end='')"
DRIVER = """
import subprocess
space = {"__name__": "__main__"}
for place, language, text in BLOCKS:
    print("##", place, flush=True)
    if language == "python":
        exec(compile(text, place, "exec"), space)
    else:
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
"""


@dataclass(frozen=True)
class Machine:
    """A folder with nothing in it but an interpreter, and the environments that are made there."""

    folder: Path
    python: str

    @property
    def fresh(self) -> Path:
        """The environment as the README's words leave it; kept as it is."""
        return self.folder / "fresh"

    @property
    def own(self) -> Path:
        """The environment of the page that is tried now."""
        return self.folder / "own"

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def environment(self, environment: Path | None) -> dict[str, str]:
        """The variables of a shell in which an environment is active; ``python3`` is the interpreter."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "PYENV"))}
        first = [str(environment / "bin")] if environment else []
        kept["PATH"] = os.pathsep.join([*first, str(self.folder / "bin"), kept["PATH"]])
        more = {"PIP_FIND_LINKS": str(self.folder / "dist"), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
        return kept | more | {"PYTHONWARNINGS": "default", "COLUMNS": "100"}

    def run(self, command: list[str], at: Path, environment: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=at, env=self.environment(environment), capture_output=True, text=True, timeout=1800
        )

    def must(self, command: list[str], at: Path, environment: Path | None = None) -> None:
        """Run what every page builds on. Raises `SystemExit` with its output when it fails."""
        done = self.run(command, at, environment)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def install_line(readme: Page) -> str:
    """The README's words for installing: its first block that is nothing but ``pip install``."""
    return next(b.text for b in readme.blocks if b.language == "sh" and b.text.startswith("pip install"))


def prepare(machine: Machine) -> None:
    """The interpreter, a copy of the checkout, the wheel that pip finds, and the two environments."""
    (machine.folder / "bin").mkdir()
    (machine.folder / "bin" / "python3").symlink_to(machine.python)
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (machine.checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, machine.checkout / name)
    wheel = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(machine.folder / "dist"), "."]
    maker = machine.folder / "maker"
    for environment in (maker, machine.own):
        machine.must(["python3", "-m", "venv", str(environment)], machine.folder)
    machine.must(["python", *wheel], machine.checkout, maker)
    machine.must(["python", "-m", "pip", "install", "byteatlas[all]"], machine.folder, maker)
    words = install_line(read_page(ROOT / "README.md"))
    machine.must(["bash", "-euo", "pipefail", "-c", words], machine.checkout, machine.own)
    machine.own.rename(machine.fresh)  # scripts name their environment: it was made where it is used


def program(blocks: list[tuple[str, str, str]]) -> str:
    """A program that runs blocks (place, language, text) in order, in one namespace and one folder."""
    return f"BLOCKS = {blocks!r}\nif __name__ == '__main__':\n" + "".join(f"    {x}\n" for x in DRIVER.splitlines())


def tried(machine: Machine, page: Page) -> str:
    """One page in a folder and an environment of its own. Returns what is wrong, or nothing."""
    blocks = [(b.place, b.language, b.text) for b in page.running()]
    if machine.own.exists():
        shutil.rmtree(machine.own)
    machine.must(["cp", "-al", str(machine.fresh), str(machine.own)], machine.folder)  # links: pip replaces files
    folder = machine.checkout if page.path.name == "README.md" else Path(tempfile.mkdtemp(dir=machine.folder))
    if folder != machine.checkout:
        (folder / "fixtures").symlink_to(machine.checkout / "fixtures")
    for name in page.given:
        machine.must(["python", str(GIVEN), name], folder, machine.folder / "maker")
    (folder / ".page.py").write_text(program(blocks), encoding="utf-8")
    done = machine.run(["python", ".page.py"], folder, machine.own)
    said = [line for line in done.stderr.splitlines() if "Warning" in line and "byteatlas" in line]
    if done.returncode:
        return f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return "\n".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--only", default="", help="names of pages, with commas")
    arguments = parser.parse_args()
    chosen = [p for p in map(read_page, pages()) if not arguments.only or p.path.stem in arguments.only.split(",")]
    wrong = 0
    for python in arguments.pythons:
        with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
            machine = Machine(Path(folder).resolve(), str(Path(shutil.which(python) or python).absolute()))
            prepare(machine)
            version = machine.run(["python3", "-c", VERSION], machine.folder).stdout
            for page in chosen:
                if tuple(map(int, version.split("."))) < page.python:
                    print(f"{python}: {page.path.relative_to(ROOT)}: for Python {page.python} and later")
                    continue
                start, count = time.monotonic(), len(page.running())
                steps = sum(len(b.text.splitlines()) if b.language in SHELLS else 1 for b in page.running())
                finding = tried(machine, page) if count else ""
                wrong += bool(finding)
                verdict = "FAILED" if finding else "ok" if count else "nothing to run"
                name = page.path.relative_to(ROOT)
                print(f"{python}: {name}: {steps} steps, {time.monotonic() - start:.0f} s: {verdict}", flush=True)
                if finding:
                    print(finding, flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
