import os


def test_the_health_check_names_the_process(server):
    assert server.json("healthz") == {"status": "ok", "process": os.getpid()}


def test_monitors_may_ask_for_the_head_alone(server):
    for path in ("/", "/api", "healthz"):
        response = server.client.head(path if path.startswith("/") else f"/api/v1/{path}")
        assert (response.status_code, response.content) == (200, b"")
