"""Codecs of arrays that were combined from files with different encodings."""
