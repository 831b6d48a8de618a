"""A forked child cannot use the indexes of its parent, and says so; a child that is spawned can open them."""

import multiprocessing
import os
import subprocess
import sys
import textwrap

import pytest

import cdesearch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# LanceDB warns about the fork itself. A child that waits forever is killed by the time limit of the test.
PROGRAM = """
import os, sys, warnings
warnings.simplefilter("ignore")
import cdesearch
from cdesearch.errors import IndexStateError
{before}
child = os.fork()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    {call}
except IndexStateError as error:
    print(error, flush=True)
else:
    print("worked", flush=True)
os._exit(0)
"""
OPEN = "index = cdesearch.open({docs!r}, model={model!r})"
SEARCHED = f"{OPEN}; index.search('cat')"


@pytest.fixture(scope="module")
def docs(tmp_path_factory, tiny_checkpoint):
    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.md").write_text("the cat")
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


def forked(docs, model, before, call):
    names = {"docs": str(docs), "model": str(model)}
    code = PROGRAM.format(before=before.format(**names), call=call.format(**names))
    command = [sys.executable, "-c", textwrap.dedent(code)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize(
    "call",
    [
        "index.search('cat')",
        "index.search('cat', mode='text')",
        "index.search_many(['cat'])",
        "index.reload()",
        "index.update()",
        "cdesearch.open({docs!r}, model={model!r}).search('cat', mode='text')",
        "cdesearch.Embedder({model!r})",
    ],
)
def test_a_forked_child_of_a_process_that_has_searched_says_what_to_do(docs, tiny_checkpoint, call):
    message = forked(docs, tiny_checkpoint, SEARCHED, call)
    assert message.startswith("This process was forked from process ") and '"spawn"' in message


@pytest.mark.parametrize("before", ["", OPEN])
def test_a_forked_child_of_a_process_that_has_not_searched_works(docs, tiny_checkpoint, before):
    call = "cdesearch.open({docs!r}, model={model!r}).search('cat')"
    assert forked(docs, tiny_checkpoint, before, call) == "worked"


def search_here(docs, model):
    with cdesearch.open(docs, model=model) as index:
        return [hit.chunk.path for hit in index.search("cat")]


def test_a_spawned_child_opens_the_index_again(docs, tiny_checkpoint):
    expected = search_here(docs, tiny_checkpoint)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(search_here, (docs, tiny_checkpoint)) == expected == ["a.md"]
