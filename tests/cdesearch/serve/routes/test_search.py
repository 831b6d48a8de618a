from datetime import date

import pytest
from running_server import running_server

import cdesearch
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index


@pytest.fixture(scope="module")
def searcher(pages):
    with Searcher(Index.open(pages)) as searcher:
        yield searcher


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_hits_are_those_of_a_searcher(server, searcher, mode):
    answer = server.json("search", q="the river stone", mode=mode, k=4)
    assert (answer["query"], answer["mode"], answer["index"]) == ("the river stone", mode, "pages")
    assert answer["milliseconds"] > 0
    assert answer["truncated_to"] is None
    hits = searcher.search("the river stone", mode=mode, k=4)
    assert [(hit["chunk"], hit["score"]) for hit in answer["hits"]] == [(hit.chunk.id, hit.score) for hit in hits]
    assert all(hit["location"] == f"{hit['path']}:{hit['line']}" for hit in answer["hits"])


def test_pages_of_hits_continue_one_another(server):
    whole = server.json("search", q="river", k=6)
    second = server.json("search", q="river", k=3, offset=3)
    assert second["hits"] == whole["hits"][3:]
    assert second["offset"] == 3
    assert second["more"]
    assert [hit["rank"] for hit in second["hits"]] == [4, 5, 6]


def test_grouped_hits_are_counted_by_document(server):
    def ranks_by_document(answer):
        ranks = {}
        for hit in answer["hits"]:
            ranks.setdefault(hit["document"], []).append(hit["rank"])
        return ranks

    first = server.json("search", q="river", k=2, group=True)
    second = server.json("search", q="river", k=2, offset=2, group=True)
    assert first["more"] and len(ranks_by_document(first)) == len(ranks_by_document(second)) == 2
    assert not ranks_by_document(first).keys() & ranks_by_document(second).keys()
    assert all(len(ranks) <= 4 and ranks == sorted(ranks) for ranks in ranks_by_document(first).values())
    counts = [hit["further"] for hit in first["hits"]]
    assert counts[0] >= 0 and sum(count is not None for count in counts) == 2
    nowhere = server.json("search", q="river path:nowhere/", group=True)
    assert nowhere["unmatched"] == "operator path:nowhere/"
    alone = server.json("search", q="river", path=first["hits"][0]["path"], k=2, group=True)
    assert [hit["rank"] for hit in alone["hits"]] == [1, 2][: len(alone["hits"])]


def test_the_last_page_says_that_there_is_no_more(server, searcher):
    answer = server.json("search", q="river", k=100)
    assert not answer["more"]
    assert len(answer["hits"]) == searcher.index.manifest.n_chunks
    assert server.json("search", q="river", k=5, offset=1_000)["hits"] == []


def paths(answer):
    return {hit["path"] for hit in answer["hits"]}


def test_paths_are_alternatives_and_a_type_limits_them(server):
    assert paths(server.json("search", q="water", path="pets")) == {"pets/cats.md", "pets/dogs.md"}
    assert paths(server.json("search", q="water", path=["pets/cats.md", "space"])) == {"pets/cats.md", "space/moon.txt"}
    assert paths(server.json("search", q="water path:space/ path:pets/cats.md")) == {"pets/cats.md", "space/moon.txt"}
    assert paths(server.json("search", q="water -path:pets/ -path:kitchen/ -path:space/", path="pets")) == set()
    assert paths(server.json("search", regex="(?i)moon", q="")) == paths(server.json("search", regex="(?i)moon"))
    assert paths(server.json("search", q="water", type="py")) == {"kitchen/<b>soup.py"}
    assert paths(server.json("search", q="water", type="md", path="kitchen")) == {"kitchen/bread.md"}
    both = {"kitchen/bread.md", "pets/cats.md"}
    assert paths(server.json("search", q="water", type="md", path=["kitchen", "pets/cats.md"])) == both
    assert paths(server.json("search", q="water", type="md", path=["kitchen/*", "pets/c*", "space/*"])) == both


