import http.client
from itertools import product
from pathlib import Path

import httpx
import pytest
from running_server import running_server

from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.security import CONTENT_SECURITY_POLICY
from cdesearch.serve.settings import ServeSettings

TOKEN = "a secret of some length"
NAVIGATE, IMAGE = {"Sec-Fetch-Mode": "navigate"}, {"Sec-Fetch-Mode": "no-cors"}


@pytest.fixture(scope="module")
def strict(pages, tmp_path_factory):
    """A server with a token, which also listens on a Unix socket."""
    path = tmp_path_factory.mktemp("sockets") / "s"
    with running_server([pages], ServeSettings(token=TOKEN), [path]) as running:
        yield running


def assert_problem(response, status, words):
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert not any(name.startswith("access-control-") for name in response.headers)
    values = response.json()
    assert values["status"] == status and words in values["detail"] and values["remedy"]


LOCAL = ("localhost", "127.0.0.1", "127.0.0.1:1234", "LOCALHOST", "localhost.", "[::1]:7878")
FOREIGN = ("evil.example", "localhost.evil.example", "evil.example:7878", "192.168.1.7", "", "localhost@evil", "[::1")
OTHER_SITES = ("http://evil.example", "null", "http://localhost:1", "http://[::1", "")


def test_only_requests_with_a_local_host_name_are_answered(server):
    for host in LOCAL:
        assert server.get("healthz", headers={"Host": host}).status_code == 200
    for host in FOREIGN:
        assert_problem(server.get("search?q=cat", headers={"Host": host}), 403, "does not answer for the host")


def test_a_public_server_accepts_only_addresses_and_its_own_name_as_host(pages):
    with running_server([pages], ServeSettings(host="0.0.0.0", token=TOKEN)) as other:
        for host, status in (("10.1.2.3:7878", 200), ("localhost", 200), ("[fe80::1]", 200), ("evil.example", 403)):
            assert other.get("healthz", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_request_from_a_page_of_another_site_is_refused(server, method):
    for path, origin in product(("search?q=cat", "updates"), OTHER_SITES):
        response = server.client.request(method, f"/api/v1/{path}", headers={"Origin": origin})
        assert_problem(response, 403, "another web site")
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert server.get("search?q=cat", headers=own).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_to_the_page_but_not_use_the_api(server, site):
    assert server.get("/", headers=NAVIGATE | {"Sec-Fetch-Site": site}).status_code == 200
    for path, mode in (("search?q=cat", NAVIGATE), ("/", IMAGE), ("search?q=cat", IMAGE)):
        assert_problem(server.get(path, headers=mode | {"Sec-Fetch-Site": site}), 403, "another web site")


def test_every_request_except_the_health_check_the_page_and_the_description_needs_the_token(strict):
    for path in ("search?q=cat", "status", "documents/long.md", "nothing"):
        response = strict.get(path)
        assert_problem(response, 401, "no valid token")
        assert response.headers["www-authenticate"] == "Bearer"
    for path in ("healthz", "openapi.json", "/", "/api", "/static/index.html"):
        assert strict.get(path).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer \u00e9".encode()}, 401),
        ({"Cookie": f"cdesearch_token={TOKEN}"}, 401),  # browsers send cookies to servers on other ports as well
    ],
)
def test_the_token_is_accepted_in_a_header(strict, headers, status):
    assert strict.get("search?q=cat", headers=headers).status_code == status


def test_the_unix_socket_needs_no_token_and_only_its_owner_can_connect(strict):
    path = strict.sockets[1].getsockname()
    assert Path(path).stat().st_mode & 0o777 == 0o600
    with httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url="http://localhost") as client:
        assert client.get("/api/v1/search?q=cat").status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/v1/search?q=cat", "/api/v1/search", "/nothing", "/static/index.html"])
def test_every_response_has_the_headers_that_protect_a_browser(server, path):
    headers = server.get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api/") else "no-cache")
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../command.py",
        "/static/..%2fcommand.py",
        "/static/%2e%2e/command.py",
        "/static//etc/passwd",
        "/static/C:/Windows/win.ini",
        "/api/v1/documents/%2fetc%2fpasswd",
        "/api/v1/documents/pets%00",
        "/api/v1/documents/%ff%fe",
    ],
)
def test_no_request_path_reaches_files_outside_the_index_and_the_web_folder(server, path):
    # http.client sends the path as it is; httpx would resolve "..".
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode("utf-8", "replace")
    connection.close()
    assert response.status in (400, 404)
    assert response.headers["content-type"] == "application/problem+json"
    assert "root:" not in body and "import" not in body


def test_a_document_is_returned_as_json_and_never_as_html(server):
    response = server.get("documents/kitchen/%3Cb%3Esoup.py")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["path"] == "kitchen/<b>soup.py"


def test_a_defect_of_a_route_is_a_problem_without_details(pages, caplog):
    class Broken(ServedIndexes):
        def __getitem__(self, name):
            raise ZeroDivisionError("secret")

    with running_server(Broken(list(ServedIndexes.open([pages])))) as broken:
        response = broken.get("documents/long.md")
    assert_problem(response, 500, "This is a defect of cdesearch: ZeroDivisionError.")
    assert "secret" not in response.text and "ZeroDivisionError: secret" in caplog.text
