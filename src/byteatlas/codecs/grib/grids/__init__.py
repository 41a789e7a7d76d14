"""Grids: rows and their order, and what the parameters of a grid make of its coordinates."""
