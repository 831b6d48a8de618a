"""The analyzer: texts and queries become the words that full text compares.

Both sides use the same rules, so that a query finds a text whichever of its spellings each of them uses. Full text
splits the result at spaces, and compares the pieces as they are.

| In a text | Its words |
|---|---|
| `Houses` | `hous`: the stem; function words of the language of the text are left out |
| `colours` | in English, those of `color`; a query for `mouse` also asks for `mice` |
| `Häuser` | `haus`, `hauser`: the stem, and outside English also the word, so that no query has to know the language |
| `cancelShipment`, `cancel_shipment` | `cancelship`, `cancel`, `shipment`: the whole, and its parts |
| `cancel\\_shipment`, `can**cel**` | those of `cancel_shipment`; also those of `cancel` |
| `os.path.join`, `a@b.org` | the whole, each name, and its parts |
| `1,428.00`, `1 428` | `1428` |
| `2024-05-17`, `17.05.2024`, `05/17/2024`, `20240517`, `May 17, 2024` | `2024-05-17`, `2024-05`, `2024` |
| `10.31.7.204`, `v2.10.3` | the whole, and its beginnings `10.31.7`, `10.31` |
| `log4j-2.17.1.jar` | those of a name, and those of the number `2.17.1` |
| `550e8400e29b41d4` | the hash, and its beginnings from 7 characters |
| `DE89 3704 0044 0532 0130 00`, `0341 99887766`, `00:1b:44:11:3a:b7` | one word, and its groups |
| `+49 (0)341 998877-66`, `555-867-5309` | also the last seven digits |
| `résumé`, `कलम`, `٤٥` | with and without accents and nuktas; `45` |
| `東京都` | `東京`, `京都`, and single letters |
| `서울에서` | the pairs of its syllables |
| `בירושלים`, `والملفات` | with and without prefixes; without the article |

A query has the same words without beginnings, because a query for an address does not ask for its beginning. Two words
of a short query may also be those of a name: `cancel shipment` has the word `cancelship`, too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise, repeat

from cdesearch.words.characters import alike, unescaped
from cdesearch.words.known import ENGLISH
from cdesearch.words.numbers import (
    ACCOUNT,
    GROUPS,
    MAC,
    PHONE,
    TIMESTAMP,
    amount,
    hash_prefixes,
    is_hash,
    local_number,
    named_dates,
    named_months,
    number_words,
)
from cdesearch.words.scripts import (
    ARABIC,
    DIVIDED,
    DIVISION,
    HANGUL,
    HEBREW,
    LETTER,
    UNSPACED,
    grams,
    hangul_grams,
    without_article,
    without_prefixes,
)
from cdesearch.words.stems import folded, other_numbers, stems
from cdesearch.words.stop_words import STOP_WORDS

LONGEST = 128  # characters of a word; digests of SHA-512 have so many
NAMED = "/"  # the mark of a word in the path, the fields or the links of a chunk; no word begins so
MOST_PARTS = 12  # of a name; a run of letters with more is data
FOLDERS = 3  # the last folders of a path are words of its chunks
LEAST_JOINED = 8  # digits of a telephone or book number that is written with hyphens
MOST_JOINED = 8  # words of a query of which two may be one name
DATE = 2.0  # the weight of a date whose month is a word: texts that write it in digits have none of its words
POSSIBLE = 0.5  # the weight of a word that is a guess: one without its prefixes, a beginning or an end

EMOJI = "\u231a\u231b\u23e9-\u23fa\u25b6\u25c0\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001faff"
_JOINT = r"(?:[-.'\u2019@&\u200c\u200d]|::|->|[,:/](?<=\d.)(?=\d))"
_LANGUAGE = re.compile(r"[A-Za-z]\w?(?:\+\+(?:\d\d)?|#)")  # C++, C++17, C#


def _runs(letter: str) -> re.Pattern[str]:
    phone = rf"(?<!\w)(?=[+(\d]){PHONE}(?![\w-]|[.,:/]\d)"
    special = rf"(?<!{letter})(?:{ACCOUNT}|{GROUPS}|{MAC}|{_LANGUAGE.pattern})(?!{letter})"
    return re.compile(
        rf"{phone}|{special}|(?<!\w){TIMESTAMP}|{letter}+(?:{_JOINT}{letter}+)*|[\U0001f1e6-\U0001f1ff]{{2}}|[{EMOJI}]"
    )


_ASCII, _OTHER = _runs(r"[0-9A-Za-z_]"), _runs(LETTER)
_ESCAPE = re.compile(r"(?<=\w)\\(?=[-_.&@]+\w)")  # of Markdown, within a name
_INLINE = "(?:b|em|i|ins|mark|span|strong|u)>"
_RARE_EMPHASIS = re.compile(rf"==[^\W\d_]+==|</{_INLINE}")
_EMPHASIS = re.compile(rf"(?<!\w)(\w*)(\*{{1,3}}|==|<{_INLINE})([^\W\d_]+)(?:\2|</{_INLINE})(\w*)")
_HYPHENATED = re.compile(r"(?<!\w)([^\W\d_]{2,})-\n[ \t]{0,40}([^\W\d_A-Z]{2,})(?!\w)")  # at the end of a line
# What German writes in two forms: a sign that a text may have the first form, this form, and the second one
_ALSO = (
    ("tr.", re.compile(r"(?<!\w)([A-ZÄÖÜ][^\W\d_]{2,}-?s|S)tr\.(?!\w)"), r"\1traße"),
    (" Uhr", re.compile(r"(?<![\w.,])(\d{1,2})\.(\d\d)(?= Uhr)"), r"\1:\2"),
)
_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS = re.compile(r"(?<=\d)[A-Za-z]{2,}|[A-Za-z]{2,}(?=\d)")  # beside a digit: GHz, OAuth
_OTHER_PARTS = re.compile(r"\d+|\D+")
_NAMES = re.compile(r"\.|::|->|@")
_BETWEEN = re.compile("[-_.'\u2019@&:>,/ ()+\u200c\u200d]+")
_GROUPED = re.compile(f"{PHONE}|{MAC}")
_NUMBER = re.compile(r"v?\d+(?:[-.,:/'\u2019]\d+)+[TZ]?")
_MEASURE = re.compile(r"v?(\d+(?:[.,]\d+)+)-?([^\W\d_].*)")
_INNER = re.compile(r"(?<!\d)(?:\d+(?:[-.,:/]\d+)+|(?:19|20)\d{6}(?!\d))")  # in names: log4j-2.17.1.jar, IMG_20240517
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?")
_BETWEEN_NUMBERS = re.compile(r"[,/:-]")
UMLAUT = re.compile("(?<![aeiou])(?:([aou])e|a(?=a))")
_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})

Weighted = tuple[tuple[str, float], ...]


def text_words(text: str, language: str) -> str:
    """The words of a text in a language, separated by spaces."""
    dates = [word for date in named_dates(text) for word in (date, date[:7])]
    undivided = text if text.isascii() else " ".join([DIVISION.sub("", text), *map("".join, DIVIDED.findall(text))])
    return " ".join(filter(None, [*map(_run_words, runs_of(undivided), repeat(language)), *dates]))


@lru_cache(maxsize=1)  # the chunks of a file are written one after another
def path_words(path: str, language: str = ENGLISH) -> str:
    """The words of the name of a file, twice, and of its last folders. Names may be English in any language."""
    *folders, name = path.split("/")
    named = " ".join([name, name.rpartition(".")[0] or name, *folders[-FOLDERS:]])
    words = text_words(named, ENGLISH).split()
    others = [] if language == ENGLISH else text_words(named, language).split()
    return " ".join([*words, *(word for word in others if word not in words)])


def chunk_words(text: str, path: str, named: str, language: str) -> str:
    """The words of a chunk, separated by spaces. Those of its path and of what is `named` with it have a mark."""
    names = f"{path_words(path, language)} {text_words(named, language)}".split()
    return " ".join([text_words(text, language), *(NAMED + name for name in names)])


def query_words(query: str, languages: Iterable[str]) -> dict[str, float]:
    """The words of a query with their weights, in all of the languages that its texts may have.

    A word counts as often as the query contains it.
    """
    spoken = tuple(dict.fromkeys((*languages, ENGLISH)))
    found: dict[str, float] = {}
    runs = runs_of(query)
    for run in runs:
        own: dict[str, float] = {}
        for language in spoken:
            for word, weight in _words(run, language, is_query=True):
                own[word] = max(weight, own.get(word, 0.0))
        if run.isalpha() and own and not UNSPACED.search(run):
            own.setdefault(folded(run.lower()), 1.0)
            own = dict.fromkeys(other_numbers(run.lower()), POSSIBLE) | own
            # Two letters, such as ue, may be written as an umlaut, and an umlaut as two letters.
            for other in dict.fromkeys((UMLAUT.sub(r"\1", run.lower()), run.lower().translate(_TWO_LETTERS))):
                for word in (*stems(other, ENGLISH), other):
                    own.setdefault(word, POSSIBLE)
        for word, weight in own.items():
            found[word] = found.get(word, 0.0) + weight
    if any(map(str.isdigit, query)):
        found.update(dict.fromkeys([*named_dates(query)] or named_months(query), DATE))
    if len(runs) <= MOST_JOINED:
        for first, second in pairwise(runs):
            if first.isalnum() and second.isalnum() and _words(first, ENGLISH, is_query=True):  # also in "set up"
                for word, _ in _words((first + second).lower(), ENGLISH, is_query=True)[:1]:
                    found.setdefault(word, POSSIBLE)
    return found


def runs_of(text: str) -> list[str]:
    """The runs of letters, digits and what joins them, each of which has words of its own.

    Names have no escapes of Markdown or HTML. A word of which a part is emphasised is also a word without the marks,
    and so is one that a hyphen divides at the end of a line. A street or a time has the words of its other form, too.
    """
    text = unescaped(text)
    if "\\" in text:
        text = _ESCAPE.sub("", text)
    if "*" in text or (("==" in text or "</" in text) and _RARE_EMPHASIS.search(text)):
        whole = ["".join(found[::2]) + found[3] for found in _EMPHASIS.findall(text) if found[0] or found[3]]
        text = " ".join([text, *whole])
    if "-\n" in text:
        text = " ".join([text, *map("".join, _HYPHENATED.findall(text))])
    for sign, pattern, other in _ALSO:
        if sign in text:
            text = " ".join([text, *(found.expand(other) for found in pattern.finditer(text))])
    if text.isascii():
        return _ASCII.findall(text)
    text = text.replace("\u2139", "\U0001f6c8")  # the sign of information, which NFKC makes a letter
    return _OTHER.findall(alike(unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=100_000)
def _run_words(run: str, language: str) -> str:
    return " ".join(word for word, _ in _words(run, language, is_query=False))


@lru_cache(maxsize=100_000)
def _words(run: str, language: str, *, is_query: bool) -> Weighted:
    """The words of one run of letters, digits and what joins them."""
    if language == ENGLISH and run.isascii() and run.isalpha() and run.islower():
        return () if run in STOP_WORDS.get(language, ()) or len(run) > LONGEST else ((stems(run, language)[0], 1.0),)
    found: dict[str, float] = {}
    for word, weight in _all_words(run, language, is_query=is_query):
        if len(word) <= LONGEST:
            found[word] = max(weight, found.get(word, 0.0))
    if local := local_number(run, is_query=is_query):
        found.setdefault(local, POSSIBLE)
    return tuple(found.items())


def _all_words(run: str, language: str, *, is_query: bool) -> Iterator[tuple[str, float]]:
    if _LANGUAGE.fullmatch(run):
        yield from ((word, 1.0) for word in dict.fromkeys((run.lower(), run.lower().rstrip("0123456789"))))
        return
    # The groups of an account, a telephone number or an amount
    if " " in run or run.startswith("+") or (len(run) > LEAST_JOINED and _GROUPED.fullmatch(run)):
        yield amount(run) or _BETWEEN.sub("", run.replace("(0)", "")).lower(), 1.0
        for group in _BETWEEN.split(run):
            yield from _words(group, language, is_query=is_query)
        return
    if _NUMBER.fullmatch(run):
        yield from _number_words(run.strip("vTZ").replace("\u2019", "'"), language, is_query=is_query)
        return
    if measure := _MEASURE.fullmatch(run):  # 2.4GHz, 2.10.3-beta
        yield from _whole(_BETWEEN.sub("", run), language, is_query=is_query)
        for part in measure.groups():
            yield from _words(part, language, is_query=is_query)
        return
    if (numbers := _INNER.findall(run)) and not is_hash(run):
        for own, beginnings in map(number_words, numbers):
            yield from ((word, 1.0) for word in (*own, *(() if is_query else beginnings)))
    names = [name for name in _NAMES.split(run) if name]
    if len(names) > 1:
        yield from _whole(_BETWEEN.sub("", run), language, is_query=is_query)
    for name in names:
        yield from _name_words(name, language, is_query=is_query)


def _number_words(number: str, language: str, *, is_query: bool) -> Iterator[tuple[str, float]]:
    own, beginnings = number_words(number)
    is_date = len(own[0]) == len("2024-05-17") and own[0][4] == own[0][7] == "-"
    yield from ((word, 1.0) for word in (*own, *(() if is_query else beginnings)))
    # Separators may also be between several numbers. Parts of a date, of a time or of an address say nothing.
    if not is_query and not _TIME.fullmatch(number) and not is_date:
        parts = [part for part in _BETWEEN_NUMBERS.split(number) if part]
        for part in parts if len(parts) > 1 else ():
            yield from _words(part, language, is_query=is_query)
    digits = number.replace("-", "")
    if digits.isdigit() and len(digits) >= LEAST_JOINED and not is_date:
        yield digits, 1.0


def _name_words(name: str, language: str, *, is_query: bool) -> Iterator[tuple[str, float]]:
    """The words of a name without dots: itself, the parts of which it consists, and the beginnings of hashes."""
    joined = _BETWEEN.sub("", name)
    if not joined:
        return
    pieces = [joined] if is_hash(name) else [piece for piece in _BETWEEN.split(name) if piece]
    parts: list[str] = []
    if len(joined) <= LONGEST:
        parts = list(dict.fromkeys(part for piece in pieces for part in _parts(piece)))
    has_apostrophe = "'" in name or "\u2019" in name
    if not has_apostrophe:
        yield from _whole(joined, language, is_query=is_query)
    if has_apostrophe or 1 < len(parts) <= MOST_PARTS:
        for piece in [*pieces, *parts] if len(pieces) > 1 else parts:
            if len(piece) > 1 or not piece.isascii():
                yield from _whole(piece, language, is_query=is_query)
            elif piece.isdigit():  # 5V is also 5 V
                yield piece, POSSIBLE
    for beginnings in (hash_prefixes(piece.lower()) for piece in pieces if parts):
        # A text may contain the beginning alone.
        yield from ((word, POSSIBLE) for word in beginnings[:1]) if is_query else ((word, 1.0) for word in beginnings)


def _parts(piece: str) -> list[str]:
    """Where letters change into capitals, or into digits; a hash has no parts."""
    if is_hash(piece):
        return [piece]
    return [*(_PARTS if piece.isascii() else _OTHER_PARTS).findall(piece), *_LETTERS.findall(piece)]


def _whole(word: str, language: str, *, is_query: bool) -> Iterator[tuple[str, float]]:
    """The words of a word without joints, by its script."""
    word = word.lower()
    if word in STOP_WORDS.get(language, ()):
        return
    if not word.isascii():
        for run in UNSPACED.findall(word):
            yield from ((piece, 1.0) for piece in grams(run, is_query=is_query))
        for other in UNSPACED.split(word):
            for run in HANGUL.findall(other):
                yield from ((piece, 1.0) for piece in hangul_grams(run, is_query=is_query))
            for rest in filter(None, HANGUL.split(other)):
                yield from _inflected(rest, language)
        return
    yield from _forms(word, language)


def _forms(word: str, language: str) -> Iterator[tuple[str, float]]:
    """The stems of a word, and outside English also the word itself."""
    yield from ((stem, 1.0) for stem in stems(word, language))
    if language != ENGLISH:
        yield folded(word), 1.0


def _inflected(word: str, language: str) -> Iterator[tuple[str, float]]:
    if ARABIC.match(word):
        # The stemmer finds the singular of some plurals only behind an article.
        noun = without_article(word)
        yield from ((stem, 1.0) for form in (noun, f"ال{noun}") for stem in stems(form, "ar"))
        return
    yield from _forms(word, language)
    if HEBREW.match(word):
        yield from ((shorter, POSSIBLE) for shorter in without_prefixes(word))
