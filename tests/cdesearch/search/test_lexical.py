import pytest

import cdesearch
from cdesearch.search import lexical
from cdesearch.search.lexical import find_unknown_name

AUTH = '''
def should_strip_auth(self, url):
    """Tell whether the header has to go."""
    return url.host != self.host
'''
FILES = {
    "auth.py": AUTH,
    "uses.py": "x = should_strip_auth(a) or should_strip_auth(b)\n# should strip auth, should strip auth\n",
    "words.md": "You should strip the auth header before you go on to another host.",
    "errors.py": "class HTTPError(Exception):\n    pass\n",
    "raises.py": "raise HTTPError(1)\nraise HTTPError(2)\nraise HTTPError(3)\n",
    "session.md": "A session has a manager, who opens the session.",
    "options.md": "- `--dry-run`: show what would be done\n",
    "run.md": "A dry run is a run after the dry season; run --dry-runs.",
    "job.md": "Write your résumé before you apply for work.",
    "play.md": "Press the key, and the film will go on: it will resume.",
    "hamlet.md": "Whether it is, as he asks,\nto be or not\nto be.",
    "sql.py": "def is_not(column):\n    return column\n",
    "other.md": "Hamlet is a prince of Denmark who has to decide whether to act.",
}


@pytest.fixture(scope="module")
def searcher(searcher_of, tiny_checkpoint):
    return searcher_of(FILES, tiny_checkpoint)


def paths(searcher, query, mode="text", k=10, path=None):
    return [hit.chunk.path for hit in searcher.search(query, k, mode, path)]


def test_words_that_full_text_ignores_are_sought_in_their_order(searcher):
    assert paths(searcher, "to be or not to be") == ["hamlet.md"] and not paths(searcher, "to be or to not be")
    assert paths(searcher, "to be or not to be", "hybrid")[0] == "hamlet.md"
    for long in ("a " * 99, f'"{"a " * 98}a"'):
        assert not paths(searcher, long)


def test_the_definition_comes_before_uses_and_uses_before_the_words(searcher):
    assert list(dict.fromkeys(paths(searcher, "should_strip_auth"))) == ["auth.py", "uses.py", "words.md"]
    assert paths(searcher, "HTTPError")[:2] == ["errors.py", "raises.py"]
    assert paths(searcher, "what is HTTPError for", "hybrid")[0] == "errors.py"


def test_an_option_is_not_taken_for_its_words_or_for_a_longer_one(searcher):
    assert paths(searcher, "--dry-run")[0] == "options.md"


def test_a_name_that_no_chunk_contains_is_searched_by_its_words(searcher):
    assert paths(searcher, "SessionManager")[0] == "session.md"


def test_accents_do_not_hide_a_word(searcher):
    assert set(paths(searcher, "resume")) == set(paths(searcher, "résumé")) == {"job.md", "play.md"}


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_quoted_query_finds_only_chunks_with_the_phrase_even_of_words_that_full_text_ignores(searcher, mode):
    assert paths(searcher, '"to be or not to be"', mode) == ["hamlet.md"]
    assert paths(searcher, '"Strip the AUTH"', mode) == ["words.md"]
    assert paths(searcher, '"strip the header"', mode) == []
    assert paths(searcher, '"to be" is what a prince asks', mode) == ["hamlet.md"]
    assert paths(searcher, '"no such phrase" prince of Denmark', mode)[0] == "other.md"
    assert paths(searcher, '"strip the auth" should_strip_auth HTTPError', mode) == ["words.md"]


def test_a_phrase_is_found_with_a_comma_after_a_function_word_of_its_language(tmp_path, tiny_checkpoint):
    (tmp_path / "a.md").write_text("Vergiss die Pässe nicht, sonst müssen wir auf dem Weg zum Bahnhof umkehren.")
    with cdesearch.build(tmp_path, model=tiny_checkpoint) as built:
        assert len(built.search('"Pässe nicht, sonst"').hits) == 1


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_phrase_that_a_long_text_quotes_is_not_demanded(searcher, mode):
    words = "the prince of Denmark asks in a famous speech whether a man should strip the header of"
    found = paths(searcher, f'{words} "to be or not"', mode)
    assert "hamlet.md" in found and len(set(found)) > 1


def test_a_name_of_words_that_full_text_ignores_is_found(searcher):
    assert paths(searcher, "is_not") == ["sql.py"]


def test_a_filter_of_files_holds_for_exact_terms(searcher):
    assert paths(searcher, "should_strip_auth", path="*.md") == ["words.md"]
    assert paths(searcher, '"to be or not"', path="*.py") == []


