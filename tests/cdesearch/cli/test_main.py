import json
import subprocess
import sys

import pytest
import typer
from built import write_files
from command import cdesearch

from cdesearch.cli.usage import parse_probability

TEXT = "# Cats\n\nA cat purrs at night.\n\n# Dogs\n\nA dog barks.\n"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("docs"), {"pets.md": TEXT, "sub/evil\x1b[31m.txt": "A whale sings."})
    run = cdesearch("index", ".", cwd=folder)
    assert "Next: cdesearch query" in run.stderr and run.stdout == ""
    return folder


def test_a_hit_shows_location_and_passage(indexed):
    run = cdesearch("query", "purring", "cat", "-k", "1", "--all", cwd=indexed / "sub")
    assert "../pets.md:3 " in run.stdout and "A cat purrs at night." in run.stdout and "\x1b" not in run.stdout


def test_options_may_precede_the_words_and_the_name_of_a_command(indexed):
    assert cdesearch("-k", "1", "how", "to", "index", "cat", cwd=indexed).stdout.startswith(" 1 ")
    assert cdesearch("--index", ".", "status", cwd=indexed).stdout.startswith("root ")
    assert "sub" in cdesearch("--path", "sub", "--full", "whale", cwd=indexed).stdout
    assert "No such option: --pat (Possible options:" in cdesearch("--pat", "sub", "cat", cwd=indexed, code=2).stderr


def test_the_command_open_with_words_is_a_query(indexed):
    assert cdesearch("open", "cat", cwd=indexed).stdout.startswith(" 1 ")


def test_one_json_object_for_each_hit(indexed):
    whole = json.loads(cdesearch("query", "cat", "--json", cwd=indexed).stdout)["hits"]
    lines = cdesearch("query", "cat", "--format", "jsonl", cwd=indexed).stdout.splitlines()
    assert [json.loads(line) for line in lines] == whole and len(lines) == 2


def test_lines_as_those_of_grep_have_the_line_of_the_passage(indexed):
    run = cdesearch("query", "dog barks", "--format", "grep", "-k", "1", cwd=indexed)
    assert run.stdout == "pets.md:7:A dog barks.\n"
    run = cdesearch("query", "dog barks", "--format", "grep", "-k", "1", "-C", "1", "--all", cwd=indexed / "sub")
    assert run.stdout == "../pets.md-5-# Dogs\n../pets.md:7:A dog barks.\n"


@pytest.mark.parametrize(
    "arguments",
    [["-C", "2", "--json"], ["--group", "--format", "grep"], ["--open", "--json"], ["--json", "--format", "llm"]],
)
def test_options_that_contradict_each_other_are_refused_in_one_line(indexed, arguments):
    assert "error: " in cdesearch("query", "cat", *arguments, cwd=indexed, code=2).stderr


