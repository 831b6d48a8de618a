from running_server import running_server

from cdesearch.evaluation.labels import read_labels
from cdesearch.store.index import Index


def test_a_hit_is_marked_beside_the_index(own_pages):
    with running_server([own_pages]) as server:
        hit = server.json("search", q="cat")["hits"][0]
        response = server.client.post("/api/v1/labels", params={"q": "cat", "chunk": hit["chunk"], "mark": "good"})
        assert response.status_code == 200 and response.json()["questions"] == 1
        for parameters in ({"q": "cat", "chunk": "no", "mark": "good"}, {"q": " ", "chunk": "no", "mark": "bad"}):
            assert server.client.post("/api/v1/labels", params=parameters).json()["remedy"]
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert server.client.post("/api/v1/labels", headers=headers).status_code == 403
    labels = read_labels(Index.open(own_pages).folder)
    assert list(labels.queries.values()) == ["cat"]
    assert [passage.path for passage in labels.passages.values()] == [hit["path"]]
