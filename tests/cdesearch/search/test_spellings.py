"""Texts, queries and paths that write the same letters with other characters."""

from unicodedata import normalize

import pytest

import cdesearch
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index

NAME = normalize("NFD", "Übersicht.md")


@pytest.fixture(scope="module")
def built(tmp_path_factory, tiny_checkpoint):
    folder = tmp_path_factory.mktemp("spellings")
    (folder / NAME).write_text(normalize("NFD", "Die Prüfung der Höh\u00adlen ist \ufb01nal.\n"), encoding="utf-8")
    (folder / "other.md").write_text("Die Prüfung\n", encoding="utf-8")
    with cdesearch.build(folder, model=tiny_checkpoint) as opened:
        yield folder, opened


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("phrase", ["Prüfung der Höhlen ist final", "Prü\u00adfung der Höh\u200blen", "ist ﬁnal"])
def test_a_phrase_is_found_however_text_and_query_write_it(built, phrase, form):
    folder, opened = built
    (hit,) = opened.search(normalize(form, f'"{phrase}"'), mode="text", path=normalize(form, "Übers*"))
    assert (folder / hit.chunk.path).is_file() and hit.chunk.body == "Die Prüfung der Höhlen ist final."


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_file_is_shown_by_its_name_in_any_form(built, form):
    folder, _ = built
    (chunk,) = DocumentReader(Index.open(folder)).file(normalize(form, NAME))
    assert chunk.path == NAME and chunk.title == normalize("NFC", NAME)
