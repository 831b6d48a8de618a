"""The languages that a model reads, as its model card states them."""

import re
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

CARD = "README.md"
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_LANGUAGE = re.compile(r"^language:[ \t]*(.*(?:\n[ \t]*-.*)*)", re.MULTILINE)
_CODE = re.compile(r"(?<![\w-])[a-z]{2,3}(?![\w])")
_SAME = {"nb": "no", "nn": "no"}


def card_languages(folder: Path) -> tuple[str, ...]:
    """Return the codes of the languages in the model card of a checkpoint folder; empty if it names none.

    A card that says only `multilingual` names none.
    """
    try:
        front = _FRONT.match(read_fields_text(folder / CARD))
    except (OSError, ValueError, ModelError):
        return ()
    named = _LANGUAGE.search(front[1]) if front else None
    codes = _CODE.findall(named[1].lower()) if named else []
    return tuple(sorted({_SAME.get(code, code) for code in codes}))
