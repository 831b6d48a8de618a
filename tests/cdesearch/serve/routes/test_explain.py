import pytest


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_an_explanation_adds_up_to_the_score_of_the_hit(server, mode):
    filters = {"q": "the river has stone", "mode": mode, "type": "md"}
    answer = server.json("search", k=2, offset=1, **filters)
    assert answer["hits"]
    for hit in answer["hits"]:
        explained = server.json("explain", chunk=hit["chunk"], k=3, **filters)
        assert explained["score"] == pytest.approx(hit["score"], abs=1e-6)
        if mode == "hybrid":
            total = explained["dense"]["contribution"] + explained["text"]["contribution"]
            assert total == pytest.approx(hit["score"], abs=1e-6)
        if mode == "text":
            assert sum(word["bm25"] for word in explained["words"]) == pytest.approx(hit["score"], rel=1e-5)
        assert [word["word"] for word in explained["words"]] == ["the", "river", "has", "stone"]


def test_explaining_a_chunk_that_is_not_a_hit_is_an_error(server):
    response = server.get("explain", params={"q": "river", "chunk": "x"})
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["remedy"]
