"""The time of a text: its field `date`, or else the date in the name of its file, or else when this was modified."""

import re
from collections.abc import Iterable
from datetime import date

from cdesearch.search.field_filter import DAY

FIRST_YEAR, LAST_YEAR = 1000, 9999
# From 1950 to 2099, because other numbers of eight digits are hardly dates
_IN_NAME = re.compile(r"(?<!\d)(19[5-9]\d|20\d\d)([-_]?)(\d\d)\2(\d\d)(?!\d)", re.ASCII)


def stated_day(path: str, dates: Iterable[str]) -> str | None:
    """The day in a text's fields `date`, of which these are the values, or else in the name of its file, if any."""
    return next(filter(_is_day, dates), None) or day_in_name(path)


def day_in_name(path: str) -> str | None:
    """The first date in the name of a file, such as "2026-01-31"; None if there is none."""
    found = _IN_NAME.finditer(path, path.rfind("/") + 1)
    return next(filter(_is_day, (f"{one[1]}-{one[3]}-{one[4]}" for one in found)), None)


def _is_day(text: str) -> bool:
    """Whether a text is a day that exists, of a year by which searches can be filtered."""
    try:
        return bool(DAY.fullmatch(text)) and FIRST_YEAR <= date.fromisoformat(text).year < LAST_YEAR
    except ValueError:
        return False
