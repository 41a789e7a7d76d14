"""The command line. Each command's module is imported only when that command runs, and nothing for ``--help`` alone."""


def main() -> None:
    """Entry point of the ``byteatlas`` command."""
    import sys

    if sys.argv[1:] in (["--help"], ["-h"]):
        from byteatlas.cli.overview import overview, terminal_columns

        status = _printed(overview(terminal_columns()))
    else:
        from byteatlas.cli.app import run

        status = run()
    sys.exit(status)


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
