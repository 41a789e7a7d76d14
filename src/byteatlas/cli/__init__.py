"""The command line. Each command's module is imported only when that command runs, and nothing for ``--help`` alone."""


def main() -> None:
    """Entry point of the ``byteatlas`` command."""
    import sys

    _reopen_closed()
    if sys.argv[1:] in (["--help"], ["-h"]):
        from byteatlas.cli.overview import overview, terminal_columns

        status = _printed(overview(terminal_columns()))
    else:
        status = _ran()
    sys.exit(status)


def _reopen_closed() -> None:
    """Streams that were closed before we began (``>&-``) are None in Python: what is written to them goes nowhere."""
    import os
    import sys

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _ran() -> int:
    """Run the command. The process is ours alone: its garbage is looked for more seldom, and not at its end.

    Searching all that was imported for circles takes a tenth of a command that scans one file.
    """
    import gc

    gc.set_threshold(20_000, 20, 20)
    try:
        from byteatlas.cli.app import run

        return run()
    finally:
        gc.freeze()


def _printed(text: str) -> int:
    """Print, and say how that went: 141 when the reader of our output went away (``| head``)."""
    import os
    import sys

    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would complain when it flushes
        return 141
    return 0
