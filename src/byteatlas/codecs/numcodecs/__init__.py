"""Codecs of numcodecs, imagecodecs and kerchunk, under the names that they have there."""
