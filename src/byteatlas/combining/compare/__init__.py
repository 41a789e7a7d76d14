"""Which variables of different files are the same, and which differences change what values mean."""
