import json

import numpy as np
import pytest
from command import cdesearch as command
from random_biencoder import biencoder_folder
from random_released import released_folder
from running_server import running_server
from served_pages import PAGES, write_pages

import cdesearch
from cdesearch.cli.status import read_status
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import text_hash

QUERY = "the river stone"


@pytest.fixture(scope="module")
def pages(tmp_path_factory, closed_checkpoint):
    """The folder of an index whose model has a context head, and whose context is not the whole corpus."""
    root = write_pages(tmp_path_factory.mktemp("attended") / "pages")
    cdesearch.build(root, model=closed_checkpoint, context_size=9).close()
    return root


@pytest.fixture(scope="module")
def searcher(pages):
    with Searcher(Index.open(pages)) as searcher:
        yield searcher


@pytest.fixture(scope="module")
def server(pages):
    with running_server([pages]) as server:
        yield server


def in_order(searcher, weights):
    """The stored rows of the sampled chunks, those with the highest weights first."""
    rows = {row["id"]: row for row in searcher.index.chunks.to_arrow().to_pylist()}
    chunks = searcher.index.context.sampled.chunk_ids
    return [(rows[chunks[at]], float(weights[at])) for at in np.argsort(-weights)]


def test_the_status_names_the_paths_to_which_the_sampled_chunks_attend_most(pages, searcher, server):
    attended = searcher.index.context.attended
    weights = searcher.encoder.head.attend(attended, attended, "document").weights.mean(axis=0)
    paths = list(dict.fromkeys(row["path"] for row, _ in in_order(searcher, weights)))[:6]
    assert 1 < len(paths) < len(weights)
    for facts in (server.json("status")["indexes"][0], json.loads(command("status", "--json", cwd=pages).stdout)):
        assert (facts["second_stage"], facts["most_attended"]) == ("reads 9 chunks", paths)
    assert f"reads 9 chunks; most attended: {', '.join(paths)}\n" in command("status", cwd=pages).stdout


def test_an_explanation_has_what_the_query_attends_to(searcher, server):
    encoder, context = searcher.encoder, searcher.index.context
    asked = context.whitening.apply(encoder.encode([QUERY], "query", context.sample))
    weights = encoder.head.attend(asked, context.attended, "query").weights[0]
    best = in_order(searcher, weights)[:6]
    sampled = []
    for hit in searcher.search(QUERY, 20):
        explained = server.json("explain", q=QUERY, k=20, chunk=hit.chunk.id)
        found, dense = explained["context"], explained["dense"]
        own = context.whitening.apply(encoder.encode([hit.chunk.text], "document", context.sample))
        assert dense["own_cosine"] == pytest.approx(float(asked[0] @ own[0]), abs=1e-2)
        assert abs(dense["cosine"] - dense["own_cosine"]) > 1e-2
        assert found["reads"] == 9 and found["sink"] == pytest.approx(1 - weights.sum(), abs=1e-6)
        assert [(one["chunk"], one["path"]) for one in found["attended"]] == [
            (row["id"], row["path"]) for row, _ in best
        ]
        assert [one["weight"] for one in found["attended"]] == pytest.approx([weight for _, weight in best])
        assert all(one["start"] in " ".join(PAGES[one["path"]].split()) for one in found["attended"])
        sampled.append(text_hash(hit.chunk.text) in context.sampled.content_hashes)
    assert any(sampled) and not all(sampled)


def test_sampled_chunks_that_an_update_removed_are_left_out(tmp_path, closed_checkpoint):
    root = write_pages(tmp_path / "pages")
    cdesearch.build(root, model=closed_checkpoint).close()
    first = next(path for path in read_status(Index.open(root))["most_attended"] if path != "long.md")
    (root / first).unlink()
    cdesearch.build(root, model=closed_checkpoint).close()
    assert first not in read_status(Index.open(root))["most_attended"]
    with Searcher(Index.open(root)) as searcher:
        found = searcher.explain(searcher.search(QUERY, 1)[0].chunk.id, QUERY, 1).context
        assert len(found.attended) == 6 and first not in {one.path for one in found.attended}


def test_a_corpus_of_one_chunk_attends_to_nothing_and_its_query_to_the_chunk(tmp_path, closed_checkpoint):
    (tmp_path / "moon.md").write_text("The moon pulls the tides.")
    cdesearch.build(tmp_path, model=closed_checkpoint).close()
    facts = read_status(Index.open(tmp_path))
    assert (facts["second_stage"], facts["most_attended"]) == ("reads 1 chunk", [])
    with Searcher(Index.open(tmp_path)) as searcher:
        (hit,) = searcher.search("river", 1)
        (one,) = searcher.explain(hit.chunk.id, "river", 1).context.attended
        assert (one.path, one.start) == ("moon.md", "The moon pulls the tides.")


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("tiny", {}, "reads 17 chunks"),
        ("joint", {}, "reads 17 chunks"),
        ("released", {}, "reads 12 chunks"),
        ("biencoder", {}, "whitened by the mean and covariance of the corpus"),
        ("biencoder", {"plain": True}, "none"),
    ],
)
def test_the_status_of_a_model_without_a_head_says_what_its_second_stage_is(
    model, options, expected, request, tmp_path
):
    made = {"released": lambda folder: released_folder(folder, "v1")[0], "biencoder": biencoder_folder}
    checkpoint = made[model](tmp_path / model) if model in made else request.getfixturevalue(f"{model}_checkpoint")
    root = write_pages(tmp_path / "pages")
    cdesearch.build(root, model=checkpoint, **options).close()
    facts = read_status(Index.open(root))
    assert facts["second_stage"] == expected and "most_attended" not in facts
    with Searcher(Index.open(root)) as searcher:
        assert searcher.explain(searcher.search(QUERY, 1)[0].chunk.id, QUERY, 1).context is None
