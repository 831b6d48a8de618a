"""The fields of a document or record, by which searches are filtered: front matter, columns, headers and properties."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Any

from cdesearch.words.characters import normal
from cdesearch.words.numbers import named_dates
from indexer.formats.encoding import without_surrogates
from indexer.formats.format import Fields

MAX_FIELDS = 64  # values of one document
NOTHING = ("", "")  # an empty value, which counts: repeated by reference, such values have no end either
MAX_NAME, MAX_VALUE = 60, 500  # characters
MAX_DEPTH = 3  # of objects and lists in each other
MOST_NUMBERS = 16  # in a list; a longer one is a vector or a curve, and is left out

_NO_NAME = re.compile(r"[^\w.-]+")
_TIME = r"(?:[T ]\d{1,2}:\d\d\S*(?: [+-]\d{4}| UTC| [AaPp]\.?[Mm]\.?)?)?"
_CLOCK = re.compile(r" \d\d:\d\d:\d\d(?: [+-]\d{4}| [A-Z]{3,4})?(?= \d{4}$)")
_DATES = (
    re.compile(rf"(?P<year>\d{{4}})([-/])(?P<month>\d{{1,2}})\2(?P<day>\d{{1,2}}){_TIME}"),
    re.compile(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_TIME}"),
    re.compile(r"D:(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[\d'Z+-]*"),  # of PDF
)
# Sun, 17 May 2026 10:00:00 +0000; May 17, 2026; 17-MAY-2026; Sun May 17 10:00:00 2026
_WORD, _DAY = r"[^\W\d]{3,10}", r"\d{1,2}[^\s\d]{0,2}"
_NAMED = re.compile(
    rf"(?:[^\W\d]{{2,3}}\.?,? |[^\W\d]{{6,10}}, )?"
    rf"(?:{_DAY}[ -]{_WORD}\.?|{_WORD}\.? {_DAY}(?:{_CLOCK.pattern})?),?[ -]\d{{4}}{_TIME}"
)


def fields_of(values: Iterable[tuple[str, Any]], depth: int = 0) -> Iterator[tuple[str, str]]:
    """The names and texts of values. Each item of a list is a value, and a value in an object is named `outer.inner`.

    At most one more than may be kept of them, so that `bounded` notices it: repeated by reference, they have no end.
    """
    found = (pair for name, value in values for pair in _texts(name, value, depth))
    return islice(found, MAX_FIELDS + 1)


def _texts(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        is_long = isinstance(value, list) and len(value) > MOST_NUMBERS
        if depth == MAX_DEPTH or (is_long and isinstance(value[0], int | float)):
            yield NOTHING
            return
        items = [(name, one) for one in value]
        if isinstance(value, dict):
            items = [(f"{name}.{key}", one) for key, one in value.items()]
        yield from fields_of(items[: MAX_FIELDS + 1], depth + 1) if items else [NOTHING]
    elif value is not None and not isinstance(value, bytes):
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


def bounded(fields: Fields, problems: dict[str, str]) -> Fields:
    """Fields as they are stored: values below their name, without those that are empty or repeated, and days as dates.

    What is left out or cut is added to `problems`, by the name of the field.
    """
    found: dict[str, dict[str, None]] = {}
    n_values = 0
    for given, value in fields:
        name = _name(given)
        text = as_date(_clean(value))
        if not name or not text:
            continue
        if n_values == MAX_FIELDS or len(name) > MAX_NAME:
            most = f"more than {MAX_FIELDS} values" if n_values == MAX_FIELDS else f"more than {MAX_NAME} characters"
            problems.setdefault(name[:MAX_NAME], f"is left out: {most}")
            continue
        if len(text) > MAX_VALUE:
            problems.setdefault(name, f"is cut after {MAX_VALUE} characters")
        n_values += 1
        found.setdefault(name, {})[text[:MAX_VALUE].rstrip()] = None
    return tuple((name, value) for name, values in found.items() for value in values)


def as_date(text: str) -> str:
    """A date in one of the usual forms, with or without a time, as YYYY-MM-DD; any other text as it is."""
    for pattern in _DATES if text[:1].isdigit() or text[:2] == "D:" else ():
        if match := pattern.fullmatch(text):
            try:
                return date(int(match["year"]), int(match["month"]), int(match["day"])).isoformat()
            except ValueError:
                return text
    return next(named_dates(_CLOCK.sub("", text)), text) if _NAMED.fullmatch(text) else text


@lru_cache(maxsize=1000)  # of columns, which all records have
def _name(given: str) -> str:
    return _NO_NAME.sub("_", _clean(given)).strip("_.-").casefold()


def _clean(text: str) -> str:
    return normal(" ".join(without_surrogates(text[: 4 * MAX_VALUE]).split()))
