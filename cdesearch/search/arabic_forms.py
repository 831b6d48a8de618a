"""Add the forms of a query's Arabic words with and without an article, so that "ملفات" finds "والملفات".

Arabic writes conjunctions, prepositions and the article together with the noun. The stemmer of full text removes one
of them, but not the two of "and the" and "so the", and some plurals have another stem with the article than without.
"""

import re

from cdesearch.search.word_forms import without_article

_WORD = re.compile(r"[\u0621-\u064a]{3,}")
_PREFIXES = ("", "ال", "وال", "فال")  # none, "the", "and the", "so the"


def with_arabic_forms(query: str) -> str:
    """Return a query followed by the other forms of its Arabic words."""
    added = []
    for word in _WORD.findall(query):
        noun = without_article(word)
        added += [form for prefix in _PREFIXES if (form := prefix + noun) != word]
    return " ".join([query, *added])
