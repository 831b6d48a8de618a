"""Damage every file of an index in every way: no crash, no different answer, and all damage is found."""

import os
import shutil
import threading

import pytest
from command import cdesearch, cdesearch_process
from damage import KINDS, delete, files, flip_a_byte, make_a_folder, overwrite
from sound_index import ASKED, MODES, SoundIndex

from cdesearch.cli.status import read_status
from cdesearch.errors import CdesearchError, IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store import checksums
from cdesearch.store.index import Index
from indexer.build import build
from indexer.generations import tables as write
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graph(tmp_path_factory, tiny_checkpoint, tiny_encoder):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write, "VECTOR_INDEX_FROM", 256)
        yield SoundIndex(tmp_path_factory.mktemp("graph"), tiny_checkpoint, tiny_encoder, 280)


def check_refused(sound, action):
    with pytest.raises(IndexDamagedError) as refused:
        action()
    assert "\n" not in str(refused.value) and "cdesearch" in refused.value.remedy


def check_every_file(sound, kind):
    for name in sound.files_of(sound.live):
        kind(sound.index / name)
        for mode in MODES:
            check_refused(sound, lambda mode=mode: sound.ask(mode))
        check_refused(sound, lambda: read_status(Index(sound.index)))
        check_refused(sound, sound.update)
        found = diagnose(sound.index)
        assert not found.is_sound, name
        assert [f"generations/{sound.live}/{one.file}" for one in found.damages] == [name]
        spoiled = sound.index / name
        if spoiled.is_dir():
            spoiled.rmdir()
        shutil.copy2(sound.copy / name, spoiled)
    assert sound.is_right() and diagnose(sound.index).is_sound


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_damaged_file_of_the_live_generation_is_refused_by_every_command(sound, kind):
    assert len(sound.files_of(sound.live)) > 12
    check_every_file(sound, kind)


@pytest.mark.parametrize("kind", [delete, flip_a_byte], ids=lambda kind: kind.__name__)
def test_a_damaged_file_of_an_index_with_a_graph_is_refused(graph, kind):
    assert any("auxiliary" in name or "vector" in name for name in graph.files_of(graph.live)) or (
        len(list(Index(graph.index).chunks.list_indices())) == 2
    )
    check_every_file(graph, kind)


@pytest.mark.parametrize("kind", [delete, flip_a_byte, make_a_folder], ids=lambda kind: kind.__name__)
def test_a_damaged_file_of_the_kept_generation_changes_no_answer_and_is_found(sound, kind):
    for name in sound.files_of(sound.kept):
        kind(sound.index / name)
    assert sound.is_right()
    found = diagnose(sound.index)
    assert found.is_sound
    if kind is delete:
        assert not found.others  # its checksums are missing too, so nothing shows that it was ever finished
    else:
        assert found.others[0].damages


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_damaged_current_file_is_refused_and_repaired(sound, kind):
    kind(sound.index / "CURRENT")
    try:
        assert sound.is_right()  # appended bytes may be cut off
    except CdesearchError as error:
        assert "\n" not in str(error)
        with pytest.raises(CdesearchError):
            read_status(Index(sound.index))
        with pytest.raises(CdesearchError):
            sound.update()
        assert not diagnose(sound.index).is_sound
        if kind is make_a_folder:  # a repair does not remove a folder in its place
            with pytest.raises(IndexUntrustedError, match="Remove it"):
                repair(sound.index, False, Silent(), lambda _: None)
            (sound.index / "CURRENT").rmdir()
        repair(sound.index, False, Silent(), lambda _: None)
    assert sound.is_right() and diagnose(sound.index).is_sound


def test_a_file_of_the_same_size_is_found_whether_its_time_has_changed_or_not(sound):
    file = sound.path("/data/")
    before = file.stat()
    overwrite(file)
    for changed_ns in (file.stat().st_mtime_ns, before.st_mtime_ns):
        os.utime(file, ns=(before.st_atime_ns, changed_ns))
        assert [one.reason for one in diagnose(sound.index).damages] == ["has other content than was written"]


def test_a_table_version_that_was_not_written_is_refused(sound):
    version = sound.path("chunks.lance/_versions/")
    shutil.copy(version, version.with_name("00000000000000000001.manifest"))
    check_refused(sound, sound.ask)
    assert "not written by cdesearch" in diagnose(sound.index).damages[0].reason


