"""Filters by the fields of documents and records: what a user writes, and what it means in one generation of an index.

A chunk has its fields in the column `fields`, as labels such as "status=open", which LanceDB indexes. A comparison is
made with each different value in the index, and becomes the list of labels for which it is true.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from cdesearch.errors import NotIndexedError, QueryError
from cdesearch.search.documents import quoted
from cdesearch.search.text_time import DAY, time_of
from cdesearch.store.schema import field_of
from cdesearch.store.storage import run_async
from cdesearch.words.characters import alike, normal
from cdesearch.words.numbers import amount, days_of

if TYPE_CHECKING:
    from cdesearch.store.index import Index

MAX_CONDITIONS = 20  # in one filter
SHOWN_NAMES, SHOWN_VALUES, SHOWN_CHARACTERS = 10, 3, 60  # of the fields of an index
DATE = "date"  # the field whose value is the time of a document

_CONDITION = re.compile(
    r"""\s*([\w.-]+)\s*(>=|<=|!=|==?|:|>|<)\s*(?:"([^"]+)"|'([^']+)'|([^\s"'=]\S*?))"""
    r"(?:(?:\s+and\s+|\s*&&\s*)(?=\S)|\s*$)",
    re.IGNORECASE,
)
_DATE = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?")  # a year, a month or a day
_DAYS = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?")  # of a value
# Dates that are numbers or versions, or whose order only the other values of their field show; and seconds since 1970
_WRITTEN = re.compile(
    r"(([0-9]{1,2})/([0-9]{1,2})/[0-9]{4}|[0-9]{4}\.?[0-9]{2}\.?[0-9]{2})(?:,? [0-9]{1,2}:[0-9]{2}.*)?"
)
_SECONDS = re.compile(r"1[0-9]{9}(?:[0-9]{3})?")
_TIME = re.compile(r"\A([0-9]{4}-[0-9]{2}-[0-9]{2})[t ][0-9]{1,2}:[0-9]{2}\S*\Z")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]{1,3})?")
_CURRENCY = r"(?:[$€£¥₹]|eur|usd|gbp|chf|jpy|cad|aud|inr|brl|sek|nok|dkk|pln|czk)"
_AMOUNT = re.compile(rf"([-+(]?) ?{_CURRENCY}? ?([-+]?)([0-9][0-9.,' ]*?)\)? ?(?:{_CURRENCY}|%)?")
_IDENTIFIER = re.compile(r"0[0-9]|[0-9.]+e[-+0-9]|[0-9]{16}")  # equal only to what is written in the same way
_RANGES: dict[str, Callable[[Any, Any], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """One condition of a filter, such as `date>=2026-01-01`."""

    name: str
    sign: str  # one of = != : >= <= > <
    value: str  # in lower case

    def holds(self, value: str) -> bool:
        """Whether it holds for one value; `!=` is judged as `=` is, because it is true if no value is equal."""
        own, found = self.value, value.casefold()
        if self.sign == ":" and re.search(rf"(?<!\w){re.escape(own)}(?!\w)", found):
            return True
        if _DAYS.fullmatch(found) and _DATE.fullmatch(own):
            pair: Any = found[: len(own)], own[: len(found)]  # a year and a month stand for all of their days
        elif found == own or (self.sign not in _RANGES and (_IDENTIFIER.match(found) or _IDENTIFIER.match(own))):
            pair = found, own
        else:
            number = number_of(found)
            asked = None if number is None else number_of(own)
            if asked is None:
                return False
            pair = number, asked
        return _RANGES[self.sign](*pair) if self.sign in _RANGES else pair[0] == pair[1]


def number_of(text: str) -> float | None:
    """A number, also an amount or a percentage as exports write them; None for any other text."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if not (found := _AMOUNT.fullmatch(text if text.isascii() else alike(text))):
        return None
    digits = found[3]
    if digits != text and "%" not in text and _THOUSANDS.fullmatch(digits):  # 1.250 € has no decimals
        digits = digits.replace(".", "")
    if not _NUMBER.fullmatch(digits):
        digits = (amount(digits) if digits[0] != "0" else None) or digits.replace(",", ".")
    minus = "-" if "-" in found[1] + found[2] or found[1] == "(" else ""
    return float(minus + digits) if _NUMBER.fullmatch(digits) else None


def _days(values: Iterable[str]) -> dict[str, str]:
    """The days that values of a field mean in other forms. Days after the 12th show the order of others."""
    days, month_first = dict[str, tuple[str, ...]](), set[bool]()
    for value in values:
        if _SECONDS.fullmatch(value):
            days[value] = (date.fromtimestamp(int(value[:10])).isoformat(),)
        elif (found := _WRITTEN.fullmatch(value)) and (possible := days_of(found[1])):
            days[value] = possible
            if found[2] and max(int(found[2]), int(found[3])) > 12:
                month_first.add(int(found[3]) > 12)
    at = -1 if month_first == {True} else 0
    return {value: one[at] for value, one in days.items() if len(one) == 1 or len(month_first) == 1}


def conditions_of(text: str) -> tuple[FieldCondition, ...]:
    """The conditions of a filter, all of which must hold; raises QueryError."""
    found: list[FieldCondition] = []
    position = 0
    text = normal(text)
    while position < len(text) or not found:
        match = _CONDITION.match(text, position)
        if match is None:
            raise QueryError(
                f"{text[position:].strip()[:60]!r} is not a condition on a field.",
                'Write conditions such as status=open, date>=2026-01-01, tag:infra or author="Ann Lee", and join them'
                " by `and`.",
            )
        name, sign, *values = match.groups()
        value = _TIME.sub(r"\1", next(filter(None, values)).casefold())  # an index stores the days of times
        if sign in _RANGES and not (_DATE.fullmatch(value) or number_of(value) is not None):
            try:
                value = date.fromtimestamp(time_of(value)).isoformat()
            except (QueryError, ValueError, OverflowError):
                examples = "Examples are 2026-01-31, 7d, today and 5."
                raise QueryError(f"{value[:40]!r} is neither a date nor a number.", examples) from None
        found.append(FieldCondition(name.casefold(), sign.replace("==", "="), value))
        position = match.end()
    if len(found) > MAX_CONDITIONS:
        raise QueryError(f"The filter has {len(found)} conditions.", f"Use at most {MAX_CONDITIONS}.")
    return tuple(found)


class IndexedFields:
    """The fields of one generation, which are read once."""

    def __init__(self, index: "Index") -> None:
        self._index = index

    @cached_property
    def values(self) -> dict[str, list[str]]:
        """The different values of each field, by its name."""
        query = self._index.async_chunks.query().select(["fields"])
        labels: dict[str, None] = {}

        async def read() -> None:
            async for batch in await query.to_batches():
                labels.update(dict.fromkeys(batch["fields"].flatten().unique().to_pylist()))

        with self._index.checks.reading_tables():
            run_async(read())
        found: dict[str, list[str]] = {}
        for name, value in map(field_of, filter(None, labels)):
            found.setdefault(name, []).append(value)
        return found

    def sql(self, condition: FieldCondition) -> str:
        """The SQL condition for the chunks of which a condition holds; raises NotIndexedError for an unknown field."""
        fields = [*self._of(condition.name)]
        # If a value is written as 1.10, it is a version and differs from 1.1. Otherwise 1.10 is an amount.
        is_whole = condition.sign in ("=", "!=") and "." in condition.value
        written = [one for one in fields if is_whole and one[1].casefold() == condition.value]
        is_date, is_day = _DATE.fullmatch(condition.value), "-" in condition.value  # a year may also be a number
        days = _days(value for _, value in fields if is_date and (is_day or "/" in value))
        chosen = self._any(written or (one for one in fields if condition.holds(days.get(one[1], one[1]))))
        return f"NOT {chosen}" if condition.sign == "!=" else chosen

    def sql_of_days(self, is_chosen: Callable[[str], bool], otherwise: str) -> str:
        """The SQL condition for the chunks whose date is chosen, and `otherwise` for those without a date."""
        values = self.values.get(DATE, ())
        days = {value: value for value in values if DAY.fullmatch(value)} | _days(values)
        if not days:
            return otherwise
        chosen = self._any((DATE, value) for value, day in days.items() if is_chosen(day))
        return f"({chosen} OR (NOT {self._any((DATE, value) for value in days)} AND ({otherwise})))"

    def described(self) -> Iterator[dict[str, Any]]:
        """The name and type of each field, how many different values it has, and some of them."""
        for name, values in sorted(self.values.items()):
            is_number = all(number_of(value.casefold()) is not None for value in values)
            kind = "date" if all(map(DAY.fullmatch, values)) else "number" if is_number else "text"
            examples = [value[:SHOWN_CHARACTERS] for value in sorted(values)[:SHOWN_VALUES]]
            yield {"name": name, "type": kind, "values": len(values), "examples": examples}

    def _of(self, name: str) -> Iterator[tuple[str, str]]:  # `tag` is the same field as `tags`
        names = [one for one in dict.fromkeys((name, f"{name}s", name.removesuffix("s"))) if one in self.values]
        if not names:
            from difflib import get_close_matches

            near = get_close_matches(name, self.values, SHOWN_NAMES) or [*self.values][:SHOWN_NAMES]
            remedy = f"There is {', '.join(near)}; `cdesearch status --fields` lists all fields." if near else ""
            raise NotIndexedError(f"The index has no field {name:.60}.", remedy or "None of its files has fields.")
        return ((one, value) for one in names for value in self.values[one])

    @staticmethod
    def _any(fields: Iterable[tuple[str, str]]) -> str:
        labels = ", ".join(quoted(f"{name}={value}") for name, value in fields)
        return f"array_has_any(fields, [{labels}])" if labels else "false"
