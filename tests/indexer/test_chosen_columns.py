import json

import pytest
from built import write_files
from command import cdesearch, picture

from cdesearch.store.index import Index

TABLES = {
    "people.csv": "id,name,bio,text\n1,Ada,wrote programs,the cat\n",
    "more.jsonl": json.dumps({"text": "the moon", "title": "Sky"}) + "\n",
    "notes.md": "the river",
}


@pytest.fixture
def small(tmp_path, tiny_checkpoint):
    folder = write_files(tmp_path / "small", TABLES)
    cdesearch("index", folder, "--model", tiny_checkpoint, cwd=tmp_path)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--text-column", "--title-column", "--id-column", "--document-column"])
def test_a_chosen_column_that_no_file_has_is_refused_and_the_index_keeps_its_files(small, option):
    generation = Index.open(small).generation
    before = picture(generation)
    run = cdesearch("index", small / "people.csv", option, "txt", cwd=small.parent, code=None)
    last = run.stderr.splitlines()[-1]
    assert run.returncode == 2 and f"has a column txt ({option}). Check the spelling." in last
    assert "there are: " in last or option in ("--title-column", "--id-column")
    assert Index.open(small).generation == generation and picture(generation) == before
    assert "Nothing has changed" in cdesearch("index", small, cwd=small.parent).stderr


def test_a_mistyped_column_of_a_first_build_is_refused_and_leaves_no_index(small, tmp_path):
    run = cdesearch("index", small, "--index", tmp_path / "other", "--title-column", "nmae", cwd=tmp_path, code=2)
    assert f"No file of records in {small} has a column nmae (--title-column). Check the spelling." in run.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_a_chosen_column_that_one_file_has_is_used(small):
    run = cdesearch("index", small, "--text-column", "bio", cwd=small.parent)
    assert "more.jsonl (no column bio" in run.stderr
    assert "wrote programs" in cdesearch("query", "programs", cwd=small).stdout
    assert "1 file that was indexed before is no longer in the index: more.jsonl" in run.stderr
    command = "index", "--index", small / ".cdesearch", "--text-column", "text"
    assert "no longer" not in cdesearch(*command, cwd=small.parent).stderr
    assert "the moon" in cdesearch("query", "moon", cwd=small).stdout


def test_an_update_names_its_index_unless_that_of_the_named_folder_is_updated(small):
    line = f"Updating {small / '.cdesearch'}"
    assert line in cdesearch("index", small / "people.csv", cwd=small.parent).stderr.splitlines()
    assert line not in cdesearch("index", small, cwd=small.parent).stderr
    assert line not in cdesearch("index", cwd=small).stderr
    (small / "sub").mkdir()
    assert line in cdesearch("index", cwd=small / "sub").stderr.splitlines()
