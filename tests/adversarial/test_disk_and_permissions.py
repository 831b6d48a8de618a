"""A full disk and folders without permission: one line, nothing lost, nothing left behind. For root too."""

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from command import cdesearch, cdesearch_as, picture

from cdesearch.errors import IndexNotFoundError, StorageError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.embedding import spool, stages
from indexer.settings import Options

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk():
    """A file system of two megabytes, outside tmp_path: pytest cannot remove a mount that a killed test leaves."""
    mount = Path(tempfile.mkdtemp(prefix="cdesearch-small-disk-"))
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(mount)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        mount.rmdir()
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)
    mount.rmdir()


def fill(disk, left):
    (disk / "ballast").write_bytes(b"x" * max(0, shutil.disk_usage(disk).free - left))


@pytest.mark.parametrize("left", [0, 4_096, 20_000, 60_000])
def test_a_disk_that_is_full_keeps_the_old_index(docs, small_disk, tiny_checkpoint, left):
    options = Options(model=tiny_checkpoint, index=small_disk / "index")
    build([docs], options, Silent())
    before = Index(small_disk / "index").manifest.n_chunks
    fill(small_disk, left)
    (docs / "new.md").write_text("the moon is new " * 4000)
    with pytest.raises(StorageError, match="full"):
        build([docs], options, Silent())
    index = Index(small_disk / "index")
    assert index.manifest.n_chunks == before and Searcher(index).search("moon")
    (small_disk / "ballast").unlink()
    assert build([docs], options, Silent()).changed


@pytest.mark.parametrize("left", [0, 20_000])
def test_a_query_that_cannot_update_its_index_says_so_and_answers(docs, small_disk, tiny_checkpoint, left):
    build([docs], Options(model=tiny_checkpoint, index=small_disk / "index"), Silent())
    fill(small_disk, left)
    (docs / "new.md").write_text("the moon is new")
    options = ["--update", "--mode", "text", "--index", small_disk / "index"]
    run = cdesearch("query", "moon", *options, cwd=docs)
    assert run.stdout and "1 new, 0 modified and 0 deleted files, and cannot be updated: The disk of" in run.stderr


@pytest.mark.parametrize("left", [0, 4_096, 20_000])
def test_clear_removes_an_index_from_a_full_disk(docs, small_disk, tiny_checkpoint, left):
    build([docs], Options(model=tiny_checkpoint, index=small_disk / "index"), Silent())
    fill(small_disk, left)
    cdesearch("clear", small_disk / "index", "--yes", cwd=docs)
    assert not (small_disk / "index").exists()


@pytest.mark.parametrize("left", [300_000, 600_000, 900_000])
def test_a_build_in_stages_on_a_full_disk_keeps_a_published_stage_and_continues(
    docs, small_disk, tiny_checkpoint, monkeypatch, left
):
    """What a stage that was not finished has written is removed by the next run."""
    monkeypatch.setattr(spool, "WINDOW", 4)
    for name, value in {"STAGED_FROM": 1, "SECONDS": 0.0, "COST_SHARE": float("inf")}.items():
        monkeypatch.setattr(stages, name, value)
    fill(small_disk, left)
    options = Options(model=tiny_checkpoint, index=small_disk / "index")
    try:
        build([docs], options, Silent())
    except StorageError as error:
        assert "full" in error.cause
        with suppress(IndexNotFoundError):  # the words did not fit
            assert Searcher(Index(small_disk / "index")).search("house", mode="text")
    (small_disk / "ballast").unlink()
    build([docs], options, Silent())
    index = Index(small_disk / "index")
    assert index.manifest.is_complete and len(list((index.folder / "generations").iterdir())) <= 2


@pytest.mark.parametrize("left", [0, 4_096, 20_000])
def test_a_first_run_on_a_full_disk_leaves_nothing_unless_it_has_embedded(docs, small_disk, tiny_checkpoint, left):
    fill(small_disk, left)
    with pytest.raises(StorageError, match="full"):
        build([docs], Options(model=tiny_checkpoint, index=small_disk / "index"), Silent())
    if left == 0:
        assert not (small_disk / "index").exists()
    (small_disk / "ballast").unlink()
    assert build([docs], Options(model=tiny_checkpoint, index=small_disk / "index"), Silent()).changed


def test_a_file_that_becomes_readable_is_found_by_an_update_before_a_query(docs, as_owner, tiny_checkpoint):
    (docs / "new.md").write_text("the platypus")
    (docs / "new.md").chmod(0)
    made = cdesearch_as(as_owner, "index", ".", "--model", tiny_checkpoint, cwd=docs)
    assert made.returncode == 0 and "permission denied" in made.stdout + made.stderr
    (docs / "new.md").chmod(0o644)
    found = cdesearch_as(as_owner, "query", "--update", "--mode", "text", "platypus", cwd=docs)
    assert found.returncode == 0 and "new.md" in found.stdout


