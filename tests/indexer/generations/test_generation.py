"""The files on disk before, while and after one generation replaces another."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from built import write_files
from command import cdesearch

from cdesearch.errors import IndexBusyError, StorageError
from cdesearch.store.checksums import MANIFEST
from cdesearch.store.folder import write_new
from cdesearch.store.layout import CURRENT, GENERATIONS, MARK, MARKER, PLAN
from cdesearch.store.storage import connect
from indexer.generations.generation import new_generation, open_building, swap_in
from indexer.generations.lock import locked

FILES = {"context.safetensors": "context", "tables/chunks.lance/data/1.lance": "rows", "tables/chunks.lance/v": "1"}


@pytest.fixture
def folder(tmp_path):
    """The folder of an index without a generation."""
    folder = tmp_path / ".cdesearch"
    (folder / GENERATIONS).mkdir(parents=True)
    write_new(folder / MARKER, MARK)
    return folder


def fill(building, edition=""):
    """Write the files that a build writes into a generation."""
    for name, content in FILES.items():
        file = building / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # Lance never changes an existing file
        file.write_text(content + edition)
    (building / MANIFEST).write_text("{}")


def publish(folder, base=None, edition=""):
    """A whole build, from an empty folder or from `base`."""
    building = open_building(folder, base, {"edition": edition})
    fill(building, edition)
    swap_in(folder, building)
    return building


def live(folder):
    return folder / GENERATIONS / (folder / CURRENT).read_text().strip()


def generations(folder):
    return set((folder / GENERATIONS).iterdir())


def test_a_build_begins_as_links_to_its_base_without_manifest_and_plan(folder):
    base = publish(folder)
    (base / PLAN).write_text("{}")
    building = open_building(folder, base, {"files": 3})
    assert building != base
    found = {file.relative_to(building).as_posix(): file for file in building.rglob("*") if file.is_file()}
    assert found.keys() == {*FILES, PLAN}
    for name in FILES:
        assert found[name].samefile(base / name)


def test_if_the_file_system_has_no_links_files_are_copied_with_their_times(folder, monkeypatch):
    base = publish(folder)
    os.utime(base / "context.safetensors", (10**9, 10**9))

    def no_links(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    building = open_building(folder, base, {"files": 3})
    for name, content in FILES.items():
        assert (building / name).read_text() == content and not (building / name).samefile(base / name)
    assert (building / "context.safetensors").stat().st_mtime == 10**9


def test_an_unfinished_build_of_the_same_plan_continues_without_its_unfinished_stages(folder):
    base = publish(folder)
    building = open_building(folder, base, {"files": 3})
    (building / "half").write_text("done")
    (new_generation(folder) / "tables").mkdir()
    assert open_building(folder, base, {"files": 3}) == building
    assert (building / "half").read_text() == "done" and generations(folder) == {base, building}


def test_an_unfinished_build_of_another_plan_is_removed_and_the_finished_one_before_the_live_one_stays(folder):
    first = publish(folder)
    second = publish(folder, first, "2")
    other = open_building(folder, second, {"files": 3})
    building = open_building(folder, second, {"files": 4})
    assert not other.exists()
    assert generations(folder) == {first, second, building}


COLUMNS = {"chunks": pa.schema([("id", pa.string())]), "documents": pa.schema([("path", pa.string())])}


@pytest.mark.parametrize("wrong", [None, *COLUMNS, "damaged.lance", "foreign.lance"])
def test_an_unfinished_build_continues_only_with_tables_of_its_columns_that_can_be_opened(folder, wrong):
    building = open_building(folder, None, {"files": 3})
    (building / "tables").mkdir()
    for name in COLUMNS if wrong in (None, *COLUMNS) else ():
        connect(building).create_table(name, schema=pa.schema([("id", pa.int64())]) if name == wrong else COLUMNS[name])
    if wrong and wrong not in COLUMNS:
        (building / "tables" / wrong.replace("damaged", "chunks")).mkdir()
    again = open_building(folder, None, {"files": 3}, COLUMNS)
    assert generations(folder) == {again} and (again == building) == (wrong is None)


def test_the_live_generation_is_never_built_in_even_with_a_plan_left_in_it(folder):
    """A process that is killed between the swap and the removal leaves the plan in the live generation."""
    base = publish(folder)
    (base / PLAN).write_text('{"files": 3}')
    building = open_building(folder, base, {"files": 3})
    assert building != base and base.exists() and not (base / PLAN).exists()


def test_a_swap_makes_the_build_live_and_keeps_only_the_previous_generation(folder):
    first = publish(folder)
    assert live(folder) == first and not (first / PLAN).exists()
    second = publish(folder, first, "2")
    assert live(folder) == second and generations(folder) == {first, second}
    third = publish(folder, second, "3")
    assert live(folder) == third and generations(folder) == {second, third}
    assert not [file for file in folder.iterdir() if file.name.startswith(CURRENT) and file.name != CURRENT]
    assert (first.parent / second.name / "context.safetensors").read_text() == "context2"


class Recorder:
    """Records the order in which files are flushed, renamed and unlinked; the real calls are made."""

    def __init__(self, monkeypatch):
        self.events = []
        for module, name in ((os, "fsync"), (os, "replace"), (os, "rename"), (os, "unlink"), (shutil, "rmtree")):
            monkeypatch.setattr(module, name, self._noted(name, getattr(module, name)))

    def _noted(self, name, real):
        def call(target, *rest, **options):
            path = Path(f"/proc/self/fd/{target}").readlink() if name == "fsync" else Path(target)
            size = os.fstat(target).st_size if name == "fsync" else None
            self.events.append((name, path.name if name == "unlink" else path, size))
            return real(target, *rest, **options)

        return call

    def at(self, name, path=None):
        return [n for n, (event, target, _) in enumerate(self.events) if event == name and path in (None, target)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="/proc is needed to know which file is flushed")
def test_a_swap_flushes_new_files_then_the_name_and_only_then_removes_old_files(folder, monkeypatch):
    """After a power cut only flushed files are left, so CURRENT must never name a generation that is incomplete."""
    oldest = publish(folder)
    base = publish(folder, oldest, "2")
    building = open_building(folder, base, {"edition": "3"})
    kept = building / "tables/chunks.lance/v"
    for name in ("context.safetensors", "tables/chunks.lance/data/1.lance"):
        (building / name).unlink()
        (building / name).write_text("new")
    (building / "tables/chunks.lance/data/2.lance").write_text("more rows")
    (building / MANIFEST).write_text("{}")
    assert kept.stat().st_nlink > 1
    new_files = [file for file in building.rglob("*") if file.is_file() and file.stat().st_nlink == 1]
    folders = [building, *(path for path in building.rglob("*") if path.is_dir())]
    recorder = Recorder(monkeypatch)
    swap_in(folder, building)
    monkeypatch.undo()

    (renamed,) = [*recorder.at("replace", folder / f"{CURRENT}.new"), *recorder.at("rename", folder / f"{CURRENT}.new")]
    for path in [*new_files, *folders, folder / GENERATIONS]:
        assert recorder.at("fsync", path) and max(recorder.at("fsync", path)) < renamed, f"{path} may be lost"
    assert not recorder.at("fsync", kept), "it was flushed with the generation before"
    for file in new_files:
        assert min(recorder.at("fsync", file)) < max(recorder.at("fsync", file.parent)), "a folder after its files"
    name = recorder.events[renamed][1]
    flushed = recorder.at("fsync", name)
    assert flushed and max(flushed) < renamed, "the new name is on the disk before it takes the old one's place"
    assert recorder.events[flushed[-1]][2] == len(building.name) + 1, "the whole name was written before that"
    after = recorder.at("fsync", folder)
    assert after and renamed < max(after), "the folder is flushed, or the old name could come back"
    cleared = [*recorder.at("unlink", PLAN), *recorder.at("rmtree")]
    assert len(cleared) == 2 and max(after) < min(cleared)
    assert generations(folder) == {base, building}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "x"), "The disk of .* is full.* same command"),
        (OSError(errno.EDQUOT, "x"), "The disk of .* is full.* same command"),
        (RuntimeError("lance error: No space left on device (os error 28)"), "The disk of .* is full"),
        (OSError(errno.EACCES, "x", "tables/x"), "cannot be written.* Correct its permissions"),
        (OSError(errno.EROFS, "x", "generations"), "cannot be written.* Mount its file system"),
        (OSError(errno.EROFS, "x"), "cannot be written.* Mount its file system"),
        (RuntimeError("lance error: Read-only file system (os error 30)"), "cannot be written"),
        (OSError(errno.EFBIG, "x"), "ulimit"),
        (RuntimeError("LanceError(IO): File too large (os error 27)"), "ulimit"),
    ],
)
def test_a_disk_that_refuses_to_write_is_reported_with_the_remedy(folder, error, message):
    if isinstance(error, OSError) and error.filename:
        error.filename = str(folder / error.filename)
    with pytest.raises(StorageError, match=message) as raised, locked(folder, wait=False):
        raise error
    assert str(folder) in str(raised.value) and raised.value.__cause__ is error


@pytest.mark.parametrize("remains", [[], ["generations/0123456789ab/tables/data"]])
def test_an_index_that_is_removed_during_a_run_is_reported_and_stays_removed(tmp_path, remains):
    """`remains` are written again after the removal, as LanceDB does, which makes missing folders."""
    folder = tmp_path / "new" / "docs" / ".cdesearch"
    folder.parent.mkdir(parents=True)
    for removed in (folder, folder.parent):
        with pytest.raises(StorageError, match=r"was removed while"), locked(folder, wait=False):
            shutil.rmtree(removed)
            write_files(folder, dict.fromkeys(remains, "x"))
            raise RuntimeError("lance error: Not found")
        assert not folder.exists()


def test_a_second_writer_learns_which_process_has_the_lock(folder):
    with locked(folder, wait=False):
        with pytest.raises(IndexBusyError) as raised, locked(folder, wait=False):
            pytest.fail("two processes hold the lock")
        assert f"process {os.getpid()}, since 2" in str(raised.value) and str(folder) in str(raised.value)
        assert "--wait" in raised.value.remedy
    with locked(folder, wait=False):
        pass


@pytest.mark.slow
def test_the_command_waits_for_a_run_that_a_query_may_have_started(folder):
    (folder.parent / "a.md").write_text("The owl hoots.")
    command = [sys.executable, "-m", "cdesearch", "index", "."]
    with locked(folder, wait=False):
        run = subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert run.stderr.readline().endswith(b"This one begins when it has ended.\n") and run.poll() is None
    run.communicate(timeout=60)
    assert run.returncode == 0 and cdesearch("owl", "-k", "1", cwd=folder.parent).stdout
