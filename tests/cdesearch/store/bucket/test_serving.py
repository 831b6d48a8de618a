import pytest
from running_server import running_server, wait_until

from cdesearch.store.bucket import snapshot


@pytest.mark.slow
def test_a_server_answers_from_a_bucket_and_finds_what_was_published_since(store, run, docs, monkeypatch):
    run()
    monkeypatch.setattr(snapshot, "FRESH_SECONDS", 0.1)
    (docs / "new.md").write_text("zebra zebra zebra")
    with running_server([store.place]) as server:

        def paths():
            return [hit["path"] for hit in server.json("search", q="zebra", mode="text")["hits"]]

        assert "new.md" not in paths()
        run()
        wait_until(lambda: "new.md" in paths())
        store.is_gone = True
        gone = server.get("search", params={"q": "moon"})
        assert gone.status_code == 502 and "does not exist" in gone.text
        store.is_gone = False
        wait_until(lambda: "new.md" in paths())
