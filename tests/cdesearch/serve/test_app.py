import pytest
from running_server import running_server

from cdesearch.search.options import PARAMETERS
from cdesearch.serve import app


@pytest.mark.parametrize("path", ["/", "/api"])
def test_the_pages_are_served_and_revalidated(server, path):
    page = server.get(path)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert server.get(path, headers={"If-None-Match": page.headers["etag"]}).status_code == 304
    head = server.client.head(path)
    assert (head.status_code, head.content) == (200, b"")


def test_files_of_the_page_have_the_types_that_browsers_require_and_links_are_not_followed(
    tmp_path, monkeypatch, pages
):
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    (tmp_path / "web").mkdir()
    for end in kinds:
        (tmp_path / "web" / f"a.{end}").write_text("")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "web" / "link.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr(app, "WEB", tmp_path / "web")
    with running_server([pages]) as other:
        assert {end: other.get(f"/static/a.{end}").headers["content-type"] for end in kinds} == kinds
        assert other.get("/static/link.txt").status_code == 404


def test_openapi_describes_every_route(server):
    described = server.json("openapi.json")
    assert {"/api/v1/search", "/api/v1/status", "/api/v1/documents/{document_id}"} <= set(described["paths"])
    described_search = {one["name"]: one for one in described["paths"]["/api/v1/search"]["get"]["parameters"]}
    for option in PARAMETERS:
        assert described_search[option.field]["description"] == option.help
    for methods in described["paths"].values():
        for method in methods.values():
            assert "application/problem+json" in method["responses"]["default"]["content"]
            assert "422" not in method["responses"]  # the form that FastAPI would describe and this server never sends
    for page in ("/docs", "/redoc"):  # they would load scripts from another server
        assert server.get(page).status_code == 404


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("search", 400, "The query is empty."),
        ("search?q=a&k=0", 422, "The parameter k should be greater than or equal to 1, not 0."),
        ("search?q=a&k=ten", 422, "The parameter k should be a valid integer, not ten."),
        ("search?q=a&mode=x", 422, "The parameter mode should be 'hybrid', 'dense' or 'text', not x."),
        ("search?q=a&type=../x", 400, "../x is not the end of a file name."),
        ("search?q=a&path=[z-a]", 400, "The range z-a in [z-a] is empty."),
        ("search?q=a&index=moon", 400, "There is no index moon here."),
        ("documents/nothing.md", 404, "The index has no document nothing.md."),
        ("search?q=a&min_confidence=2", 422, "The parameter min_confidence should be less than or equal to 1, not 2."),
        ("explain?q=a&chunk=x", 404, "The index has no chunk x."),
        ("nothing", 404, "There is nothing at /api/v1/nothing."),
        ("/static/nothing.js", 404, "There is nothing at /static/nothing.js."),
    ],
)
def test_an_error_has_problem_details_with_one_cause_and_one_remedy(server, path, status, detail):
    response = server.get(path)
    assert response.headers["content-type"] == "application/problem+json"
    values = response.json()
    assert values.pop("remedy")
    assert values == {"type": "about:blank", "title": values["title"], "status": status, "detail": detail}
    assert response.status_code == status


def test_a_method_that_is_not_allowed_has_problem_details_and_keeps_its_headers(server):
    response = server.client.delete("/api/v1/search")
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
    assert response.json()["detail"] == "DELETE is not allowed here."
