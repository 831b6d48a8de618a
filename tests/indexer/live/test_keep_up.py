"""An index that is updated continuously has the same content as a new one."""

import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from built import assert_same, contents, make_index, write_files
from object_server import put

from cdesearch.store.copies import copies_of
from cdesearch.store.index import Index
from cdesearch.store.place import BucketAddress, parse_place
from indexer.live import keep_up as module
from indexer.live import watched
from indexer.live.keep_up import keep_up
from indexer.warm import Warm


class Keeping:
    """Runs `keep_up` in a thread and keeps its lines."""

    def __init__(self, folder):
        self.lines = []
        self._tools, self._stop = Warm(), threading.Event()
        inputs = (folder, self._tools, self.lines.append, self._stop)
        self._thread = threading.Thread(target=keep_up, args=inputs)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._tools.close()

    def wait_for(self, is_true):
        deadline = time.monotonic() + 120
        while not is_true():
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.05)


@pytest.mark.slow
def test_saved_moved_and_deleted_files_are_followed(docs, run, tiny_checkpoint, tmp_path):
    folder = run().folder
    with Keeping(folder) as keeping:
        (docs / "new.md").write_text("xylophone")
        keeping.wait_for(lambda: "new.md" in contents(docs)[0]["path"].to_pylist())
        (docs / "00.md").unlink()
        (docs / "01.md").rename(docs / "moved.md")
        (docs / "02.md").write_text("# About stone\n\nthe stone is in the river.")
        keeping.wait_for(lambda: "moved.md" in contents(docs)[0]["path"].to_pylist())
        keeping.wait_for(lambda: "the stone is in the river." in str(contents(docs)[0]["text"].to_pylist()))
        assert all(line.startswith("Updated: ") for line in keeping.lines)
    make_index([docs], index=tmp_path / "same", model=tiny_checkpoint)
    assert contents(docs)[0].drop_columns("place").equals(contents(tmp_path / "same")[0].drop_columns("place"))


@pytest.mark.slow
def test_files_in_a_bucket_are_looked_up_at_intervals_which_is_said(store, tmp_path, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(watched, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(watched, "WHOLE_SECONDS", 0.0)
    address = BucketAddress("s3", store.bucket, "files")
    put(address, "moon.md", b"The moon is a stone.")
    folder = tmp_path / "index"
    make_index([parse_place(str(address))], index=folder, model=tiny_checkpoint)
    with Keeping(folder) as keeping:
        put(address, "new.md", b"xylophone")
        keeping.wait_for(lambda: "new.md" in contents(folder)[0]["path"].to_pylist())  # perhaps by the first update
        put(address, "newer.md", b"zither")
        keeping.wait_for(lambda: "newer.md" in contents(folder)[0]["path"].to_pylist())
        shutil.rmtree(copies_of(address))
        put(address, "newest.md", b"quartz")
        keeping.wait_for(lambda: "newest.md" in contents(folder)[0]["path"].to_pylist())
        said = f"A bucket does not report changes, so {address} is looked up at least every 10 minutes."
        assert [line for line in keeping.lines if not line.startswith("Updated: ")] == [said]


@pytest.mark.slow
def test_the_documents_of_a_folder_that_disappears_stay_in_the_index(docs, run, monkeypatch):
    monkeypatch.setattr(watched, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(watched, "MISSING_SECONDS", 0.2)
    folder = run(index=docs.parent / "index").folder
    before = contents(folder)
    with Keeping(folder) as keeping:
        shutil.move(docs, docs.parent / "away")
        keeping.wait_for(lambda: any("does not exist" in line for line in keeping.lines))
        assert_same(contents(folder), before)
        (docs.parent / "away" / "new.md").write_text("xylophone")
        shutil.move(docs.parent / "away", docs)
        keeping.wait_for(lambda: any(line.endswith("exists again.") for line in keeping.lines))
        keeping.wait_for(lambda: Index(folder).manifest.n_documents == 13)


@pytest.mark.slow
def test_an_update_that_fails_is_repeated_and_its_error_is_said_once(docs, run, monkeypatch):
    folder = run().folder
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.1)
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    with Keeping(folder) as keeping:
        (docs / "new.md").write_text("xylophone")
        keeping.wait_for(lambda: any("error" in line for line in keeping.lines))
        time.sleep(1)
        (folder / "lock").rmdir()
        keeping.wait_for(lambda: Index(folder).manifest.n_documents == 13)
    assert sum("error" in line for line in keeping.lines) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("model", "embeds"), [("closed_checkpoint", False), ("tiny_checkpoint", True)])
def test_a_context_that_no_longer_fits_is_renewed_or_its_renewal_is_advised_once(docs, request, model, embeds):
    folder = make_index([docs], model=request.getfixturevalue(model)).folder
    before = Index(folder).manifest
    more = write_files(docs.parent / "more", {f"{number}.md": f"engine {number} and stone" for number in range(70)})
    with Keeping(folder) as keeping:
        more.rename(docs / "more")
        keeping.wait_for(lambda: Index(folder).manifest.n_documents == 82)
        (docs / "last.md").write_text("xylophone")
        keeping.wait_for(lambda: Index(folder).manifest.n_documents == 83)
    after = Index(folder).manifest
    assert (after.context_fingerprint == before.context_fingerprint) == embeds
    assert sum("--refresh-context" in line for line in keeping.lines) == embeds
    assert sum("So a new one was sampled" in line for line in keeping.lines) == (not embeds)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_follows_a_folder_and_ends_quietly(docs, run, number, code):
    run()
    command = [sys.executable, "-m", "cdesearch", "watch", str(docs)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        (docs / "new.md").write_text("xylophone")
        deadline = time.monotonic() + 120
        while Index.open(docs).manifest.n_documents != 13 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(number)
        lines = process.stderr.read().splitlines()
    assert Index.open(docs).manifest.n_documents == 13
    assert process.returncode == code
    assert "Traceback" not in "".join(lines) and "Stopped" not in "".join(lines)
