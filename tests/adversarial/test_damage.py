"""Damage every file of an index in every way: no crash, no different answer, and all damage is found."""

import os
import shutil

import pytest
from command import cdesearch, cdesearch_process
from damage import ASKED, KINDS, MODES, SoundIndex, delete, flip_a_byte, make_a_folder, overwrite

from cdesearch.cli.status import read_status
from cdesearch.errors import CdesearchError, IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.generations import tables
from indexer.health.doctor import diagnose, repair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graph(tmp_path_factory, tiny_checkpoint, tiny_encoder):
    """An index of so many chunks that it has a graph of vectors."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "VECTOR_INDEX_FROM", 256)
        yield SoundIndex(tmp_path_factory.mktemp("graph"), tiny_checkpoint, tiny_encoder, 280)


def check_refused(action):
    with pytest.raises(IndexDamagedError) as refused:
        action()
    assert "\n" not in str(refused.value) and "cdesearch" in refused.value.remedy


@pytest.mark.parametrize(
    ("fixture", "kind"), [*(("sound", kind) for kind in KINDS), ("graph", delete), ("graph", flip_a_byte)]
)
def test_a_damaged_file_of_the_live_generation_is_refused_and_found(request, fixture, kind):
    sound = request.getfixturevalue(fixture)
    names = sound.files_of(sound.live)
    has_graph = any(one.columns == ["vector"] for one in Index(sound.index).chunks.list_indices())
    assert len(names) > 12 and has_graph == (fixture == "graph")
    for name in names:
        spoiled = sound.index / name
        kind(spoiled)
        for mode in MODES:
            check_refused(lambda mode=mode: sound.ask(mode))
        check_refused(lambda: read_status(Index(sound.index)))
        check_refused(sound.update)
        found = diagnose(sound.index)
        assert not found.is_sound, name
        assert [f"generations/{sound.live}/{one.file}" for one in found.damages] == [name]
        if spoiled.is_dir():
            spoiled.rmdir()
        shutil.copy2(sound.copy / name, spoiled)
    assert sound.is_right() and diagnose(sound.index).is_sound


@pytest.mark.parametrize("kind", [delete, flip_a_byte, make_a_folder])
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_current_file_is_refused_and_repaired(sound, kind):
    kind(sound.index / "CURRENT")
    try:
        assert sound.is_right()  # appended bytes may be cut off
    except CdesearchError as error:
        assert "\n" not in str(error)
        for action in (lambda: read_status(Index(sound.index)), sound.update):
            with pytest.raises(CdesearchError):
                action()
        assert not diagnose(sound.index).is_sound
        if kind is make_a_folder:  # a repair does not remove a folder in its place
            with pytest.raises(IndexUntrustedError, match="Remove it"):
                repair(sound.index, False, Silent(), lambda _: None)
            (sound.index / "CURRENT").rmdir()
        repair(sound.index, False, Silent(), lambda _: None)
    assert sound.is_right() and diagnose(sound.index).is_sound


def test_an_index_that_was_copied_without_its_times_is_sound(sound):
    for file in sound.index.rglob("*"):
        os.utime(file)
    assert sound.is_right() and diagnose(sound.index).is_sound
    (sound.docs / "later.md").write_text("the moon is late")
    assert sound.update().changed


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


@pytest.mark.parametrize(
    ("part", "kind", "run"), [("/data/", flip_a_byte, cdesearch_process), ("_indices/", overwrite, cdesearch)]
)
def test_commands_report_damage_in_one_line_with_exit_code_2(sound, part, kind, run):
    kind(sound.path(part))
    index = ["index", sound.docs, "--model", sound.model]
    for command in (["query", "moon", "--index", sound.index], ["status", "--index", sound.index], index):
        made = run(*command, cwd=sound.docs, code=2)
        assert len(made.stderr.splitlines()) == 1 and "doctor --repair" in made.stderr and not made.stdout