def test_a_long_query_says_how_much_of_it_the_model_read(server):
    assert server.json("search", q="water moon " * 100)["truncated_to"] == 64


def test_hits_below_a_confidence_are_left_out(server, searcher):
    every = server.json("search", q="the river stone", k=10)
    assert [hit["confidence"] for hit in every["hits"]] == pytest.approx(
        [hit.confidence for hit in searcher.search("the river stone", 10)]
    )
    limit = sorted(hit["confidence"] for hit in every["hits"])[5]
    kept = server.json("search", q="the river stone", k=10, min_confidence=limit)
    assert kept["hits"] == [hit for hit in every["hits"] if hit["confidence"] >= limit]
    nothing = server.json("search", q="the river stone", k=10, min_confidence=1)
    assert nothing["hits"] == [] and not nothing["answered"] and every["answered"]


@pytest.fixture(scope="module")
def together(pages, tmp_path_factory, tiny_checkpoint):
    """A server of two indexes, of which the second has one text of the first."""
    root = tmp_path_factory.mktemp("other") / "other"
    root.mkdir()
    first = next(path for path in sorted(pages.rglob("*.md")))
    (root / "copy.md").write_text(first.read_text())
    (root / "own.md").write_text("The river of the other index.")
    cdesearch.build(root, model=tiny_checkpoint).close()
    with running_server([pages, root]) as running:
        yield running


def test_all_indexes_or_some_are_searched_as_one(together):
    every = together.json("search", q="the river", k=50)
    named = together.json("search", q="the river", index=["pages", "other"], k=50)
    assert every["hits"] == named["hits"] and every["index"] == "pages, other"
    assert {hit["index"] for hit in every["hits"]} == {"pages", "other"}
    assert every["generation"] == " ".join(served.index.generation.name for served in together.indexes)
    (copied,) = (hit for hit in every["hits"] if hit["copies"])
    (copy,) = copied["copies"]
    assert {copied["index"], copy["index"]} == {"pages", "other"} and copy["chunk"] and copy["places"]
    second = together.json("search", q="the river", k=3, offset=3)
    assert second["hits"] == every["hits"][3:6] and second["more"]


def test_an_index_that_is_named_is_searched_alone(together):
    assert all("index" not in hit for hit in together.json("search", q="the river", index="pages")["hits"])
    assert together.json("search", q="the river", index="other")["index"] == "other"
    assert together.get("search", params={"q": "river", "index": ["pages", "moon"]}).status_code == 400


def test_facets_and_dates_come_with_hits_on_request(together, pages):
    plain = together.json("search", q="the river", k=50)
    answer = together.json("search", q="the river", k=50, facets=True)
    documents = {(hit["index"], hit["document"]) for found in answer["hits"] for hit in (found, *found["copies"])}
    types = answer["facets"]["type"]
    assert sum(one["files"] for one in types) == len(documents)
    today = date.today().isoformat()
    assert {hit.pop("date") for hit in answer["hits"]} == {today} and answer["hits"] == plain["hits"]
    assert answer["facets"]["year"] == [{"value": today[:4], "files": len(documents)}]
    nothing = together.json("search", q="the river", path="nowhere", facets=True)
    assert nothing["facets"] == {"folder": [], "type": [], "year": [], "tag": []} and "facets" not in plain


def test_the_indexes_are_named_with_their_roots_and_sizes(together, pages):
    first, second = together.json("indexes")["indexes"]
    assert (first["name"], first["root"], second["name"]) == ("pages", str(pages), "other")
    assert second["files"] == second["documents"] == second["chunks"] == 2 < first["chunks"]


def test_related_hits_are_nearest_in_meaning_and_of_other_files(together):
    own, *_ = together.json("search", q="the river", k=50)["hits"]
    related = together.json("related", path=own["path"], index=own["index"])
    assert (related["query"], related["mode"], related["more"]) == (own["path"], "dense", False)
    assert related["hits"] and own["document"] not in {hit["document"] for hit in related["hits"]}
    assert {hit["confidence"] for hit in related["hits"]} == {None}
    assert together.get("related", params={"path": "no/such.md"}).status_code == 400
