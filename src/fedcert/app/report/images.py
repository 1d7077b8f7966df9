"""Small images inside a page: PNG files as data URIs, one pixel per number."""

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

BLUE = (0, 114, 178)
GREY, COLOUR_ALPHA = 0, 6  # PNG's codes for what a pixel holds


def input_image(x: Float[np.ndarray, "p"], shape: tuple[int, int]) -> str:
    """An input of a network, in shades of grey.

    Args:
        x: values in [0, 1].
        shape: rows and columns of the image.
    """
    return _data_uri(np.rint(255 * x).astype(np.uint8).reshape(*shape, 1), GREY)


def heat_map(counts: Sequence[Sequence[int]]) -> str:
    """Counts as shades of blue on a transparent background.

    Args:
        counts: rows of numbers ≥ 0, all of the same length.
    """
    alpha = np.rint(255 * np.array(counts) / max(1, max(map(max, counts)))).astype(np.uint8)
    return _data_uri(np.dstack([*(np.full_like(alpha, part) for part in BLUE), alpha]), COLOUR_ALPHA)


def _data_uri(pixels: UInt8[np.ndarray, "rows columns channels"], colour: int) -> str:
    rows, columns, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # PNG filter type 0: not filtered
    header = struct.pack(">IIBBBBB", columns, rows, 8, colour, 0, 0, 0)
    parts = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
