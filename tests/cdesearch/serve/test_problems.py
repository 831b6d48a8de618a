import pytest


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("search", 422, "The parameter q is missing."),
        ("search?q=a&k=0", 422, "The parameter k should be greater than or equal to 1, not 0."),
        ("search?q=a&k=101", 422, "The parameter k should be less than or equal to 100, not 101."),
        ("search?q=a&k=ten", 422, "The parameter k should be a valid integer, not ten."),
        ("search?q=a&mode=x", 422, "The parameter mode should be 'hybrid', 'rerank', 'dense' or 'text', not x."),
        ("search?q=a&type=../x", 422, "The parameter type should match pattern '^\\.?\\w{1,20}$', not ../x."),
        ("search?q=%20", 400, "The query is empty."),
        ("search?q=a&path=[z-a]", 400, "The range z-a in [z-a] is empty."),
        ("search?q=a&index=moon", 400, "There is no index moon here."),
        ("documents/nothing.md", 404, "The index has no document nothing.md."),
        ("documents/long.md?chunk=abc", 404, "The document has no chunk abc."),
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
    assert response.status_code == 405
    assert response.headers["allow"] == "GET"
    assert response.json()["detail"] == "DELETE is not allowed here."