def test_a_folder_that_cannot_be_written_is_reported_and_unchanged(docs, as_owner):
    before = picture(docs)
    docs.chmod(0o500)
    made = cdesearch_as(as_owner, "index", ".", cwd=docs)
    docs.chmod(0o700)
    assert made.returncode == 2
    assert made.stderr == f"error: {docs / '.cdesearch'} cannot be written. Name another folder with --index DIR.\n"
    assert picture(docs) == before


def test_an_index_that_cannot_be_written_still_answers(docs, as_owner, tiny_checkpoint):
    build([docs], Options(model=tiny_checkpoint), Silent())
    folders = [docs / ".cdesearch", *(docs / ".cdesearch").rglob("*")]
    for entry in folders:
        entry.chmod(0o500 if entry.is_dir() else 0o400)
    (docs / "new.md").write_text("the moon")
    made = cdesearch_as(as_owner, "index", ".", cwd=docs)
    found = cdesearch_as(as_owner, "query", "cat", "--mode", "text", cwd=docs)
    for entry in folders:
        entry.chmod(0o700)
    assert made.returncode == 2 and "cannot be written" in made.stderr and "Traceback" not in made.stderr
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", ["CURRENT", "INDEX", "manifest.json", "checksums.json", "files.jsonl"])
def test_a_missing_permission_to_read_an_index_is_not_reported_as_damage(docs, as_owner, tiny_checkpoint, name):
    build([docs], Options(model=tiny_checkpoint), Silent())
    file = next((docs / ".cdesearch").rglob(name))
    file.chmod(0)
    found = cdesearch_as(as_owner, "status", cwd=docs)
    file.chmod(0o600)
    assert found.returncode == 2
    assert found.stderr == (
        f"error: {file} cannot be read (permission denied). Correct its permissions, or ask its owner for access.\n"
    )


def on_read_only(folder, *arguments):
    """Run `cdesearch` while `folder` is a file system that nobody may write to, root included."""
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && shift && exec "$@"'
    program = [sys.executable, "-m", "cdesearch", *arguments]
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(folder), *program]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in made.stderr or "mount:" in made.stderr:
        pytest.skip(f"a file system cannot be made read-only here: {made.stderr.strip()}")
    assert "Traceback" not in made.stderr
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are made read-only on Linux alone")
def test_a_read_only_file_system_is_reported_in_one_line(docs):
    made = on_read_only(docs, "index", ".")
    assert made.returncode == 2 and "cannot be written" in made.stderr and made.stderr.count("\n") == 1
    assert not (docs / ".cdesearch").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are made read-only on Linux alone")
def test_an_index_on_a_read_only_file_system_answers_and_is_checked(docs, tiny_checkpoint):
    build([docs], Options(model=tiny_checkpoint), Silent())
    (docs / "new.md").write_text("the moon")
    before = picture(docs)
    for mode in ("hybrid", "dense", "text"):
        found = on_read_only(docs, "query", "cat", "--model", str(tiny_checkpoint), "--mode", mode, "--json")
        assert found.returncode == 0 and found.stderr == "", found.stderr
        there = [(hit["path"], hit["score"]) for hit in json.loads(found.stdout)["hits"]]
        here = Searcher(Index.open(docs)).search("cat", mode=mode)
        assert there == [(hit.chunk.path, pytest.approx(hit.score)) for hit in here]
    status = on_read_only(docs, "status", "--json")
    assert json.loads(status.stdout)["new_files"] == 1
    assert on_read_only(docs, "doctor").returncode == 0
    for arguments in (["index", "."], ["index", ".", "--rebuild"], ["doctor", "--repair"], ["clear", "--yes"]):
        refused = on_read_only(docs, *arguments)
        assert refused.returncode == 2
        assert "cannot be written. Mount its file system with permission" in refused.stderr.splitlines()[-1]
    assert picture(docs) == before


def test_a_configuration_that_cannot_be_written_is_reported_and_the_run_continues(docs, tmp_path, tiny_checkpoint):
    (tmp_path / "file").write_text("")
    place = {"XDG_CONFIG_HOME": str(tmp_path / "file"), "APPDATA": str(tmp_path / "file")}
    made = cdesearch("index", ".", "--model", tiny_checkpoint, cwd=docs, **place)
    assert "Later commands will ask" in made.stderr
