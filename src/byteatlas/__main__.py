"""``python -m byteatlas``."""

from byteatlas.cli import main

if __name__ == "__main__":
    main()
