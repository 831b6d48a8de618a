"""Write the numbers of cells as spreadsheets show them: dates, times, shares, amounts and units."""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

# The codes of formats that are part of every workbook, by their numbers. Currencies depend on the computer.
BUILT_IN = {
    **dict.fromkeys((*range(14, 23), 45, 47), "yyyy-mm-dd"), 46: "[h]:mm:ss",
    1: "0", 2: "0.00", 9: "0%", 10: "0.00%",
    **dict.fromkeys((3, 5, 6, 37, 38, 41, 42), "#,##0"), **dict.fromkeys((4, 7, 8, 39, 40, 43, 44), "#,##0.00"),
}  # fmt: skip
LONGEST = 255  # characters of a code, as in Excel
NEGATIVE = 1  # the section of a code for negative numbers, if there is one
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]?|\[(?P<condition>[^\]]*)\]?|[_*].'
    r"|(?P<digits>[#0?][#0?,.]*)|(?P<sign>.)",
    re.DOTALL,
)
_OF_DATES = re.compile(r"[dmyhs]", re.IGNORECASE)


class _Section(NamedTuple):
    """How numbers of one sign are shown."""

    before: str
    digits: str
    after: str


def codes_of_styles(codes: dict[str, str], used: Iterable[str]) -> list[str]:
    """The codes of the formats that styles use, by their numbers; `codes` are those of the workbook by its numbers."""
    known = {str(number): code for number, code in BUILT_IN.items()} | codes
    return [known.get(one, "") for one in used]


def shown_number(number: float, code: str, epoch: datetime) -> str:
    """A number in the format of a code; `epoch` is the day from which dates are counted."""
    is_date, is_duration, sections = _parsed(code[:LONGEST])
    with suppress(ArithmeticError, ValueError):  # too many digits, or a day that no calendar has
        if is_date:
            return _date(number, epoch, is_duration=is_duration)
        if sections and isfinite(number):
            own = number < 0 and len(sections) > NEGATIVE
            text = _amount(Decimal(f"{abs(number):.15g}"), sections[NEGATIVE if own else 0])
            return f"-{text}" if number < 0 and not own else text
    return f"{number:.15g}"


def _date(number: float, epoch: datetime, *, is_duration: bool) -> str:
    date = epoch + timedelta(seconds=round(number * 86_400))
    if is_duration:
        minutes = round(number * 1440)
        return f"{minutes // 60}:{minutes % 60:02d}"
    if 0 <= number < 1:
        return date.time().isoformat("minutes")
    return date.isoformat(" ", "minutes") if number % 1 else date.date().isoformat()


def _amount(number: Decimal, section: _Section) -> str:
    before, digits, after = section
    whole, _, part = digits.rstrip(",").partition(".")
    number *= Decimal(100) ** (before + after).count("%") / Decimal(1000) ** (len(digits) - len(digits.rstrip(",")))
    rounded = number.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP)
    shown, _, decimals = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(part.count("0"), "0")
    return f"{before}{shown.zfill(whole.count('0'))}{'.' if decimals else ''}{decimals}{after}".strip()


@lru_cache(maxsize=1000)
def _parsed(code: str) -> tuple[bool, bool, tuple[_Section, ...]]:
    """Whether a code shows dates, whether it shows hours beyond a day, and its sections unless one is unusual."""
    tokens = list(_TOKEN.finditer(code))
    is_duration = any((one["condition"] or "").lower().strip("h") == "" for one in tokens if one["condition"])
    is_date = is_duration or any(
        _OF_DATES.match(one["sign"] or "") or re.fullmatch(r"[ms]+", one["condition"] or "") for one in tokens
    )
    sections, is_usual = [_Section("", "", "")], not is_date
    for token in tokens:
        text = token["quoted"] or token["escaped"] or token["currency"] or token["sign"] or ""
        last = sections[-1]
        if token["sign"] == ";" and len(sections) == NEGATIVE + 1:
            break
        if token["sign"] == ";":
            sections.append(_Section("", "", ""))
        elif token["digits"]:
            is_usual &= not last.digits
            sections[-1] = last._replace(digits=token["digits"])
        else:
            is_usual &= not (token["sign"] or "").isalpha() and token["sign"] not in ("@", "/")
            is_usual &= re.search("[<>=]", token["condition"] or "") is None
            name = "after" if last.digits else "before"
            sections[-1] = last._replace(**{name: getattr(last, name) + text})
    is_usual &= all(section.digits for section in sections)
    return is_date, is_duration, tuple(sections) if is_usual else ()
