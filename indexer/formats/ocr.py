"""Recognise the text of scanned pages and of images, with RapidOCR on ONNX Runtime.

The models are part of the package `rapidocr`, so nothing is fetched. The walk leaves images out unless text recognition
is switched on.
"""

import logging
import warnings
from collections.abc import Iterator
from functools import cache
from statistics import median
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.pdf_layout import rows_of, text_of
from indexer.formats.pdf_segments import Segment

MAX_PIXELS = 12_000_000  # a page of A4 has 2,000,000 at 150 dots per inch; larger images are made smaller
MIN_SCORE = 0.5  # confidence of a line that is kept


class Image(Format):
    """Photographs and scans."""

    suffixes = frozenset({".png", ".jpg", ".jpeg"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        if not file.has_ocr:
            raise UnreadableError("image; `cdesearch index --ocr` reads the text in images")
        text = text_of(rows_of(recognise(_pixels(file.stream), 1.0)))
        yield Document.of(file, "", text)


def is_loaded() -> bool:
    """Whether the models are in memory."""
    return _engine.cache_info().currsize > 0


def recognise(image: Any, points: float) -> list[Segment]:
    """The lines of text in an image (height, width, blue-green-red), whose pixels have a width of `points`.

    All lines have the same font size, the median, because the height of a line depends on its letters.
    """
    found = _engine()(image, use_cls=False)
    if found.txts is None:
        return []
    lines = [
        (" ".join(text.split()), [float(edge) * points for edge in (*box.min(axis=0), *box.max(axis=0))])
        for text, box, score in zip(found.txts, found.boxes, found.scores, strict=True)
        if score >= MIN_SCORE and text.strip()
    ]
    size = median(bottom - top for _, (_, top, _, bottom) in lines) if lines else 0.0
    height = image.shape[0] * points
    return [Segment(text, left, right, height - bottom, size) for text, (left, _, right, bottom) in lines]


@cache
def _engine() -> Any:
    from cdesearch.encode.backends.onnx_import import import_onnxruntime

    import_onnxruntime()  # before RapidOCR imports it, because its telemetry is switched off here
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    one_thread = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "error", **one_thread})


def _pixels(stream: Any) -> Any:
    """The image (height, width, blue-green-red), made smaller if it is large; raises UnreadableError."""
    import numpy as np
    from PIL import Image as Pillow
    from PIL import ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            with Pillow.open(stream, formats=("PNG", "JPEG")) as opened:
                image = ImageOps.exif_transpose(opened).convert("RGB")
        if image.width * image.height > MAX_PIXELS:
            image.thumbnail((MAX_PIXELS**0.5, MAX_PIXELS**0.5))
        return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
    except MemoryError:
        raise
    except (Pillow.DecompressionBombWarning, Pillow.DecompressionBombError):
        raise UnreadableError(f"image of more than {Pillow.MAX_IMAGE_PIXELS:,} pixels") from None
    except Exception:  # Pillow raises many errors for broken images
        raise UnreadableError("broken image") from None
