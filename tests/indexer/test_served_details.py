"""The options that describe a model on a server: what an index keeps of them, and what a run changes."""

import re

import pytest
from built import make_index
from command import cdesearch
from notes import Notes

import cdesearch as package
from cdesearch.errors import IndexMismatchError, IndexUntrustedError
from cdesearch.models.endpoint_model import EndpointModel, with_details
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from cdesearch.store.trust import trust_file


@pytest.fixture(autouse=True)
def _indexed(docs, server):
    """Documents that are indexed with the prefixes of E5."""
    make_index([docs], model=EndpointModel(server.url, "tiny", "query: ", "passage: "))


def served(docs):
    """The URL, the name and the prefixes that the index stores."""
    manifest = Index(docs / ".cdesearch").manifest
    return manifest.model, manifest.served.name, manifest.served.query_prefix, manifest.served.document_prefix


def run(docs, *paths, notes=None, url="", name=None, query_prefix=None, document_prefix=None, **options):
    model = with_details(EndpointModel(url) if url else None, name, query_prefix, document_prefix)
    return make_index(list(paths), notes or Silent(), index=docs / ".cdesearch", model=model, **options)


@pytest.mark.slow
@pytest.mark.parametrize("names_path", [False, True])
def test_a_rebuild_with_one_detail_keeps_the_server_and_the_other_details(docs, server, names_path):
    paths = [docs] if names_path else []
    run(docs, *paths, query_prefix="ask: ", rebuild=True)
    assert served(docs) == (server.url, "tiny", "ask: ", "passage: ")
    run(docs, *paths, query_prefix="", rebuild=True)
    assert served(docs) == (server.url, "tiny", "", "passage: ")
    server.requests.clear()
    assert package.open(docs).search("the cat")
    assert ["the cat"] in server.requests


def test_another_name_keeps_the_server_but_not_the_prefixes_and_says_so(docs, server):
    server.models.add("other")
    notes = Notes()
    run(docs, name="other", rebuild=True, notes=notes)
    assert served(docs) == (server.url, "other", "", "")
    assert notes.lines == [
        "The prefixes of tiny are not used for other. If it needs any, add --query-prefix and --document-prefix."
    ]
    notes = Notes()
    run(docs, name="tiny", document_prefix="text: ", rebuild=True, notes=notes)
    assert served(docs) == (server.url, "tiny", "", "text: ") and not notes.lines


def test_an_update_that_names_the_server_again_keeps_the_prefixes(docs, server):
    (docs / "late.md").write_text("the late bread")
    report = run(docs, docs, url=server.url, name="tiny")
    assert report.embedded == 1 and served(docs) == (server.url, "tiny", "query: ", "passage: ")


def test_an_update_with_another_detail_asks_for_a_rebuild(docs, server):
    server.models.add("other")
    for details, option, part in (
        ({"query_prefix": "ask: "}, "--query-prefix", "'query: ', not 'ask: '"),
        ({"document_prefix": ""}, "--document-prefix", "'passage: ', not ''"),
        ({"name": "other"}, "--model-name", "tiny, not other"),
    ):
        with pytest.raises(IndexMismatchError) as caught:
            run(docs, **details)
        assert f"The index was built with {option} {part}. Leave out --" in str(caught.value)
        assert f"`cdesearch index --rebuild {option} " in str(caught.value)
    assert served(docs) == (server.url, "tiny", "query: ", "passage: ")


@pytest.mark.parametrize("names_path", [False, True])
def test_a_detail_alone_does_not_confirm_the_server_that_an_index_names(docs, server, names_path):
    trust_file().unlink()
    server.requests.clear()
    with pytest.raises(IndexUntrustedError):
        run(docs, *([docs] if names_path else []), query_prefix="ask: ", rebuild=True)
    assert not server.requests


@pytest.mark.slow
def test_python_takes_one_detail_as_well(docs, server):
    with package.build(index=docs, query_prefix="ask: ", rebuild=True) as opened:
        assert opened.search("the cat") and ["ask: the cat"] in server.requests
        (docs / "late.md").write_text("the late bread")
        assert opened.update().embedded == 1
    assert served(docs) == (server.url, "tiny", "ask: ", "passage: ")


def test_status_shows_the_prefixes_of_the_model_if_there_are_any(docs):
    shown = cdesearch("status", cwd=docs).stdout
    assert re.search(r"query prefix +'query: '\n(.*\n)*document prefix +'passage: '", shown)
    run(docs, query_prefix="", document_prefix="", rebuild=True)
    assert " prefix " not in cdesearch("status", cwd=docs).stdout
