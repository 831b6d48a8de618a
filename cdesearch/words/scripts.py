"""Words of scripts whose words are not separated by spaces, or are written together with particles."""

import re
from collections.abc import Iterator

# Chinese and Japanese, in which a word of a query is found by pairs of letters, and Thai, Lao, Burmese and Khmer, whose
# syllables have marks, and in which it is found by four letters, or by two if it has fewer than four.
_TWO = r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
_FOUR = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
UNSPACED = re.compile(f"{_TWO}|{_FOUR}")
NO_EDGE = _TWO[1:-2] + _FOUR[1:-2]  # in a class: letters beside which a word of another script is whole
# Between two letters: the end of a line, or a blank as programs that recognise letters write it around each of them
DIVISION = re.compile(rf"\n(?<={_TWO[:-1]}\n)(?={_TWO[:-1]})| (?<={_TWO[:-1]} )(?={_TWO[:-1]}(?!\w))")
HIRAGANA = re.compile(r"[\u3040-\u309f]+")  # mostly endings and particles
_STEM = re.compile(r"(?<![\u3400-\u9fff])[\u3400-\u9fff](?=[\u3041-\u3096])")
# Letters of all scripts, and marks that belong to them, such as accents and the vowels of Hindi and Hebrew
LETTER = (
    r"[\w\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a"
    r"\u0e47-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3]"
)
_HANGUL = r"\uac00-\ud7af"
DIVIDED = re.compile(rf"([{_HANGUL}])\n(?=([{_HANGUL}]))")  # syllables of one word or of two, so they are also joined
HANGUL, NO_END = re.compile(f"[{_HANGUL}]+"), NO_EDGE + _HANGUL  # Korean particles follow a word
HEBREW = re.compile(r"[\u05d0-\u05ea]{3,}")
ARABIC = re.compile(r"[\u0621-\u064a]{3,}")
# "And", "that", "the", "in", "from", "to" and "as" are written together with the next word in Hebrew.
_HEBREW_PREFIX = re.compile(r"(?:ו?(?:כש|לכש|מש|ש)?[הבלמכ]?|ו)(?=[\u05d0-\u05ea]{2})")
_ARABIC_PREFIX = re.compile(r"^[وف]?(?:[بك]?ال|لل)(?=\w\w)")  # the article, with "and", "so", "in" or "as" before it


def grams(run: str, *, is_query: bool) -> list[str]:
    """The pieces by which a run of letters in a script of UNSPACED is found."""
    if re.match(_TWO, run):
        # A text is also found by single letters. Pieces of hiragana alone say little about a query with others.
        pairs = _of_length(run, 2)
        if is_query:  # a verb has other endings in hiragana, and a noun may be written without those of its parts
            stems = _STEM.findall(run)
            return [*(pair for pair in pairs if not HIRAGANA.fullmatch(pair)), *stems] or pairs or [run]
        return [*pairs, *run]
    if is_query:
        return _of_length(run, 4) or _of_length(run, 2) or [run]
    return [*_of_length(run, 4), *_of_length(run, 2), *([run] if len(run) in (1, 3) else [])]


def hangul_grams(word: str, *, is_query: bool) -> list[str]:
    """The pairs of syllables of a Korean word, which ends in particles, and for a text also its first syllable."""
    pairs = _of_length(word, 2)
    return pairs or [word] if is_query else [*pairs, word[0]]


def without_prefixes(word: str) -> Iterator[str]:
    """Yield the shorter words that a Hebrew word may consist of, without one or more of its prefixes."""
    found = _HEBREW_PREFIX.match(word)
    for end in range(1, 1 + (found.end() if found else 0)):
        if len(word) - end >= 2:
            yield word[end:]


def without_article(word: str) -> str:
    """An Arabic word without the article; other words as they are."""
    return word if word.isascii() else _ARABIC_PREFIX.sub("", word)


def _of_length(run: str, size: int) -> list[str]:
    return [run[at : at + size] for at in range(len(run) - size + 1)]
