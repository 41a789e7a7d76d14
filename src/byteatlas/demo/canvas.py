"""A sheet to draw on: text, lines, images and colour scales, in the few ways that the demonstration needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage
    from PIL.ImageDraw import ImageDraw as PillowDraw

Colour: TypeAlias = tuple[int, int, int]
Anchor: TypeAlias = Literal["left", "middle", "right"]

PAPER: Colour = (252, 251, 248)
INK: Colour = (34, 38, 46)
SOFT: Colour = (112, 118, 130)
FAINT: Colour = (224, 222, 215)
LAND: Colour = (205, 201, 190)

THERMAL = np.array(
    [
        (6, 30, 62), (18, 44, 108), (37, 62, 150), (49, 94, 178), (60, 134, 190), (92, 172, 190), (146, 203, 184),
        (202, 226, 178), (244, 232, 160), (250, 204, 104), (244, 160, 66), (226, 104, 48), (188, 52, 42), (134, 20, 42),
    ],
    float,
)  # fmt: skip
"""From cold to warm, evenly spaced."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, half-open."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top


def thermal(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    """RGB for values; NaN is drawn as land. Shape (..., 3)."""
    at = np.nan_to_num((values - low) / (high - low)).clip(0, 1) * (len(THERMAL) - 1)
    below = np.minimum(at.astype(int), len(THERMAL) - 2)
    part = (at - below)[..., None]
    rgb = THERMAL[below] * (1 - part) + THERMAL[below + 1] * part
    rgb[np.isnan(values)] = LAND
    return np.asarray(rgb.round().astype(np.uint8))


class Canvas:
    """A Pillow image with fonts. Coordinates are pixels from the upper left corner."""

    def __init__(self, width: int, height: int) -> None:
        try:
            from PIL import Image, ImageDraw
        except ImportError as error:
            raise MissingExtra("demo", "drawing the picture") from error
        self.image: PillowImage = Image.new("RGB", (width, height), PAPER)
        self.draw: PillowDraw = ImageDraw.Draw(self.image)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int = 18,
        colour: Colour = INK,
        anchor: Anchor = "left",
        *,
        bold: bool = False,
    ) -> None:
        """Text whose vertical middle is at ``y``."""
        from PIL import ImageFont

        font = ImageFont.load_default(size)
        where = {"left": "lm", "middle": "mm", "right": "rm"}[anchor]
        self.draw.text((x, y), text, colour, font, where, stroke_width=0.5 if bold else 0, stroke_fill=colour)

    def width_of(self, text: str, size: int) -> float:
        from PIL import ImageFont

        return float(ImageFont.load_default(size).getlength(text))

    def sideways(self, x: float, y: float, text: str, size: int = 16, colour: Colour = SOFT) -> None:
        """Text that runs upwards, centred at (x, y)."""
        from PIL import Image, ImageDraw, ImageFont

        font = ImageFont.load_default(size)
        patch = Image.new("RGB", (int(font.getlength(text)) + 4, size + 8), PAPER)
        ImageDraw.Draw(patch).text((2, (size + 8) / 2), text, colour, font, "lm")
        turned = patch.rotate(90, expand=True)
        self.image.paste(turned, (round(x - turned.width / 2), round(y - turned.height / 2)))

    def picture(self, box: Box, rgb: NDArray[np.uint8]) -> None:
        """An image whose first row is on top, stretched over a box without smoothing: cells stay cells."""
        from PIL import Image

        self.image.paste(
            Image.fromarray(rgb).resize((box.width, box.height), Image.Resampling.NEAREST), (box.left, box.top)
        )

    def frame(self, box: Box, colour: Colour = SOFT) -> None:
        self.draw.rectangle((box.left - 1, box.top - 1, box.right, box.bottom), outline=colour)

    def fill(self, box: Box, colour: Colour, radius: int = 0) -> None:
        if box.width > 0 and box.height > 0:
            self.draw.rounded_rectangle((box.left, box.top, box.right - 1, box.bottom - 1), radius, fill=colour)

    def line(self, x0: float, y0: float, x1: float, y1: float, colour: Colour = SOFT, width: int = 1) -> None:
        self.draw.line((x0, y0, x1, y1), colour, width)

    def scale(self, box: Box, low: float, high: float, ticks: tuple[float, ...], unit: str) -> None:
        """A horizontal colour bar with its numbers below."""
        self.picture(box, thermal(np.linspace(low, high, box.width)[None, :], low, high))
        self.frame(box)
        for tick in ticks:
            x = box.left + (tick - low) / (high - low) * box.width
            self.line(x, box.bottom, x, box.bottom + 5)
            self.text(x, box.bottom + 16, f"{tick:g}", 15, SOFT, "middle")
        self.text(box.right + 14, (box.top + box.bottom) / 2, unit, 15, SOFT)
