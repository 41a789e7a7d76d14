"""Colours of the demonstration's picture, told apart with any kind of colour vision."""

from __future__ import annotations

PAPER = "#fcfbf8"
INK = "#22262e"
SOFT = "#667080"
FAINT = "#e0ded7"
LAND = "#cdc9be"
STRUCTURE = "#d6d3cb"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a7a00", "#5a5a5a")
"""Okabe and Ito's colours, the yellow darkened for white paper."""
TEMPERATURE = "RdYlBu_r"
"""ColorBrewer's blue, yellow, red: no pair of ends that red-green blindness confuses."""
