"""Grids: how many points in which order, and where they are (section 3; section 2 of edition 1)."""
