import os
from pathlib import Path

import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.store.checksums import write_checksums
from cdesearch.store.damage import Checks

VERSION = "tables/chunks.lance/_versions/1.manifest"
DATA = "tables/chunks.lance/data/0.lance"


@pytest.fixture
def generation(tmp_path):
    """A finished generation of three small files."""
    for name in ("manifest.json", VERSION, DATA):
        file = tmp_path / "generations" / "1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the content of {name}")
    write_checksums(tmp_path / "generations" / "1", None)
    return tmp_path / "generations" / "1"


def change_a_byte(file: Path) -> None:
    """Change the content, and neither the size nor the time of change."""
    status, content = file.stat(), file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


CHECKS = (lambda checks: checks.require(DATA), Checks.require_tables, Checks.require_all_changed)


@pytest.mark.parametrize("check", CHECKS)
def test_a_generation_as_it_was_written_is_sound(generation, check):
    check(Checks(generation.parents[1], generation))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change_a_byte, "has other content than was written"),
        (lambda file: file.write_text("short"), "has 5 bytes instead of 47"),
        (Path.unlink, "is missing"),
        (lambda file: (file.unlink(), file.mkdir()), "is not a plain file"),
    ],
)
def test_a_changed_file_is_damage_for_every_check_that_reads_it(generation, check, damage, message):
    damage(generation / DATA)
    with pytest.raises(IndexDamagedError, match=f"{DATA} {message}"):
        check(Checks(generation.parents[1], generation))


@pytest.mark.parametrize("check", CHECKS[1:])
def test_a_version_of_a_table_that_was_not_written_is_damage(generation, check):
    (generation / VERSION).with_name("2.manifest").touch()  # LanceDB would open the newest version
    with pytest.raises(IndexDamagedError, match=r"_versions/2\.manifest was not written by cdesearch"):
        check(Checks(generation.parents[1], generation))
