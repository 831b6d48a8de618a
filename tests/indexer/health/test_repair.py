import os
import shutil

import pytest
from damage import flip_a_byte, overwrite

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.generations import generation
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options


@pytest.mark.parametrize(
    ("part", "embedded"),
    [("_indices/", 0), ("chunks.lance/_transactions/", 0), ("latest_version_hint", 0)],
)
def test_parts_derived_from_chunks_are_made_again_without_embedding(sound, part, embedded):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    overwrite(sound.path(part))
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert "nothing was embedded" in steps[0]
    assert len(steps) == 1 or ", 0 of them embedded" in steps[-1]
    assert diagnose(sound.index).is_sound and sound.is_right()
    assert not sound.update().changed


@pytest.mark.slow
@pytest.mark.parametrize("part", ["chunks.lance/data", "context.safetensors", "manifest.json", "checksums.json"])
def test_if_chunks_are_damaged_the_previous_generation_is_made_live_and_updated(sound, part):
    flip_a_byte(sound.path(part))
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert "previous generation" in steps[0]
    assert diagnose(sound.index).is_sound
    assert {chunk for chunk, _ in sound.ask()} == {chunk for chunk, _ in sound.answers["hybrid"]}


def test_a_repair_that_stops_before_the_previous_generation_is_live_keeps_it_whole(sound, monkeypatch):
    overwrite(sound.path("manifest.json"))

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as during, pytest.raises(KeyboardInterrupt):
        during.setattr(generation, "replace_file", stopped)
        repair(sound.index, False, Silent(), lambda _: None)
    assert [one.generation.name for one in diagnose(sound.index).others if one.is_sound] == [sound.kept]
    repair(sound.index, False, Silent(), lambda _: None)
    assert diagnose(sound.index).is_sound


@pytest.mark.parametrize("part", ["chunks.lance/data", "context.safetensors"])
def test_without_another_generation_the_index_is_built_again_with_its_settings(sound, part):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    flip_a_byte(sound.path(part))
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert "built again" in steps[0]
    assert diagnose(sound.index).is_sound
    assert Index(sound.index).manifest.model == str(sound.options.model)


def test_without_checksums_the_index_is_built_again_with_the_settings_in_its_manifest(sound):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    sound.path("checksums.json").unlink()
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert steps[0] == "Without checksums, the stored files cannot be verified."
    assert not (sound.index / "generations" / sound.live).exists()
    assert "built again" in steps[1] and ", 0 of them embedded" not in steps[-1]
    assert diagnose(sound.index).is_sound
    assert Index(sound.index).manifest.model == str(sound.options.model)


@pytest.mark.parametrize("parts", [["manifest.json"], ["manifest.json", "checksums.json"]])
def test_if_the_settings_are_lost_too_the_command_to_run_is_named(sound, parts):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    for part in parts:
        overwrite(sound.path(part))
    with pytest.raises(IndexDamagedError, match=r"settings are lost.*--rebuild PATH"):
        repair(sound.index, False, Silent(), lambda _: None)
    build([sound.docs], Options(model=sound.options.model, rebuild=True), Silent())
    assert diagnose(sound.index).is_sound


@pytest.mark.parametrize("name", ["20200101T000000-00000000", "not a name"])
def test_a_lost_live_generation_is_repaired_by_the_command_that_queries_name(sound, name):
    (sound.index / "CURRENT").write_text(name)
    with pytest.raises(IndexDamagedError, match="doctor --repair"):
        sound.ask()
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert "previous generation" in steps[0] and diagnose(sound.index).is_sound
    shutil.rmtree(sound.index / "generations")
    (sound.index / "generations").mkdir()
    with pytest.raises(IndexDamagedError, match="--rebuild"):
        sound.ask()


def test_a_link_in_a_generation_is_removed_and_repaired_as_the_message_says(sound, tmp_path):
    tables = sound.index / "generations" / sound.live / "tables"
    tables.rename(tmp_path / "tables")
    tables.symlink_to(tmp_path / "tables")
    remedy = f"Remove the link, then run `cdesearch doctor --repair --index {sound.index}`."
    with pytest.raises(IndexUntrustedError) as caught:
        sound.ask()
    assert caught.value.remedy == remedy
    tables.unlink()
    repair(sound.index, False, Silent(), lambda _: None)
    assert diagnose(sound.index).is_sound and (tmp_path / "tables").is_dir()


@pytest.mark.parametrize("damage", [None, b"", b"cdesearch inde\x00", b"x" * 100_000])
def test_a_marker_that_is_lost_is_written_again_and_nothing_else_changes(sound, damage):
    """Nothing else needs to: the marker is constant. Labels live in the folder, so it must not be removed."""
    marker, labels = sound.index / "INDEX", sound.index / "labels" / "queries.jsonl"
    labels.parent.mkdir()
    labels.write_text("{}")
    whole = marker.read_bytes()
    marker.unlink() if damage is None else marker.write_bytes(damage)
    for refused in (sound.ask, sound.update):
        with pytest.raises(IndexDamagedError, match=r"INDEX is .*doctor --repair"):
            refused()
    assert "INDEX is " in diagnose(sound.index).problem
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert steps == ["The marker of the index was written again."] and marker.read_bytes() == whole
    assert diagnose(sound.index).is_sound and sound.is_right() and labels.read_text() == "{}"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a folder away")
def test_no_marker_is_written_into_the_index_of_another_user(sound):
    (sound.index / "INDEX").unlink()
    os.chown(sound.index, 1234, 1234)
    with pytest.raises(IndexUntrustedError, match="only its owner can change it"):
        repair(sound.index, False, Silent(), lambda _: None)
    assert not (sound.index / "INDEX").exists()


def test_marker_and_current_are_repaired_together(sound):
    for name in ("INDEX", "CURRENT"):
        (sound.index / name).unlink()
    with pytest.raises(IndexDamagedError, match="INDEX is missing"):
        sound.update()
    repair(sound.index, False, Silent(), lambda _: None)
    assert diagnose(sound.index).is_sound


def test_no_marker_is_written_into_a_folder_without_a_generation_of_this_format(sound):
    (sound.index / "INDEX").unlink()
    for one in (sound.index / "generations").iterdir():
        overwrite(one / "manifest.json")
    with pytest.raises(IndexDamagedError, match="Remove the folder"):
        repair(sound.index, False, Silent(), lambda _: None)
    assert not (sound.index / "INDEX").exists()
