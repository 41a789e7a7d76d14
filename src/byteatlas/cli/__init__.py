"""The command line. Each command's module is imported only when that command runs."""

from byteatlas.cli.app import main

__all__ = ["main"]
