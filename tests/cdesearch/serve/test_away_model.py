"""A server of an index whose vectors come from another server, which is away for a while."""

import pytest
from built import make_index, write_files
from embedding_server import serving
from running_server import running_server

from cdesearch.models.endpoint_model import EndpointModel


@pytest.fixture
def away(tmp_path, tiny_encoder):
    """The folder of an index, and the address of its model's server, which has ended."""
    texts = {f"{word}.md": f"the {word} in the house" for word in ("cat", "dog", "moon")}
    docs = write_files(tmp_path / "docs", texts)
    with serving(lambda texts: tiny_encoder.encode(texts, "document", None)) as server:
        make_index([docs], model=EndpointModel(server.url, "tiny"))
        yield docs, server


def test_words_are_searched_while_the_model_is_away_and_vectors_when_it_is_back(away):
    folder, model = away
    model.misbehave = lambda handler, texts: handler.reply(401, {})
    with running_server([folder]) as server:
        found = server.json("search", q="cat", mode="text")
        assert [hit["path"] for hit in found["hits"]] == ["cat.md"]
        failed = server.get("search", params={"q": "cat"})
        assert failed.status_code == 502
        assert failed.headers["content-type"] == "application/problem+json"
        assert "search with --mode text" in failed.json()["remedy"]
        model.misbehave = lambda handler, texts: False
        assert server.json("search", q="cat")["hits"]
