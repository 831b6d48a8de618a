"""What people and programs see while an index is being built, or after its build was stopped."""

import json

import pytest
from built import make_index, write_documents
from command import cdesearch
from running_server import running_server, wait_until
from staged import WINDOW, stop_at_stage

from cdesearch.store.index import Index


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory, tiny_checkpoint):
    """Indexes that stopped with no vectors, and with those of one window."""
    docs = [write_documents(tmp_path_factory.mktemp("unfinished") / "docs") for _ in range(2)]
    for number, folder in enumerate(docs, start=1):
        stop_at_stage(folder, tiny_checkpoint, number)
    return docs


def share(folder):
    manifest = Index.open(folder).manifest
    return f"vectors: {100 * manifest.n_vectors // manifest.n_chunks}%, words: all"


def test_a_query_says_in_one_line_how_much_it_searches(unfinished):
    for number, folder in enumerate(unfinished):
        assert Index.open(folder).manifest.n_vectors == number * WINDOW
        run = cdesearch("query", "moon", cwd=folder)
        assert run.stdout.startswith(" 1 03.md")
        (line,) = run.stderr.splitlines()
        assert line.startswith(f"{share(folder)} (")
        assert cdesearch("query", "moon", "--mode", "text", cwd=folder).stderr == ""
        assert json.loads(cdesearch("query", "moon", "--json", cwd=folder).stdout)["stage"] == share(folder)


def test_a_dense_query_without_vectors_says_what_to_do(unfinished):
    run = cdesearch("query", "moon", "--mode", "dense", cwd=unfinished[0], code=2)
    assert "not complete yet (vectors: 0%, words: all)" in run.stderr and "--mode text" in run.stderr
    assert cdesearch("query", "moon", "--mode", "dense", cwd=unfinished[1]).stdout


def test_a_question_is_answered_by_what_can_be_searched_already(unfinished):
    for folder in unfinished:
        run = cdesearch("ask", "in which house is the moon?", cwd=folder)
        assert "the moon is in the house. [1]" in run.stdout and run.stderr.startswith(f"{share(folder)} (")


def test_the_status_names_the_stage(unfinished):
    for number, folder in enumerate(unfinished):
        facts = json.loads(cdesearch("status", "--json", cwd=folder).stdout)
        assert (facts["vectors"], facts["stage"]) == (number * WINDOW, share(folder))
        assert share(folder) in cdesearch("status", cwd=folder).stdout


@pytest.mark.slow
def test_a_server_answers_in_each_stage_and_takes_up_the_next(unfinished, tiny_checkpoint):
    with running_server([folder / ".cdesearch" for folder in unfinished]) as server:
        names = server.indexes.names
        for name, folder in zip(names, unfinished, strict=True):
            assert server.json("status", index=name)["indexes"][0]["stage"] == share(folder)
            answer = server.json("search", q="moon", index=name)
            assert answer["stage"] == share(folder) and answer["hits"][0]["path"] == "03.md"
            if folder is unfinished[1]:
                pending = next(hit["chunk"] for hit in answer["hits"] if hit["dense_score"] is None)
                assert server.json("explain", q="moon", chunk=pending, index=name)["dense"]["cosine"] is None
            direct = cdesearch("query", "moon", cwd=folder)
            assert direct.stderr.startswith(share(folder)), "also through the server"
            make_index([folder], model=tiny_checkpoint)
            wait_until(lambda name=name: server.json("search", q="moon", index=name)["stage"] == "complete")
            assert "vectors:" not in cdesearch("query", "moon", cwd=folder).stderr
            assert cdesearch("status", cwd=folder).stdout.split("stage")[1].split()[0] == "complete"
