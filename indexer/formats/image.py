"""Read the text in images. The walk leaves images out unless text recognition is switched on."""

import warnings
from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.unreadable import UnreadableError


class Image(Format):
    """Photographs and scans."""

    suffixes = frozenset({".png", ".jpg", ".jpeg"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        from indexer.formats.pdf_layout import rows_of, text_of

        if not file.has_ocr:
            raise UnreadableError("image; `cdesearch index --ocr` reads the text in images")
        from indexer.formats.ocr import recognise

        text = text_of(rows_of(recognise(_pixels(file.stream), 1.0)))
        yield Document(file.path, file.path, file.name, text, "text")


def _pixels(stream: Any) -> Any:
    """The image (height, width, blue-green-red), made smaller if it is large; raises UnreadableError."""
    import numpy as np
    from PIL import Image as Pillow
    from PIL import ImageOps

    from indexer.formats.ocr import MAX_PIXELS

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
