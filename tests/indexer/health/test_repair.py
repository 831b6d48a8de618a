import shutil

import pytest
from damage import flip_a_byte, overwrite

from cdesearch.errors import IndexDamagedError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.generations import generation
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options


@pytest.mark.parametrize(
    ("part", "embedded"),
    [("_indices/", 0), ("chunks.lance/_transactions/", 0), ("latest_version_hint", 0), ("documents.lance/data", 0)],
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


@pytest.mark.parametrize("part", ["manifest.json", "checksums.json"])
def test_if_the_settings_are_lost_too_the_command_to_run_is_named(sound, part):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    flip_a_byte(sound.path(part))
    with pytest.raises(IndexDamagedError, match=r"settings are lost.*--rebuild PATH"):
        repair(sound.index, False, Silent(), lambda _: None)
    build([sound.docs], Options(model=sound.options.model, rebuild=True), Silent())
    assert diagnose(sound.index).is_sound
