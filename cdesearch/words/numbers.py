"""Numbers, dates, addresses and account numbers, which people write in several ways."""

import re
from collections.abc import Iterator
from datetime import date

from cdesearch.words.stems import folded

# 2024-05-17 and 20240517, and 17.05.2024 or 17/05/2024 as it is written in many languages. Americans write 05/17/2024.
_YEAR_FIRST = re.compile(r"(\d{4}(?=[-/.])|(?:19|20)\d\d)([-/.]?)(\d\d)\2(\d\d)")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_SHORT_YEAR_FIRST = re.compile(r"((?:19|20)\d\d)([-/])(\d{1,2})\2(\d{1,2})")
_SHORT_YEAR = re.compile(r"(\d\d)\.(\d\d)\.(\d\d)")  # 17.05.24, which may also be a version
# What precedes a year: 17 May, 17th of May, 17. Mai, 17 de mayo de, 17/May/; or May 17,
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_DAY, _MONTH = r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.)?", r"(?<!\w)([^\W\d_]{3,12})\.?"
_DAY_AND_MONTH = re.compile(rf"(?:{_DAY}(?: of| de)?[ /-]{_MONTH}(?:,| del?)?|{_MONTH} {_DAY},?)[ /-]$", re.IGNORECASE)
_MONTH_AND_YEAR = re.compile(rf"{_MONTH}(?:,| de)?[ /-]((?:19|20)\d\d)(?!\d)", re.IGNORECASE)
_DAY_AND_NUMBER = re.compile(r"(?<![\d.])(\d{1,2})\. (\d{1,2})\. $")  # of the month, before a year
_MONTH_AND_DAY = re.compile(r"(?: ?[年년] ?|\. )(\d{1,2})(?: ?[月월] ?|\. )(\d{1,2})(?: ?[日일号號]|\.)")  # after it
# The names of months in languages with Latin letters, without accents
_MONTHS = """
    january janvier januari janeiro enero gennaio|february fevrier februari febrero febbraio fevereiro
    |march marz mrz maerz mars marzo marco maart mrt|aprile avril abril|may mai mayo maggio maio mei maj
    |june juni juin junio giugno junho|july juli juillet julio luglio julho|augustus augusti aout agosto
    |september septembre septiembre settembre setembro|october oktober octobre octubre ottobre outubro
    |november novembre noviembre novembro|december dezember decembre diciembre dicembre dezembro
"""
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()}
# Their abbreviations
_MONTH_OF |= {name[:end]: number for name, number in _MONTH_OF.items() for end in range(3, len(name))}
# Those of other languages, as they are in a date
_OTHER_MONTHS = """
    stycznia ledna января січня ocak tammikuuta ianuarie يناير בינואר|lutego unora февраля лютого subat helmikuuta
    februarie فبراير בפברואר|marca brezna марта березня mart maaliskuuta martie marts maret مارس במרץ|kwietnia dubna
    апреля квітня nisan huhtikuuta aprilie ابريل באפריל|maja kvetna мая травня mayis toukokuuta مايو במאי|czerwca
    cervna июня червня haziran kesakuuta iunie يونيو ביוני|lipca cervence июля липня temmuz heinakuuta iulie يوليو
    ביולי|sierpnia srpna августа серпня agustos elokuuta agustus اغسطس באוגוסט|wrzesnia zari сентября вересня eylul
    syyskuuta septembrie سبتمبر בספטמבר|pazdziernika rijna октября жовтня ekim lokakuuta octombrie اكتوبر באוקטובר
    |listopada listopadu ноября листопада kasim marraskuuta noiembrie نوفمبر בנובמבר|grudnia prosince декабря грудня
    aralik joulukuuta decembrie desember ديسمبر בדצמבר
"""
_MONTH_OF |= {name: number for number, names in enumerate(_OTHER_MONTHS.split("|"), 1) for name in names.split()}
_THOUSANDS = re.compile(r"(\d{1,3}(?:([.,' ])\d{3})(?:\2\d{3})*|\d{1,2}(?:,\d\d)+,\d{3})(?:(?!\2)[.,](\d+))?")
_WEEKDAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
_NO_CENTS = re.compile(r"\d+[.,]00")
_SEPARATOR = re.compile(r"[^\d]+")
ACCOUNT = r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"  # an IBAN
# +49 30 901820; 030 / 90 18 20; 06 12 34 56 78; (212) 555-0147 and 212.555.0147
PHONE = (
    r"(?:\+\d{1,3}(?:[ ()/.-]{0,3}\d){6,12}|\(?0\d{2,4}\)?(?: ?/ ?| )(?:\d{5,8}|\d{2,4}(?: \d{2,4}){1,4})(?:-\d{1,4})?"
    r"|0\d(?:[ .]\d\d){4}|(?:\(\d{3}\) ?\d{3}[.-]|\d{3}\.\d{3}\.)\d{4})"
)
_MAYBE_PHONE = re.compile(r"(?:[+(]|0\d)[\d ()/.-]+|\d+(?:-\d+)+")
LOCAL = 7  # digits of a telephone number without the codes of its country and area
TIMESTAMP = r"\d{4}-\d\d-\d\dT(?=\d)"  # its date; the time follows
GROUPS = r"(?:\d{4}(?: \d{4}){2,4}|\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?)"  # the number of a card, 14 800
MAC = r"[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}"  # the address of a network card
MOST_BEFORE = 24  # characters of a day and a month
MOST_BEGINNINGS = 6  # of a number with separators; the addresses of IPv4 have two
SHORTEST_HASH, LONGEST_PREFIX = 7, 12
# Letters before digits, such as BA0054012, are rather an identifier.
_HASH = re.compile(
    r"(?![a-f]+[0-9]+$)(?=.*[0-9])(?=.*[a-f])(?:[0-9a-f]{7,}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
)


