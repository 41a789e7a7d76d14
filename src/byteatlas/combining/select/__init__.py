"""Selecting and masking parts of virtual groups, by index and by coordinate value."""