@pytest.mark.slow
def test_a_shell_completes_commands_options_and_types(indexed):
    asked = {"que": "query", "query --typ": "--type", "query --type py": "py python", "inde": "indexes index"}
    for typed, expected in asked.items():
        words = f"cdesearch {typed}"
        environment = {"_CDESEARCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert cdesearch(cwd=indexed, **environment).stdout.split() == expected.split()
    environment = {"_CDESEARCH_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert "--type" in cdesearch(cwd=indexed, _TYPER_COMPLETE_ARGS="cdesearch query --typ", **environment).stdout


def test_a_query_that_nothing_answers_says_so_and_shows_the_nearest_hits(indexed):
    run = cdesearch("query", "visa for Japan", cwd=indexed)
    assert run.stderr.startswith('No text here contains "Japan".\nNothing here seems to answer that; the nearest')
    assert run.stdout.startswith(" 1 ")
    for mode in ("hybrid", "text"):
        none = cdesearch("query", "visa for Japan", "--format", "grep", "--mode", mode, cwd=indexed, code=1)
        assert (none.stdout, none.stderr) == ("", "No hits.\n")
    wildcard = cdesearch("query", "japanes*", "--mode", "text", cwd=indexed, code=1)
    assert wildcard.stderr.startswith("No hits: * and ? are no wildcards.")
    answered = cdesearch("query", "dog barks", "--json", cwd=indexed)
    assert json.loads(answered.stdout)["answered"] and not answered.stderr
    best = json.loads(answered.stdout)["hits"][0]["confidence"]
    assert f"  {100 * best:.0f}%\n" in cdesearch("dog barks", cwd=indexed).stdout


def test_a_misspelled_word_is_replaced_and_the_command_says_so(indexed):
    run = cdesearch("query", "dog braks", "--format", "grep", cwd=indexed)
    assert run.stderr == 'Showing hits for "dog barks".\n' and "barks" in run.stdout
    found = json.loads(cdesearch("query", "dog braks", "--json", cwd=indexed).stdout)
    assert (found["query"], found["searched"]) == ("dog braks", "dog barks")


def test_a_word_that_leaves_out_passages_is_named(indexed):
    run = cdesearch("query", "dog -quartz barks", "--format", "grep", cwd=indexed)
    assert run.stderr.startswith('Passages with "quartz" are left out.') and "barks" in run.stdout


def test_a_list_of_files_says_how_many_there_are(indexed):
    run = cdesearch("query", "-k1", "--", "-path:none", cwd=indexed)
    assert run.stderr == "1 of 2 are listed: add -k 2 to list all.\n"


def test_hits_below_a_confidence_are_left_out(indexed):
    run = cdesearch("query", "visa for Japan", "--min-confidence", "0.5", cwd=indexed, code=1)
    _, highest = run.stderr.splitlines()
    assert highest.startswith("No hit has a confidence of at least 50%. The highest is ") and not run.stdout
    assert cdesearch("--min-confidence", "0.3", "dog", "barks", cwd=indexed).stdout.count("%") == 1
    assert cdesearch("--min-confidence", "30%", "dog", "barks", cwd=indexed).stdout.count("%") == 1


def test_a_confidence_is_a_number_or_a_percentage():
    assert parse_probability("0.3") == parse_probability("30%") == parse_probability(" 30 %") == 0.3
    assert parse_probability(1) == 1, "as in a configuration file"
    for value in ("30", "nan", "inf", "-0.1", "101%", "%", ""):
        with pytest.raises(typer.BadParameter, match="a number from 0 to 1, or a percentage such as 30%, not"):
            parse_probability(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "dog", "--min-confidence", "30"], "Invalid value for '--min-confidence': must be a number from 0"),
        (["--zzz"], "No such option: --zzz. See `cdesearch --help`."),
        (["query", "food", "--colour"], "No such option: --colour. To ask about it, write `--` before your words."),
        (
            ["query", "food", "-k", "0"],
            "'-k': Input should be greater than or equal to 1. See `cdesearch query --help`.",
        ),
        (["index", ".", "--seed", ""], "The value of --seed is empty. Give one, or leave the option out."),
        (["food", "-k"], "Option '-k' requires an argument. See `cdesearch query --help`."),
        (["index", ".", "--device", "x"], "'x' is not one of 'auto', 'cpu', 'cuda', 'mps'"),
        (["status", ".", "--index", "other"], "Both . and --index other are given. Name one index."),
        (["query", "food", "--path", "[z-a]"], "The range z-a in [z-a] is empty."),
        (["query", "\udcff"], "The query is not valid Unicode."),
        (["index", "nowhere"], "no folder or file"),
        (["-k", "3"], "The query is empty. Type some words."),
        (["index", ".", "--max-file-size", "big"], "not a file size"),
        (["index", ".", "--model", "nowhere"], "not a checkpoint"),
        (["index", ".", "--model", "jxm"], "has the form ORG/NAME"),
        (["index", ".", "--model", "me/model"], "run `hf download me/model --local-dir model`"),
    ],
)
def test_bad_input_is_one_line(indexed, arguments, message):
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9"} if "me/model" in arguments else {}  # where no server runs
    error = cdesearch(*arguments, cwd=indexed, code=2, **environment).stderr
    assert message in error and len(error.splitlines()) == 1


