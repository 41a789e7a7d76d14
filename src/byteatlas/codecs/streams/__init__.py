"""Compressed streams that several codecs read: what they have in common, whoever framed them."""
