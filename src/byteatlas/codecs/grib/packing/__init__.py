"""Packings: the data section of a field to its coded values, bit by bit what ecCodes gives."""