@pytest.mark.parametrize("mode", ["text", "hybrid"])
@pytest.mark.parametrize("query", ["should_strip_auth", "why HTTPError", "resume SessionManager", '"to be" or is_not'])
def test_the_explanation_adds_up_with_exact_terms(searcher, query, mode):
    for hit in searcher.search(query, 3, mode):
        explained = searcher.explain(hit.chunk.id, query, 3, mode)
        assert explained.score == pytest.approx(hit.score, rel=1e-5)
        assert sum(word.bm25 for word in explained.words) == pytest.approx(hit.text_score or 0, rel=1e-5)


@pytest.fixture(scope="module")
def crowded(searcher_of, tiny_checkpoint):
    """Many short texts with the words `alpha` and `beta`, one with the name, and one with the phrase."""
    texts = {f"{number}.md": f"beta {number} alpha {number} beta {number} alpha" for number in range(12)}
    texts |= {"name.md": "The name is alpha_beta", "phrase.md": "They say alpha beta here"}
    return searcher_of(texts, tiny_checkpoint)


@pytest.fixture
def few_are_read(monkeypatch):
    monkeypatch.setattr(lexical, "MAX_EXACT", 2)
    monkeypatch.setattr(lexical, "MAX_READ", 4)


def test_a_name_is_found_among_many_texts_with_its_words(crowded, few_are_read):
    assert paths(crowded, "alpha_beta")[0] == "name.md"


def test_a_large_index_reads_all_texts_only_for_a_phrase_that_the_best_lack(crowded, few_are_read, monkeypatch):
    monkeypatch.setattr(lexical, "MAX_SEARCHED", 10)
    assert paths(crowded, '"alpha beta"') == ["phrase.md"]
    monkeypatch.setattr(lexical, "MAX_READ", 20)
    conditions = []
    monkeypatch.setattr(lexical.ExactTerm, "condition", property(lambda term: conditions.append(term) or "true"))
    assert paths(crowded, '"alpha beta"') == ["phrase.md"] and not conditions


@pytest.fixture(scope="module")
def named(searcher_of, tiny_checkpoint):
    texts = {
        "sourdough-troubleshooting.md": "# Why is my bread flat?\n\nThe primary oven is cold.\n",
        "index.md": "# Sourdough troubleshooting\n\n" + "See sourdough-troubleshooting.md. " * 5,
        "Einkommensteuerbescheid.txt": "Nachzahlung 2023: 14 Euro\n",
        "apollo/minutes.md": "We met on Tuesday.\n",
        "front.md": "---\nstatus: postponed\nowner: Leopold\n---\nThe fence is broken.\n",
    }
    return searcher_of(texts, tiny_checkpoint)


@pytest.mark.parametrize("mode", ["text", "hybrid"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sourdough-troubleshooting.md", "sourdough-troubleshooting.md"),
        ("Sourdough-Troubleshooting", "sourdough-troubleshooting.md"),
        ("where is sourdough-troubleshooting.md", "sourdough-troubleshooting.md"),
        ("Einkommensteuerbescheid", "Einkommensteuerbescheid.txt"),
        ("apollo minutes", "apollo/minutes.md"),
        ("Apollo", "apollo/minutes.md"),
        ("postponed", "front.md"),
        ("„The fence is“", "front.md"),
        ("«fence is broken»", "front.md"),
    ],
)
def test_a_file_is_found_by_its_name_its_folder_and_its_fields(named, query, expected, mode):
    assert paths(named, query, mode)[0] == expected


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("a Fenke of sourdugh", "a fence of sourdough"),
        ("sourdouhg", "sourdough"),
        ("primray", "primary"),  # their stems differ in more than two letters
        ("the fenke -oven", "the fence -oven"),
        ("primaryoven", "primary oven"),
        ("f" * 100_000, None),
        ("postponed", None),
        ("fenced", None),
        ("house", None),  # the corpus lacks it, but it is a word
        ('"sourdugh"', None),
        ("path:indxe", None),
    ],
)
def test_a_word_that_the_corpus_lacks_is_searched_as_the_word_that_is_spelled_like_it(named, query, searched):
    assert named.search(query, mode="text").searched == searched


def test_the_explanation_of_a_hit_is_that_of_the_words_that_were_searched(named):
    for query in ("sourdugh", "sourdouhg"):
        hit = named.search(query, mode="text").hits[0]
        explained = named.explain(hit.chunk.id, query, mode="text")
        assert sum(word.bm25 for word in explained.words) == pytest.approx(hit.text_score)


def test_a_query_lacks_a_name_if_no_text_has_it(named):
    lacking = [
        find_unknown_name(named.index, query, lambda word: word == "kubernetes", [])
        for query in (
            "is Oslo cold", "a kubernetes oven", "the BX-300 oven", "is Leopold cold", "Is The Oslo Oven",
            "why 2023-14", "what was cold in March", "is the oven cold on Monday",
        )
    ]  # fmt: skip
    assert lacking == ["Oslo", "kubernetes", "BX-300", None, None, None, None, None]
