"""Codecs for TIFF's compressions, predictors and sample types."""