def test_status_names_a_renamed_folder(tmp_path):
    write_files(tmp_path / "docs", {"pets.md": TEXT})
    made = cdesearch("index", "docs", "--index", "index", cwd=tmp_path)
    assert "1 document, 1 chunk (1 embedded)" in made.stderr
    assert "1 document, 1 chunk." in cdesearch("doctor", "--index", "index", cwd=tmp_path).stdout
    (tmp_path / "docs").rename(tmp_path / "texts")
    run = cdesearch("status", "--index", "index", cwd=tmp_path)
    line = (
        f"{tmp_path / 'docs'} no longer exists. Its documents stay in the index until you run"
        f" `cdesearch index --rebuild PATH --index {tmp_path / 'index'}`"
        " (with --model if it had another than the default)."
    )
    assert line in run.stderr
    assert line in cdesearch("index", "--index", "index", cwd=tmp_path).stderr
    report = json.loads(cdesearch("status", "--index", "index", "--json", cwd=tmp_path).stdout)
    assert report["missing_sources"] == [str(tmp_path / "docs")]


@pytest.mark.parametrize(("arguments", "meant"), [(["search", "cat"], "query"), (["inde", "a", "--rebuild"], "index")])
def test_a_misspelt_command_without_an_index_is_named_in_one_line(tmp_path, arguments, meant):
    error = cdesearch(*arguments, cwd=tmp_path, code=2).stderr
    assert error.startswith(f"error: {arguments[0]} is not a command. Did you mean `cdesearch {meant}`? ")


def test_help_is_a_command_as_well(tmp_path):
    pairs = [(["help"], ["--help"]), (["-h", "soup"], ["--help"])]
    pairs += [([form, "index"], ["index", "--help"]) for form in ("help", "--help", "-h")]
    for arguments, option in pairs:
        assert cdesearch(*arguments, cwd=tmp_path).stdout == cdesearch(*option, cwd=tmp_path).stdout
    assert "There is no index" in cdesearch("help", "me", cwd=tmp_path, code=2).stderr


def test_a_tab_in_a_passage_is_shown_as_blanks(tmp_path):
    (tmp_path / "a.txt").write_text("The bird\tflies")
    cdesearch("index", ".", cwd=tmp_path)
    assert "   The bird    flies\n" in cdesearch("query", "bird", cwd=tmp_path).stdout


def test_a_query_without_an_index(tmp_path):
    for command in (["query", "x"], ["index"], ["watch"]):
        assert "Make one with `cdesearch index .`.\n" in cdesearch(*command, cwd=tmp_path, code=2).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such code")
def test_a_reader_that_closes_the_pipe_early_gets_no_message_and_the_code_of_a_closed_pipe(indexed):
    command = f"set -o pipefail; {sys.executable} -m cdesearch query cat -k 50 | true"
    run = subprocess.run(["bash", "-c", command], cwd=indexed, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 141)


@pytest.mark.parametrize("command", ["status", "doctor", "trust"])
def test_a_folder_below_the_indexed_one_names_the_nearest_index_upward(indexed, command):
    for folder in ("sub", "sub/evil\x1b[31m.txt"):
        assert cdesearch(command, folder, cwd=indexed).stdout == cdesearch(command, cwd=indexed).stdout
    cdesearch(command, "nowhere", cwd=indexed, code=2)


def test_doctor_reports_once_that_a_sound_index_needs_no_repair(indexed):
    run = cdesearch("doctor", "--repair", cwd=indexed)
    assert run.stdout.count("is sound") == 1
    stages = [line.partition(" of ")[0] for line in run.stderr.splitlines()]
    assert stages == ["Checking files"] * 2, "before a repair, and after it"


def test_the_summary_shows_how_many_documents_have_no_text_and_status_which_ones(tmp_path):
    write_files(tmp_path, {"a.txt": "The bird flies.", "empty.txt": ""})
    said = cdesearch("index", ".", cwd=tmp_path).stderr
    assert "2 documents (1 without text), 1 chunk (1 embedded)" in said and "Read in part" not in said
    listed = cdesearch("status", "--files", cwd=tmp_path).stdout
    assert listed == "indexed  a.txt\nindexed  empty.txt  (no text)\n"
    run = cdesearch("status", "--files", "--skipped", cwd=tmp_path)
    assert (run.stdout, run.stderr) == ("", "No file was skipped.\n")
