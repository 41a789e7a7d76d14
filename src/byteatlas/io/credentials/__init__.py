"""Credentials that are asked for when they are needed, and again when they expire."""
