import pytest
from built import write_files
from running_server import running_server

import cdesearch


@pytest.fixture(scope="module")
def files(tmp_path_factory, tiny_checkpoint):
    texts = {"deep/er/still/moon.md": "the moon", "bread.txt": "bread", "broken.pdf": "no PDF"}
    root = write_files(tmp_path_factory.mktemp("files"), texts)
    (root / "data.bin").write_bytes(b"\0\1")
    (root / ".hidden").write_text("the cat")
    cdesearch.build(root, model=tiny_checkpoint).close()
    with running_server([root]) as server:
        yield server


def paths(answer):
    return sorted(file["path"] for file in answer["files"])


def test_files_are_listed_by_outcome_with_reasons(files):
    assert paths(files.json("files", outcome="indexed")) == ["bread.txt", "deep/er/still/moon.md"]
    skipped = files.json("files", outcome="skipped")
    assert paths(skipped) == ["broken.pdf", "data.bin"] and all(file["reason"] for file in skipped["files"])
    assert files.json("files")["total"] >= 4


def test_files_are_listed_in_pages_and_filtered_by_name(files):
    every = files.json("files", outcome="indexed")
    parts = [files.json("files", outcome="indexed", offset=offset, limit=1) for offset in (0, 1)]
    assert [file for part in parts for file in part["files"]] == every["files"]
    assert all(part["total"] == 2 for part in parts)
    assert paths(files.json("files", contains="MOON")) == ["deep/er/still/moon.md"]
    assert files.json("files", offset=2**53)["files"] == []
    assert files.get("files", params={"offset": 2**63 - 1}).status_code == 422
