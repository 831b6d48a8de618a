def test_health_returns_ok(server):
    assert server.json("healthz") == {"status": "ok"}
