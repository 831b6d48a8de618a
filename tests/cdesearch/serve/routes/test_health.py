def test_health_returns_ok(server):
    assert server.json("healthz") == {"status": "ok"}


def test_monitors_may_ask_for_the_head_alone(server):
    for path in ("/", "/api", "healthz"):
        response = server.client.head(path if path.startswith("/") else f"/api/v1/{path}")
        assert (response.status_code, response.content) == (200, b"")
