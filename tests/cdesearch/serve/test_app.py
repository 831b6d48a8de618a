import pytest


@pytest.mark.parametrize(("path", "kind"), [("/", "text/html; charset=utf-8"), ("/api", "text/html; charset=utf-8")])
def test_the_pages_are_served_and_revalidated(server, path, kind):
    page = server.get(path)
    assert page.headers["content-type"] == kind
    assert page.headers["cache-control"] == "no-cache"
    assert server.get(path, headers={"If-None-Match": page.headers["etag"]}).status_code == 304


def test_scripts_and_styles_have_the_types_that_browsers_require(server, tmp_path, monkeypatch, pages):
    from running_server import running_server

    from cdesearch.serve import app

    for name in ("a.js", "a.css", "a.svg"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(app, "WEB", tmp_path)
    with running_server([pages]) as other:
        kinds = [other.get(f"/static/a.{end}").headers["content-type"] for end in ("js", "css", "svg")]
    assert kinds == ["text/javascript; charset=utf-8", "text/css; charset=utf-8", "image/svg+xml"]


def test_openapi_describes_every_route(server):
    described = server.json("openapi.json")
    assert {"/api/v1/search", "/api/v1/status", "/api/v1/documents/{document_id}"} <= set(described["paths"])
    for methods in described["paths"].values():
        for method in methods.values():
            assert "application/problem+json" in method["responses"]["default"]["content"]
            assert "422" not in method["responses"]  # the form that FastAPI would describe and this server never sends
    for page in ("/docs", "/redoc"):  # they would load scripts from another server
        assert server.get(page).status_code == 404