def test_an_index_that_was_copied_without_its_times_is_sound(sound):
    for name in files(sound.index):
        os.utime(sound.index / name)
    assert sound.is_right() and diagnose(sound.index).is_sound
    (sound.docs / "later.md").write_text("the moon is late")
    assert sound.update().changed


@pytest.mark.parametrize("copied_whole", [True, False])
def test_large_files_are_hashed_on_opening_if_their_time_has_changed(sound, monkeypatch, copied_whole):
    monkeypatch.setattr("cdesearch.store.damage.HASHED_ON_OPENING", 0)
    file = sound.path("/data/")
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    if copied_whole:
        os.utime(sound.index / "generations" / sound.live / "manifest.json")
        Index(sound.index).checks.require_tables()
    else:
        check_refused(sound, sound.ask)
    check_refused(sound, sound.update)


def test_damage_to_an_open_index_is_named_without_a_crash(sound, monkeypatch):
    monkeypatch.setattr("cdesearch.store.damage.HASHED_ON_OPENING", 0)
    for name in sound.files_of(sound.live):
        for kind in (delete, flip_a_byte, overwrite):
            searcher = Searcher(Index(sound.index), sound.encoder)
            assert searcher.index.async_chunks
            kind(sound.index / name)
            try:
                searcher.search(ASKED)
            except IndexDamagedError as error:
                assert "\n" not in str(error)
            shutil.copy2(sound.copy / name, sound.index / name)


def test_an_update_takes_over_checksums_of_large_files_only(sound, monkeypatch):
    monkeypatch.setattr(checksums, "SMALL", 0)
    hashed = []
    real = checksums.sha256_of
    monkeypatch.setattr(checksums, "sha256_of", lambda file: hashed.append(file.name) or real(file))
    generation = sound.index / "generations" / sound.live
    before = (generation / checksums.CHECKSUMS).read_bytes()
    checksums.write_checksums(generation, generation)
    assert not hashed and (generation / checksums.CHECKSUMS).read_bytes() == before
    monkeypatch.undo()
    checksums.write_checksums(generation, None)
    assert (generation / checksums.CHECKSUMS).read_bytes() == before


@pytest.mark.parametrize(
    ("part", "kind", "run"),
    [
        ("/data/", flip_a_byte, cdesearch_process),
        ("_versions/", delete, cdesearch),
        ("_indices/", overwrite, cdesearch),
    ],
)
def test_commands_report_damage_in_one_line_with_exit_code_2(sound, part, kind, run):
    kind(sound.path(part))
    model = ["--model", str(sound.options.model)]
    for command in (["query", "moon", "--index", sound.index], ["status", "--index", sound.index]):
        check_error(run(*command, cwd=sound.docs, code=2))
    check_error(run("index", sound.docs, *model, cwd=sound.docs, code=2))


def check_error(run):
    assert len(run.stderr.splitlines()) == 1 and run.stderr.startswith("error: "), run.stderr
    assert "doctor --repair" in run.stderr and not run.stdout


def test_threads_that_share_a_searcher_follow_the_newest_generation(sound):
    searcher = Searcher(Index(sound.index), sound.encoder)
    failures, stop = [], threading.Event()

    def ask():
        while not stop.wait(0.01):  # otherwise these threads take most of the processor time from the updates
            try:
                for hit in searcher.search(ASKED, k=20):
                    assert hit.chunk.text
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(4):
        (sound.docs / "later.md").write_text(f"the moon is late, edition {number}")
        sound.update()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_error_for_a_missing_current_names_the_doctor(sound, monkeypatch):
    """Searched in the folder, below it, with --index, and by an update of the nearest index."""
    (sound.index / "CURRENT").unlink()
    below = sound.docs / "below"
    below.mkdir()
    for opened in (None, sound.docs, sound.index):
        monkeypatch.chdir(below if opened is None else sound.docs)
        with pytest.raises(IndexDamagedError, match=r"CURRENT.* is missing.*cdesearch doctor --repair"):
            Index.open(opened)
    with pytest.raises(IndexDamagedError, match=r"CURRENT.* is missing.*cdesearch doctor --repair"):
        build([], Options(), Silent())
    below.rmdir()
    repair(sound.index, False, Silent(), lambda _: None)
    assert sound.is_right()
