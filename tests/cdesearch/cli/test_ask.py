import json

import pytest
from command import cdesearch
from scripted_model import speaking

TEXT = "# Cats\n\nA cat purrs at night.\n\n# Dogs\n\nA dog barks at strangers.\n"
SECRET = "sk-very-secret"


@pytest.fixture(scope="module")
def indexed(index_of):
    return index_of({"pets.md": TEXT, "evil\x1b[31m.txt": "A whale \x1b[31msings a song at night."})


def ask(folder, *arguments, code=0):
    return cdesearch("ask", *arguments, cwd=folder, code=code)


def test_the_answer_is_quoted_and_followed_by_its_sources(indexed):
    run = ask(indexed, "when", "does a cat purr?")
    answer, _, sources = run.stdout.partition("\n\n")
    assert run.returncode == 0 and "A cat purrs at night. [1]" in answer
    assert "[1] pets.md:3  pets > Cats" in sources or "[1] pets.md:3  Cats" in sources
    assert "\x1b" not in ask(indexed, "which whale sings a song?").stdout


def test_a_question_that_nothing_answers_has_exit_code_1_and_an_empty_answer(indexed):
    run = ask(indexed, "--json", "when does a cat purr?")
    answer = json.loads(run.stdout)
    assert run.returncode == 0 and answer["answered"] and answer["error"] is None
    assert answer["passages"][answer["citations"][0]["number"] - 1]["path"] == "pets.md"
    run = ask(indexed, "which visa does Japan require?", code=1)
    assert (run.returncode, run.stdout) == (1, "Nothing in the index answers this.\n")


def test_a_model_writes_the_answer(indexed, monkeypatch):
    monkeypatch.setenv("CDESEARCH_LLM_KEY", SECRET)
    with speaking("A cat purrs", " at night [1]. It", " sleeps \x1b[31m[9].") as model:
        run = ask(indexed, "cat?", "--llm", model.url, "--llm-model", "tiny")
        assert model.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert run.stdout.startswith("A cat purrs at night [1]. It sleeps \\x1b[31m. [no source]\n\n[1] pets.md:")
    assert run.stderr == "1 citation removed: no passage has that number.\n1 sentence without a source.\n"
    assert run.returncode == 0 and SECRET not in run.stdout + run.stderr
    for file in indexed.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


def test_what_a_model_wrote_before_it_failed_is_shown_with_one_line_for_the_error(indexed, monkeypatch):
    with speaking("A cat", done=False) as model:
        monkeypatch.setenv("CDESEARCH_LLM_URL", model.url)
        monkeypatch.setenv("CDESEARCH_LLM_MODEL", "tiny")
        monkeypatch.setenv("CDESEARCH_LLM_KEY", SECRET)
        run = ask(indexed, "cat?", code=2)
        failed = ask(indexed, "cat?", "--json", code=2)
    assert run.returncode == failed.returncode == 2
    assert run.stdout.startswith("A cat") and "A dog barks" not in run.stdout
    assert run.stderr.count("\n") == 1 and "stopped in the middle" in run.stderr and SECRET not in run.stderr
    answer = json.loads(failed.stdout)
    assert not answer["answered"] and "stopped in the middle" in answer["error"] and answer["passages"]


def test_the_command_announces_texts_that_leave_the_machine(indexed):
    run = ask(indexed, "cat?", "--llm", "https://model.invalid/v1", "--llm-model", "tiny", code=None)
    assert run.returncode == 2
    first, second = run.stderr.splitlines()
    assert first.endswith("of your documents are sent to https://model.invalid:443.")
    assert second.startswith("error: The language model at https://model.invalid:443 cannot be reached")
