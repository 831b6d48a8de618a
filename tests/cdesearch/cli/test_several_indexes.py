"""`cdesearch query` with several options --index, with a server and without one."""

import json
import re
import shutil
import sys

import pytest
from background_server import runtime_folder, serve
from built import write_files
from command import cdesearch

from cdesearch import service
from cdesearch.cli.hits.opening import remembered

SHARED = "# Whales\n\nA whale sings in the deep sea.\n"
PETS = {"cats.md": "# Cats\n\nA cat purrs at night.\n", "both.md": SHARED, "notes/a.txt": "The moon shines on a dog.\n"}
SPACE = {"moon.md": "# Moon\n\nThe moon moves the water.\n\nIt shines.\n", "copy.md": SHARED, "cats.md": "No cats.\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two indexed folders."""
    root = tmp_path_factory.mktemp("several")
    for name, texts in (("pets", PETS), ("space", SPACE)):
        write_files(root / name, texts)
        cdesearch("index", name, cwd=root)
    return root


BOTH = ("--index", "pets", "--index", "space")


def hits(run):
    return json.loads(run.stdout)["hits"]


def test_hits_name_their_index_and_are_shown_relative_to_the_working_directory(folder):
    shown = cdesearch("query", "moon", *BOTH, "--mode", "text", cwd=folder).stdout
    assert "space/moon.md:" in shown and "pets/notes/a.txt:1" in shown
    found = json.loads(cdesearch("query", "moon", *BOTH, "--json", cwd=folder).stdout)
    assert found["indexes"] == {name: str(folder / name) for name in ("pets", "space")}
    assert {(hit["index"], hit["path"]) for hit in found["hits"]} >= {("space", "moon.md"), ("pets", "notes/a.txt")}
    lines = cdesearch("query", "moon", *BOTH, "--format", "jsonl", cwd=folder).stdout.splitlines()
    assert [json.loads(line)["index"] for line in lines] == [hit["index"] for hit in found["hits"]]


def test_one_index_named_twice_is_one_index(folder):
    twice = cdesearch("query", "cat", "--index", "pets", "--index", "pets/.cdesearch", "--json", cwd=folder)
    once = cdesearch("query", "cat", "--index", "pets", "--json", cwd=folder)
    assert hits(twice) == hits(once) and "index" not in hits(once)[0]


def test_a_text_in_both_is_one_hit_that_names_both_places(folder):
    (hit,) = hits(cdesearch("query", "whale", *BOTH, "--mode", "text", "--json", cwd=folder))
    places = {(hit["index"], hit["path"]), *((copy["index"], copy["path"]) for copy in hit["copies"])}
    assert places == {("pets", "both.md"), ("space", "copy.md")}
    for options in ((), ("--group",)):
        shown = cdesearch("query", "whale", *BOTH, "--mode", "text", *options, cwd=folder).stdout
        assert re.search(r"same text in 1 other file: \w+/(copy|both)\.md", shown) and "both.md" in shown
    shown = cdesearch("query", "whale", *BOTH, "--mode", "text", "--format", "llm", cwd=folder).stdout
    assert re.search(r" \[1\] (pets: both|space: copy)\.md:\S+  Whales  \(.*also (space: copy|pets: both)\.md", shown)


def test_documents_of_the_same_name_are_not_grouped(folder):
    shown = cdesearch("query", "cats", *BOTH, "--group", "--mode", "text", cwd=folder).stdout
    assert "pets/cats.md" in shown and "space/cats.md" in shown


def test_filters_hold_within_each_index(folder):
    def paths(*options, cwd=folder, code=0):
        found = hits(cdesearch("query", "moon", *absolute, *options, "--json", cwd=cwd, code=code))
        return {(hit["index"], hit["path"]) for hit in found}

    absolute = ("--index", folder / "pets", "--index", folder / "space")
    assert paths("--type", "txt") == {("pets", "notes/a.txt")}
    assert paths("--path", "cats.md") == {("pets", "cats.md"), ("space", "cats.md")}
    assert {index for index, _ in paths("--path", "space/*.md")} == {"space"}
    assert paths("--since", "2100-01-01", code=1) == set()
    run = cdesearch("query", "moon", *BOTH, "--path", "*.rs", cwd=folder, code=1)
    assert "No indexed file matches --path *.rs." in run.stderr and str(folder / "space") in run.stderr
    assert paths("--min-confidence", "1", code=1) == set()


def test_context_lines_and_grep_lines_come_from_the_index_of_the_hit(folder):
    shown = cdesearch("query", "moves water", *BOTH, "-C", "2", "--mode", "text", cwd=folder).stdout
    assert "It shines." in shown
    lines = cdesearch("query", "moon", *BOTH, "--mode", "text", "--format", "grep", cwd=folder).stdout.splitlines()
    assert {line.partition(":")[0] for line in lines} == {"space/moon.md", "pets/notes/a.txt"}


def test_without_words_the_matches_of_a_pattern_are_in_the_order_of_indexes_and_paths(folder):
    run = cdesearch("query", "--regex", "^(The|A) (whale|moon)", *BOTH, "--format", "grep", cwd=folder)
    places = [line.rpartition(":")[0] for line in run.stdout.splitlines()]
    assert places == ["pets/both.md:3", "pets/notes/a.txt:1", "space/moon.md:3"]
    assert not run.stderr


def test_the_hit_of_any_index_is_opened(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("EDITOR", "true")
    cdesearch("query", "moves water", *BOTH, "--mode", "text", "--open", cwd=folder)
    assert (remembered(1).root, remembered(1).path) == (str(folder / "space"), "moon.md")


def test_update_brings_every_index_up_to_date(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    write_files(own, {"space/new.md": "A xylophone in space.", "pets/new.md": "A xylophone for pets."})
    found = hits(cdesearch("query", "xylophone", *BOTH, "--mode", "text", "--json", cwd=own))
    assert {hit["index"] for hit in found} == {"pets", "space"}


def test_an_index_that_does_not_exist_ends_the_query(folder):
    run = cdesearch("query", "moon", *BOTH, "--index", "nowhere", cwd=folder, code=2)
    assert "nowhere" in run.stderr and not run.stdout


@pytest.mark.parametrize("command", [["ask", "moon"], ["tui"], ["eval", "--questions", "q"], ["status"], ["index"]])
def test_a_command_for_one_index_refuses_two(folder, command):
    for two in (BOTH, ("--index=pets", "--index", "pets")):
        run = cdesearch(*command, *two, cwd=folder, code=2)
        assert f"`cdesearch {command[0]}` takes one index, and --index is given more than once." in run.stderr
        assert not run.stdout


def test_the_word_index_in_a_question_is_not_the_option(folder):
    once = ("ask", "--index", "pets", "--json", "--", "volcano", "--index", "space")
    assert json.loads(cdesearch(*once, cwd=folder, code=1).stdout)["question"] == "volcano --index space"


def test_a_file_may_set_several_indexes(folder, own_config):
    names = json.dumps([str(folder / "pets"), str(folder / "space")])
    (own_config / "config.toml").write_text(f"[query]\nindex = {names}\n")
    found = hits(cdesearch("query", "moon", "--json", cwd=folder))
    assert {hit["index"] for hit in found} == {"pets", "space"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the sockets are Unix sockets")
def test_a_server_of_all_indexes_gives_the_same_output(folder, monkeypatch):
    queries = [["moon"], ["whale", "--json"], ["cats", "--group"], ["moon", "--type", "md"], ["water", "-C", "2"]]
    with runtime_folder() as runtime:
        line = serve("pets", "space", "--background", "--port", "0", runtime=runtime, cwd=folder).stdout
        assert line.startswith("Serving ")
        for query in queries:
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "nowhere"))
            direct = cdesearch("query", *query, *BOTH, cwd=folder)
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
            with monkeypatch.context() as patched:
                patched.setattr(service, "_open_here", None)
                through = cdesearch("query", *query, *BOTH, cwd=folder)
            without_time = [re.sub(r'"milliseconds": [\d.]+', "", run.stdout) for run in (direct, through)]
            assert without_time[0] == without_time[1] and direct.stderr == through.stderr
        alone = cdesearch("query", "moon", "--index", "pets", "--json", cwd=folder)
        assert all("index" not in hit for hit in hits(alone))
