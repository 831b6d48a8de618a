"""Every part of every format is read, or is left out on purpose, as docs/formats.md says."""

from pathlib import Path

import pytest
from parts.all_parts import PARTS, table
from read_bytes import read_bytes

import cdesearch

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.file)
def test_a_sentence_in_a_part_is_read_once_unless_the_part_is_left_out(part):
    text = "\n".join(document.title + "\n" + document.text for document in read_bytes(part.file, part.data))
    found = " ".join(text.split()).count(part.sentence)
    assert (found > 0) == part.is_read


def test_the_documents_list_the_parts_of_every_format():
    lines = (REPOSITORY / "docs/formats.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("| ")][1:] == table()


@pytest.mark.slow
def test_a_quoted_sentence_finds_its_file_in_a_folder_of_all_parts(tmp_path):
    for part in PARTS:
        (tmp_path / part.file).write_bytes(part.data)
    built = cdesearch.build(tmp_path)
    # A hit in an archive is at a path below that of the archive.
    paths = {part: {hit.chunk.path.partition("/")[0] for hit in built.search(f'"{part.sentence}"')} for part in PARTS}
    assert {part.file: part.file in paths[part] for part in PARTS} == {part.file: part.is_read for part in PARTS}