def number_words(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of digits with separators: those that mean the number itself, and the beginnings by which it is found.

    An amount has one spelling: 1,428.00 is 1428. A date has one, too, and begins with its year and month. Every other
    number, such as a version or an address, begins with its first parts. 192.168.178 may be an amount or an address.
    """
    if days := days_of(run):
        return days, tuple(day[:end] for day in days for end in (7, 4))
    decimal = _DECIMAL.fullmatch(run)
    amounts = [*filter(None, (amount(run), decimal and f"{decimal[1]}.{decimal[2]}"))]
    if amounts and run.count(".") < 2:
        return tuple(dict.fromkeys(amounts)), ()
    ends = [match.start() for match in _SEPARATOR.finditer(run)]
    beginnings = [run[:end] for end in ends[1:MOST_BEGINNINGS]]
    if (short := _SHORT_YEAR.fullmatch(run)) and (day := _possible(f"20{short[3]}", int(short[2]), short[1])):
        return (*amounts, run, day), (*beginnings, day[:7], day[:4])
    return (*amounts, run), tuple(beginnings)


def amount(run: str) -> str | None:
    """An amount without separators of thousands and without cents of 0; None for a number that is not written so."""
    if found := _THOUSANDS.fullmatch(run):
        whole, decimals = _SEPARATOR.sub("", found[1]), found[3] or ""
        return f"{whole}.{decimals}" if decimals.strip("0") else whole
    return run[:-3] if _NO_CENTS.fullmatch(run) else None


def local_number(run: str, *, is_query: bool) -> str | None:
    """The last digits of what may be a telephone number, which people write with and without codes; None for others."""
    if run.isalpha() or ((not is_query or not run.isdigit()) and not _MAYBE_PHONE.fullmatch(run)):
        return None
    digits = _SEPARATOR.sub("", run)
    return digits[-LOCAL:] if LOCAL <= len(digits) <= 2 * LOCAL + 1 and not days_of(run) else None


def days_of(run: str) -> tuple[str, ...]:
    """The days that a date of digits may mean: 04/05/2024 is one in April or in May."""
    if found := _YEAR_FIRST.fullmatch(run) or _SHORT_YEAR_FIRST.fullmatch(run):
        possible = [_possible(found[1], int(found[3]), found[4])]
    elif found := _DAY_FIRST.fullmatch(run):
        possible = [_possible(found[4], int(found[3]), found[1])]
        if found[2] != ".":
            possible.append(_possible(found[4], int(found[1]), found[3]))
    else:
        return ()
    return tuple(dict.fromkeys(filter(None, possible)))


def named_dates(text: str) -> Iterator[str]:
    """The dates of a text that have blanks or words in them, as 2024-05-17."""
    for year in _YEAR.finditer(text):
        if (after := _MONTH_AND_DAY.match(text, year.end())) and (found := _possible(year[0], int(after[1]), after[2])):
            yield found
        text_before = text[max(0, year.start() - MOST_BEFORE) : year.start()]
        if text_before.endswith(". ") and (in_digits := _DAY_AND_NUMBER.search(text_before)):
            yield from filter(None, [_possible(year[0], int(in_digits[2]), in_digits[1])])
        elif before := _DAY_AND_MONTH.search(text_before):
            day, number = before[1] or before[4], month_of(before[2] or before[3])
            if number and (found := _possible(year[0], number, day)):
                yield found


def named_months(text: str) -> Iterator[str]:
    """The months of a text that are written as words before their year, as 2024-05."""
    for found in _MONTH_AND_YEAR.finditer(text):
        if number := month_of(found[1]):
            yield f"{found[2]}-{number:02}"


def month_of(word: str) -> int | None:
    """The month, from 1 on, of a name in one of several languages, or of its abbreviation; None for other words."""
    return _MONTH_OF.get(folded(word.lower()))


def is_time(word: str) -> bool:
    """Whether a word is the name of a month or of an English weekday, which texts may write as digits."""
    return word.lower() in _WEEKDAYS or month_of(word) is not None


def _possible(year: str, month: int, day: str) -> str | None:
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return None


def is_hash(word: str) -> bool:
    """Whether a word, or a word with hyphens, is a hash."""
    return len(word) >= SHORTEST_HASH and not word.isalpha() and _HASH.fullmatch(word.lower()) is not None


def hash_prefixes(word: str) -> tuple[str, ...]:
    """The beginnings by which a word in lower case is found; none unless it is a hash."""
    if not is_hash(word):
        return ()
    return tuple(word[:end] for end in range(SHORTEST_HASH, min(LONGEST_PREFIX, len(word) - 1) + 1))
