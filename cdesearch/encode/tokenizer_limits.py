"""Limits on how much a tokenizer may enlarge a text. That of a hostile checkpoint could turn one word into gigabytes.

The parts of a tokenizer are examined before it reads any text. Regular expressions that take long are not detected.
The errors of the tokenizers library become ModelErrors here.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from cdesearch.errors import ModelError, is_panic
from cdesearch.models.checkpoint_files import AGAIN

MAX_GROWTH = 1000  # characters into which all replacements may turn one; published tokenizers stay below 20
MAX_PARTS = 100  # that are applied to a text one after another; published tokenizers have up to 20
MAX_TEMPLATE = 64  # tokens that are put around a text
MAX_PREFIX = 100  # characters that mark a token as the continuation of a word; "##" is usual
MAX_WORD = 1000  # characters of a word that WordPiece looks up; its time grows with the square, and 100 are usual


# How many characters other parts make of one, each time that they are applied: the bytes of a character as characters,
# blanks around a Chinese character, and a mark before a word. What NFKD makes of one, it does not change again.
_GROWTHS = {"ByteLevel": 4, "BertNormalizer": 3, "Metaspace": 2}


def check_growth(tokenizer: Tokenizer, file: Path) -> None:
    """Raise ModelError if the tokenizer that was read from `file` could make a text many times as long."""
    growth = 1
    changing = _parts([_state(tokenizer.normalizer), _state(tokenizer.pre_tokenizer)])
    adding = _parts([_state(tokenizer.post_processor)])
    if len(changing) + len(adding) > MAX_PARTS:
        raise _refused(file, f"changes a text in more than {MAX_PARTS} steps")
    for part in changing:
        growth *= _growth(part)
        if growth > MAX_GROWTH:
            raise _refused(file, f"replaces one character by more than {MAX_GROWTH:,}")
    if sum(part.get("type") == "TemplateProcessing" for part in adding) > 1:
        raise _refused(file, "puts one template around another")
    if sum(map(_added_tokens, adding)) > MAX_TEMPLATE:
        raise _refused(file, f"puts more than {MAX_TEMPLATE} tokens around a text, or repeats the text")
    if getattr(tokenizer.model, "max_input_chars_per_word", 0) > MAX_WORD:
        raise _refused(file, f"looks up words of more than {MAX_WORD:,} characters")
    if len(getattr(tokenizer.model, "continuing_subword_prefix", None) or "") > MAX_PREFIX:
        raise _refused(file, f"marks continuations by more than {MAX_PREFIX} characters")


@contextmanager
def reporting_failure(cause: str) -> Iterator[None]:
    """Replace any error of the tokenizers library, which raises bare Exception and panics, by a ModelError."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise ModelError(f"{cause} ({error!s:.200}).", AGAIN) from None


def _refused(file: Path, what: str) -> ModelError:
    return ModelError(f"{file} {what}, which no tokenizer needs.", AGAIN)


def _state(part: Any) -> dict[str, Any]:
    """The fields of one part of a tokenizer, as tokenizer.json has them."""
    fields = json.loads(part.__getstate__()) if part is not None else {}
    return fields if isinstance(fields, dict) else {}


def _parts(waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The given parts of a tokenizer, and the parts of the sequences among them."""
    parts = []
    while waiting:
        part = waiting.pop()
        parts.append(part)
        for name in ("normalizers", "pretokenizers", "processors"):
            waiting += part.get(name) or []
    return parts


def _growth(part: dict[str, Any]) -> int:
    """The largest number of characters that one character can become."""
    kind = part.get("type")
    if kind == "Replace":
        # An expression may match between two characters, which then remain as well.
        is_text = bool(part["pattern"].get("String"))
        return max(1, len(part["content"]) + (0 if is_text else 1))
    if kind == "Prepend":
        return 1 + len(part["prepend"])
    if kind == "Precompiled":
        return max(1, _longest_mapped(part["precompiled_charsmap"]))
    return _GROWTHS.get(str(kind), 1)


def _longest_mapped(charsmap: Any) -> int:
    """The length of the longest replacement in a SentencePiece map.

    A map consists of the size of a trie, the trie, and texts that each end with a zero byte.
    """
    data = base64.b64decode(charsmap) if isinstance(charsmap, str) else bytes(charsmap)
    texts = data[4 + int.from_bytes(data[:4], "little") :]
    return max(map(len, texts.split(b"\0")), default=0)


def _added_tokens(part: dict[str, Any]) -> int:
    """How many tokens a post-processor puts around a text; more than MAX_TEMPLATE if it repeats the text."""
    if part.get("type") != "TemplateProcessing":
        return 2 if part.get("type") in ("BertProcessing", "RobertaProcessing") else 0
    sizes = {name: len(special["ids"]) for name, special in part["special_tokens"].items()}
    pieces = part["single"]
    special = sum(sizes.get(piece["SpecialToken"]["id"], 1) for piece in pieces if "SpecialToken" in piece)
    is_repeated = sum("Sequence" in piece for piece in pieces) > 1
    return MAX_TEMPLATE + 1 if is_repeated else special
