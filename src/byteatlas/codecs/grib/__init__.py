"""GRIB editions 1 and 2 (WMO Manual on Codes, volume I.2): sections of messages, and decoders of their values."""
