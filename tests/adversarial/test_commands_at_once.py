"""Commands and threads that read while others change the index: each sees one whole generation."""

import json
import subprocess
import sys

import pytest
from built import make_index
from command import cdesearch_process

from cdesearch.store.index import Index
from indexer.health.doctor import diagnose

pytestmark = pytest.mark.slow

# Edit one file and update, again and again, with a new context every third time.
UPDATES = """
import itertools, sys
from pathlib import Path
from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options
docs, model = map(Path, sys.argv[1:])
if __name__ == "__main__":
    for number in itertools.count():
        (docs / "00.md").write_text(f"the moon {number} and the river " + "x" * number)
        build([docs], Options(model=model, refresh_context=number % 3 == 2), Silent())
        print(number, flush=True)
"""


@pytest.mark.parametrize("is_query", [True, False])
def test_every_command_sees_a_whole_index_while_it_is_updated_and_the_update_is_killed(docs, tiny_checkpoint, is_query):
    make_index([docs], model=tiny_checkpoint)
    queries = [["query", "house", "--mode", mode, "--model", tiny_checkpoint] for mode in ("hybrid", "dense", "text")]
    command = [sys.executable, "-c", UPDATES, str(docs), str(tiny_checkpoint)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "0\n"
        for command in queries if is_query else [["status"], ["status", "--files"], ["doctor"]]:
            found = json.loads(cdesearch_process(*command, "--index", docs, "--json", cwd=docs).stdout)
            assert len(found.get("hits", range(10))) == 10 and len(found.get("files", range(12))) == 12
            assert found.get("documents", 12) == 12 and found.get("sound", True)
        assert writer.poll() is None, "the index was updated all the time"
        writer.kill()
    make_index([docs], model=tiny_checkpoint)
    assert diagnose(Index.open(docs).folder).is_sound
