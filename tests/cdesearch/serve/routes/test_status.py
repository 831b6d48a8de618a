import os
import sys
from pathlib import Path

import pytest
from built import write_files
from mcp_calls import call
from running_server import running_server, wait_until
from served_pages import damage, update

import cdesearch
from cdesearch import __version__
from cdesearch.cli.status import read_status


def test_status_has_the_facts_of_the_command(server):
    answer = server.json("status")
    assert answer["version"] == __version__
    (facts,) = answer["indexes"]
    index = server.indexes[None].index
    assert facts.pop("name") == "pages"
    assert facts.pop("generation") == index.generation.name
    assert facts.pop("problem") is None
    expected = read_status(index)
    assert facts | {"updated_hours_ago": 0} == expected | {"updated_hours_ago": 0}


@pytest.mark.slow
def test_a_generation_that_cannot_be_used_is_reported(own_pages, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr("cdesearch.serve.indexes.REFRESH_SECONDS", 3600)  # it must not see the sound generation
    with running_server([own_pages]) as server:
        old = server.json("status")["indexes"][0]
        update(own_pages, tiny_checkpoint, 1)
        damage(own_pages)
        server.indexes[None].searcher.refresh()
        facts = server.json("status")["indexes"][0]
        assert facts["generation"] == old["generation"]
        assert "damaged" in facts["problem"]["detail"]
        assert "doctor --repair" in facts["problem"]["remedy"]
        assert server.json("search", q="cat")["hits"]


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems refuse such a name")
def test_a_folder_whose_name_is_not_utf8_is_served(tmp_path, tiny_checkpoint):
    docs = write_files(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")), {"a.md": "The cat sleeps."})
    index = tmp_path / "index"
    cdesearch.build(docs, index=index, model=tiny_checkpoint).close()
    with running_server([index]) as server:
        assert [facts["name"] for facts in server.json("status")["indexes"]] == ["caf\\xe9"]
        assert server.json("indexes")["indexes"][0]["root"].endswith("caf\\xe9")
        assert server.json("search", q="cat")["hits"]
        for tool, arguments in (("status", {}), ("search", {"query": "cat"})):
            assert not call(f"{server.url}/mcp", tool, arguments).is_error


def test_the_health_check_names_the_process(server):
    assert server.json("healthz") == {"status": "ok", "process": os.getpid()}
    assert (server.client.head("/api/v1/healthz").status_code, server.client.head("/api/v1/healthz").content) == (
        200,
        b"",
    )


def test_an_update_finds_what_has_changed(tmp_path):
    root = write_files(tmp_path / "own", {"moon.md": "The moon pulls the tides."})
    cdesearch.build(root).close()
    with running_server([root]) as server:
        assert server.json("updates")["state"] == "never"
        (root / "lava.md").write_text("Volcanoes spit lava.")
        response = server.client.post("/api/v1/updates")
        assert response.status_code == 202 and response.json()["state"] == "running"
        refused = server.client.post("/api/v1/updates")
        assert refused.status_code == 409 and refused.json()["remedy"]
        wait_until(lambda: server.json("updates")["state"] != "running")
        answer = server.json("updates")
        assert answer["state"] == "done", answer["lines"]
        assert answer["ended"] >= answer["started"] and answer["lines"]
        wait_until(lambda: server.json("search", q="lava", mode="text")["hits"])
