def test_health_is_one_word(server):
    assert server.json("healthz") == {"status": "ok"}
