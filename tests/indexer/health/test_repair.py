import shutil

import pytest
from built import make_index
from damage import flip_a_byte, overwrite

from cdesearch.errors import IndexDamagedError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.health.doctor import diagnose, repair

REBUILT, PREVIOUS = "built again", "previous generation"


def repaired(sound):
    """The steps of a repair, after which the index is sound."""
    steps = []
    repair(sound.index, False, Silent(), steps.append)
    assert diagnose(sound.index).is_sound
    return steps


@pytest.mark.parametrize(
    ("damage", "part", "step"),
    [
        *((overwrite, part, REBUILT) for part in ("_indices/", "latest_version_hint")),
        *((flip_a_byte, part, REBUILT) for part in ("chunks.lance/data", "context.safetensors")),
        *(
            pytest.param(flip_a_byte, part, PREVIOUS, marks=pytest.mark.slow)
            for part in ("chunks.lance/data", "context.safetensors", "manifest.json", "checksums.json")
        ),
    ],
)
def test_what_is_damaged_is_made_again_from_what_is_whole_with_the_same_settings(sound, damage, part, step):
    if step != PREVIOUS:
        shutil.rmtree(sound.index / "generations" / sound.kept)
    damage(sound.path(part))
    steps = repaired(sound)
    assert step in steps[0]
    assert Index(sound.index).manifest.model == str(sound.model)
    if step == PREVIOUS:
        assert {chunk for chunk, _ in sound.ask()} == {chunk for chunk, _ in sound.answers["hybrid"]}


@pytest.mark.parametrize("parts", [["manifest.json"], ["checksums.json"]])
def test_if_the_settings_are_lost_too_the_command_to_run_is_named(sound, parts):
    shutil.rmtree(sound.index / "generations" / sound.kept)
    for part in parts:
        overwrite(sound.path(part))
    with pytest.raises(IndexDamagedError, match=r"settings are lost.*--rebuild PATH"):
        repair(sound.index, False, Silent(), lambda _: None)
    make_index([sound.docs], model=sound.model, rebuild=True)
    assert diagnose(sound.index).is_sound


@pytest.mark.parametrize("name", ["20200101T000000-00000000", "not a name"])
def test_a_lost_live_generation_is_repaired_by_the_command_that_queries_name(sound, name):
    (sound.index / "CURRENT").write_text(name)
    with pytest.raises(IndexDamagedError, match="doctor --repair"):
        sound.ask()
    assert PREVIOUS in repaired(sound)[0]
    shutil.rmtree(sound.index / "generations")
    (sound.index / "generations").mkdir()
    with pytest.raises(IndexDamagedError, match="--rebuild"):
        sound.ask()


@pytest.mark.parametrize("damage", [None, b"", b"cdesearch inde\x00", b"x" * 100_000])
def test_an_index_without_its_marker_is_named_and_nothing_is_written(sound, damage):
    marker = sound.index / "INDEX"
    marker.unlink() if damage is None else marker.write_bytes(damage)
    for refused in (sound.ask, sound.update, lambda: repair(sound.index, False, Silent(), lambda _: None)):
        with pytest.raises(IndexDamagedError, match=r"INDEX is .*Remove the folder"):
            refused()
    assert "INDEX is " in diagnose(sound.index).problem
