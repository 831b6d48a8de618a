"""Read the passages in a text for a language model by its fence alone, as a careful reader does."""

import re

WORD = r"PASSAGE-[0-9a-f]{8}"


def passages_in(text):
    """Return the passages, each below its heading, and check that the text begins by explaining its fence."""
    fence = re.match(rf"Each passage is enclosed in two lines that contain the word ({WORD})\. ", text)[1]
    blocks = re.finditer(rf"^{fence} (\[(\d+)\] .*?)\n{fence} end of \[\2\]$", text, re.DOTALL | re.MULTILINE)
    return [block[1] for block in blocks]
