from running_server import running_server, wait_until
from served_pages import write_pages

import cdesearch


def test_an_update_finds_what_has_changed(tmp_path):
    root = write_pages(tmp_path / "own", {"moon.md": "The moon pulls the tides."})
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


def test_another_site_cannot_start_an_update(server):
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.client.post("/api/v1/updates", headers=headers).status_code == 403
    assert server.json("updates")["state"] == "never"
