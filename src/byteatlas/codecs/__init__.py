"""Bytes to arrays and back. No I/O."""
