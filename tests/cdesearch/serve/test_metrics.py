from running_server import running_server


def test_requests_are_counted_by_route_and_status_and_timed(pages):
    with running_server([pages]) as server:
        for path in ("search?q=cat", "search?q=cat", "search", "documents/long.md", "secret-1", "/secret-2"):
            server.get(path)
        server.get("search?q=cat", headers={"Host": "evil.example"})
        text = server.get("metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def count(route, status):
        return float(lines[f'cdesearch_requests_total{{method="GET",route="{route}",status="{status}"}}'])

    assert count("/api/v1/search", 200) == 2
    assert count("/api/v1/search", 422) == 1
    assert count("/api/v1/documents/{document_id:path}", 200) == 1
    assert count("unknown", 404) == 2
    assert count("unknown", 403) == 1
    assert "secret" not in text
    assert float(lines['cdesearch_request_seconds_count{route="/api/v1/search"}']) == 3
    assert float(lines["process_resident_memory_bytes"]) > 1e7


def test_the_state_of_each_index_is_shown(server):
    index = server.indexes[None].index
    text = server.get("metrics").text
    assert f'cdesearch_index_chunks{{index="pages"}} {index.manifest.n_chunks}.0' in text
    assert f'cdesearch_index_bytes{{index="pages"}} {float(index.size_bytes())}' in text
    assert 'cdesearch_generation_refused{index="pages"} 0.0' in text
    age = next(line for line in text.splitlines() if line.startswith("cdesearch_generation_age"))
    assert 0 < float(age.rpartition(" ")[2]) < 3600
