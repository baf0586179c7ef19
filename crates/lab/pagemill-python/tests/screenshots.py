"""Screenshots held against kept ones: a change of a page is seen here. A change detector, no judge of what is right.

What is kept is small: each pixel is the mean of a square of the screenshot. `PAGEMILL_KEEP_SCREENSHOTS=1 cargo xtask python` keeps new ones.
"""

import io
import os
import subprocess
from pathlib import Path

from PIL import Image, ImageChops

KEPT = Path(__file__).parent / "screenshots"
FONT = KEPT / "font.txt"
SQUARE_PIXELS = 20
# Shades of a color that are told apart.
SHADE = 8
# What a change of the browser's smoothing of edges stays under, of 255.
DIFFERENCE_MAX = 3 * SHADE
# Figures of a run may change in their last digits.
DIFFERENT_SHARE_MAX = 0.005

IS_KEEPING = bool(os.environ.get("PAGEMILL_KEEP_SCREENSHOTS"))


def font():
    """The font that pages without one of their own have here: with another one, every line may break elsewhere."""
    return subprocess.run(["fc-match", "sans-serif"], check=True, capture_output=True, text=True).stdout.strip()


def small(png):
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    size = [max(1, side // SQUARE_PIXELS) for side in picture.size]
    return picture.resize(size, Image.Resampling.BOX).point(lambda value: value // SHADE * SHADE)


def keep(name, png):
    KEPT.mkdir(exist_ok=True)
    small(png).save(KEPT / f"{name}.png", optimize=True)
    FONT.write_text(font() + "\n")


def difference(name, png):
    """What differs from the kept screenshot, in words; nothing if it is alike."""
    path = KEPT / f"{name}.png"
    if not path.exists():
        return f"{name}: none is kept"
    kept, taken = Image.open(path).convert("RGB"), small(png)
    if kept.size != taken.size:
        sizes = [" x ".join(str(side * SQUARE_PIXELS) for side in picture.size) for picture in (kept, taken)]
        return f"{name}: {sizes[0]} pixels before, {sizes[1]} now"
    channels = ImageChops.difference(kept, taken).split()
    most = ImageChops.lighter(ImageChops.lighter(*channels[:2]), channels[2])
    different = sum(most.histogram()[DIFFERENCE_MAX + 1 :])
    share = different / (kept.width * kept.height)
    if share <= DIFFERENT_SHARE_MAX:
        return ""
    left, top, right, bottom = (side * SQUARE_PIXELS for side in most.point(lambda value: 255 * (value > DIFFERENCE_MAX)).getbbox())
    return f"{name}: {share:.1%} of it differ, between ({left}, {top}) and ({right}, {bottom})"
