"""Chunk indexes of every kind, read into one table."""
