"""A simple rule for whether two words are forms of one word.

The rule serves to highlight and count words. Full text compares stems, which differ from this rule in rare cases.
The web page implements the same rule in JavaScript.
"""

STEM = 4  # the minimum number of letters that two forms of a word have in common


def word_stem(word: str) -> str:
    """Return the letters with which every form of a word must begin: all but the last three, but at least STEM."""
    return word[: max(STEM, len(word) - 3)]


def is_form_of(token: str, word: str) -> bool:
    """Return whether `token` is a form of `word`. Both must be in lower case and without accents."""
    if len(word) < STEM:
        return token == word or (len(word) == STEM - 1 and token == f"{word}s")
    return token.startswith(word_stem(word))
