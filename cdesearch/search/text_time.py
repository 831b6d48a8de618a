"""The time of a text: its field `date`, or else the date in the name of its file, or else when this was modified."""

import re
from collections.abc import Iterable
from datetime import date
from itertools import chain

from cdesearch.errors import QueryError
from cdesearch.words.characters import normal
from cdesearch.words.numbers import named_dates

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FIRST_YEAR, LAST_YEAR = 1000, 9999
_AGE = re.compile(r"([0-9]{1,6})(min|h|d|w)")
_MONTH = re.compile(r"[0-9]{4}(?:-[0-9]{2})?")  # or a year
_SECONDS = re.compile(r"@-?[0-9]{1,12}")
_DAYS_AGO = {"today": 0, "yesterday": 1}
_MINUTES = {"min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)
# From 1950 to 2099, because other numbers of eight digits are hardly dates
_IN_NAME = re.compile(r"(?<!\d)(19[5-9]\d|20\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)", re.ASCII)
_DAY_FIRST = re.compile(r"(?<!\d)(\d\d?)\.(\d\d?)\.(19[5-9]\d|20\d\d)(?!\d)", re.ASCII)


def stated_day(path: str, dates: Iterable[str]) -> str | None:
    """The day in a text's fields `date`, of which these are the values, or else in the name of its file, if any."""
    return next(filter(_is_day, dates), None) or day_in_name(path)


def day_in_name(path: str) -> str | None:
    """The first date in the name of a file, such as "2026-01-31", 31.1.2026 or "31 January 2026"; None without one."""
    start = path.rfind("/") + 1
    year_first = (f"{one[1]}-{one[3]}-{one[4]}" for one in _IN_NAME.finditer(path, start))
    if (day := next(filter(_is_day, year_first), None)) or not _YEAR.search(path, start):
        return day
    day_first = (f"{one[3]}-{one[2]:0>2}-{one[1]:0>2}" for one in _DAY_FIRST.finditer(path, start))
    named = named_dates(normal(path[start:]).replace("_", " "))
    return next(filter(_is_day, chain(day_first, named)), None)


def _is_day(text: str) -> bool:
    """Whether a text is a day that exists, of a year by which searches can be filtered."""
    try:
        return bool(DAY.fullmatch(text)) and FIRST_YEAR <= date.fromisoformat(text).year < LAST_YEAR
    except ValueError:
        return False


def time_of(text: str) -> int:
    """The time of an age such as 12h, 7d or 2w, or of a date such as 2026-11-01 or yesterday, in seconds since 1970.

    A date is midnight of the local time zone, and a year or month the first of its days. A number after `@` is the
    result itself. Raises QueryError for any other text.
    """
    from datetime import datetime, timedelta  # most queries need no time, and importing it takes longer than parsing

    if _SECONDS.fullmatch(text):
        return int(text[1:])
    if text in _DAYS_AGO:
        text = (datetime.now() - timedelta(_DAYS_AGO[text])).date().isoformat()
    age = _AGE.fullmatch(text)
    try:
        if age is not None:
            found = datetime.now() - timedelta(minutes=int(age[1]) * _MINUTES[age[2]])
        else:
            found = datetime.fromisoformat(f"{text}-01-01"[:10] if _MONTH.fullmatch(text) else text)
        return int(found.timestamp())
    except (ValueError, OverflowError, OSError):
        raise QueryError(
            f"{text[:40]!r} is neither an age nor a date.",
            "Examples are 30min, 12h, 7d, 2w, today, yesterday, 2026-11-01 and 2026-11.",
        ) from None
