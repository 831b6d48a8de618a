"""Recognise the text of images, with RapidOCR on ONNX Runtime.

The models are part of the package `rapidocr`, so nothing is fetched.
"""

import logging
from functools import cache
from importlib.util import find_spec
from statistics import median
from typing import Any

from cdesearch.encode.backends.onnx_import import import_onnxruntime
from indexer.formats.pdf_segments import Segment

MAX_PIXELS = 12_000_000  # a page of A4 has 2,000,000 at 150 dots per inch; larger images are made smaller
MIN_SCORE = 0.5  # confidence of a line that is kept


def is_installed() -> bool:
    """Whether the extra `ocr` is installed."""
    return find_spec("rapidocr") is not None


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
        (text, box)
        for text, box, score in zip(found.txts, found.boxes, found.scores, strict=True)
        if score >= MIN_SCORE and text.strip()
    ]
    height = image.shape[0]
    size = median(float(box[:, 1].max() - box[:, 1].min()) for _, box in lines) * points if lines else 0.0
    return [
        Segment(
            " ".join(text.split()),
            float(box[:, 0].min()) * points,
            float(box[:, 0].max()) * points,
            (height - float(box[:, 1].max())) * points,
            size,
        )
        for text, box in lines
    ]


@cache
def _engine() -> Any:
    import_onnxruntime()  # before RapidOCR imports it, because its telemetry is switched off here
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    one_thread = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "error", **one_thread})
