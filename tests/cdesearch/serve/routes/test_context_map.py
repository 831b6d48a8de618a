import pytest


def test_the_map_has_a_point_for_every_chunk(server):
    answer = server.json("map")
    index = server.indexes[None].index
    assert answer["shown"] == answer["chunks"] == index.manifest.n_chunks
    points = answer["points"]
    assert {len(column) for column in points.values()} == {answer["shown"]}
    assert sum(points["is_context"]) == answer["context"] == index.manifest.context_size
    named = {folder["name"] for folder in answer["folders"]}
    assert named == {"pets", "kitchen", "space", ""}
    for folder, location in zip(points["folder"], points["location"], strict=True):
        assert answer["folders"][folder]["name"] == ("" if location.startswith("long.md") else location.split("/")[0])
    assert answer["drift"]["level"] == "none"


def test_hits_are_the_points_of_their_chunks(server):
    points = server.json("map")["points"]
    places = dict(zip(points["chunk"], zip(points["x"], points["y"], strict=True), strict=True))
    answer = server.json("map", q="the river has stone", k=3, points=False)
    assert "points" not in answer
    hits = server.json("search", q="the river has stone", k=3)["hits"]
    assert [hit["chunk"] for hit in answer["hits"]] == [hit["chunk"] for hit in hits]
    for hit in answer["hits"]:
        assert (hit["x"], hit["y"]) == pytest.approx(places[hit["chunk"]], abs=2e-4)
