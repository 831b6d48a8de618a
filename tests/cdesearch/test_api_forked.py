"""A forked child cannot use the indexes of its parent, and says so; a child that is spawned can open them."""

import multiprocessing
import os
import pickle
import subprocess
import sys

import pytest

import cdesearch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# A child that waits forever is killed by the time limit of the test.
PROGRAM = """
import os, sys
import cdesearch
from cdesearch.errors import IndexStateError
docs, model = sys.argv[1:]
{before}
child = os.fork()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for call in {calls}:
    try:
        call()
    except IndexStateError as error:
        print(error, flush=True)
    else:
        print("worked", flush=True)
os._exit(0)
"""
OPEN = "index = cdesearch.open(docs, model=model)"
SEARCH = "index.search('cat')"
CALLS = (
    SEARCH,
    "index.search('cat', mode='text')",
    "index.search_many(['cat'])",
    "index.reload()",
    "index.update()",
    "index.close()",
    "cdesearch.open(docs, model=model).search('cat', mode='text')",
    "cdesearch.Embedder(model)",
)


@pytest.fixture(scope="module")
def docs(tmp_path_factory, tiny_checkpoint):
    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.md").write_text("the cat")
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


def forked(docs, model, before, *calls):
    """Return the errors that the calls have in a forked child."""
    code = PROGRAM.format(before=before, calls=f"[{', '.join(f'lambda: {call}' for call in calls)}]")
    command = [sys.executable, "-c", code, str(docs), str(model)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "RuntimeWarning" not in run.stderr  # LanceDB's own, which the error makes superfluous
    return run.stdout.splitlines()


@pytest.mark.slow
def test_a_forked_child_of_a_process_that_has_searched_says_what_to_do(docs, tiny_checkpoint):
    errors = dict(zip(CALLS, forked(docs, tiny_checkpoint, f"{OPEN}; {SEARCH}", *CALLS), strict=True))
    assert errors.pop("index.close()") == "worked"
    assert all(error.startswith("This process was forked from process ") for error in errors.values())
    assert all('"spawn"' in error for error in errors.values())


def search_here(docs, model):
    with cdesearch.open(docs, model=model) as index:
        return [hit.chunk.path for hit in index.search("cat")]


@pytest.mark.slow
def test_a_spawned_child_opens_the_index_again(docs, tiny_checkpoint):
    expected = search_here(docs, tiny_checkpoint)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(search_here, (docs, tiny_checkpoint)) == expected == ["a.md"]


def test_an_error_can_be_sent_to_another_process():
    error = pickle.loads(pickle.dumps(cdesearch.CdesearchError("a", "b")))
    assert (error.cause, error.remedy, str(error)) == ("a", "b", "a b")
