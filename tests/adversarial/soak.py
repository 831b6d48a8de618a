"""Change a folder at random while a server answers clients and `watch` follows: `make soak MINUTES=60`.

Every file contains a word of its own, so a hit shows from which version of the file it comes. The exit status is 1 if a
request failed, if a removed text was found too late, if a saved text was not found, if disk or memory grew, or if the
final index differs from a new one.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY)]

import httpx  # noqa: E402
import psutil  # noqa: E402

from cdesearch.progress import Silent  # noqa: E402
from cdesearch.store.index import Index  # noqa: E402
from indexer.build import build  # noqa: E402
from indexer.health.doctor import diagnose  # noqa: E402
from indexer.plan import count_changes  # noqa: E402
from indexer.settings import Options  # noqa: E402

WORDS = [f"{first}{second}" for first in ("ba", "co", "di", "fu", "ga", "le", "mo", "ni") for second in "lmnrst"]
CLIENTS = 4
THINK = 0.25  # mean seconds of a client between an answer and its next search
PAUSE = 1.0  # mean seconds from one change to the next
SAMPLE_SECONDS = 2.0  # between two measurements of disk and memory
MOST_GROWTH = 1.25  # of disk and memory, from the second quarter of the time to the last
SLACK = 30_000_000  # bytes by which both may grow in addition


class Folder:
    """Files with known texts. `lock` is held while they are changed or compared with hits."""

    def __init__(self, path, numbers, count):
        self.path, self._numbers, self._last = path, numbers, 0
        self.lock = threading.Lock()
        self.texts = {}  # by path: the file's own word, and when it was saved
        self.removed = {}  # when each word was removed
        for _ in range(count):
            self._write(self._new_path())

    def change(self):
        """Run one random operation, usually on one file and rarely on many, as a checkout of a branch does."""
        with self.lock:
            path = self._numbers.choice(list(self.texts))
            match self._numbers.choices(["add", "edit", "move", "delete", "checkout"], [25, 40, 15, 19, 1])[0]:
                case "add":
                    self._write(self._new_path())
                case "edit":
                    self._write(path)
                case "move":
                    fresh = self._new_path()
                    (self.path / path).rename(self.path / fresh)
                    # The word counts as saved now: an update may have passed the new place already.
                    self.texts[fresh] = self.texts.pop(path)[0], time.monotonic()
                case "delete":
                    (self.path / path).unlink()
                    self.removed[self.texts.pop(path)[0]] = time.monotonic()
                case "checkout":
                    for one in self._numbers.sample(sorted(self.texts), min(50, len(self.texts) // 4)):
                        self._write(one)

    def _new_path(self):
        self._last += 1
        path = f"{self._numbers.randrange(20):02}/{self._last:07}.txt"
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        return path

    def _write(self, path):
        own = "x" + "".join(self._numbers.choices("bcdfghjklmnpqrstvwz", k=11))
        (self.path / path).write_text(f"{own} " + " ".join(self._numbers.choices(WORDS, k=25)), encoding="utf-8")
        now = time.monotonic()
        if path in self.texts:
            self.removed[self.texts[path][0]] = now
        self.texts[path] = own, now


class Soak:
    """Runs the server, `watch`, the clients and the changes; the test has failed if there are `problems`."""

    def __init__(self, work, minutes, chunks=20_000, seed=0, lag=5.0, model=None):
        """`lag` is the seconds after which no removed text may be found, and every saved one must be."""
        self.work, self.minutes, self.seed, self.lag, self.model = work, minutes, seed, lag, model
        (work / "docs").mkdir()
        self.folder = Folder(work / "docs", random.Random(seed), chunks)
        self.problems, self.disk, self.memory = [], [], []
        self.changes = self.searches = 0
        self._stop = threading.Event()

    def run(self):
        index = build([self.folder.path], Options(model=self.model), Silent()).folder
        model = [] if self.model is None else ["--model", str(self.model)]
        with (
            _process("serve", str(index), "--port", "0", *model) as (server, lines),
            _process("watch", "--index", str(index)) as (watch, watch_lines),
        ):
            url = _address(lines)
            tasks = [(self._search, url, number) for number in range(CLIENTS)]
            tasks.append((self._sample, index, [server.pid, watch.pid]))
            threads = [threading.Thread(target=self._report_errors, args=task) for task in tasks]
            for thread in threads:
                thread.start()
            self._change()
            self._settle(index)
            self._stop.set()
            for thread in threads:
                thread.join()
            self.problems += [line for line in watch_lines if "error" in line]
            self.problems += [f"{one.args[3]} ended early." for one in (server, watch) if one.poll() is not None]
        self._compare(index)

    def _report_errors(self, task, *inputs):
        """Run the task of a thread. Without its report, the test would pass although a thread has ended early."""
        try:
            task(*inputs)
        except Exception as error:
            self.problems.append(f"A thread of the test failed: {error!r}")

    def _change(self):
        pauses, end = random.Random(self.seed + 1), time.monotonic() + 60 * self.minutes
        while time.monotonic() < end:
            self.folder.change()
            self.changes += 1
            time.sleep(pauses.expovariate(1 / PAUSE))

    def _settle(self, index):
        """Wait until the index has followed the last change."""
        end = time.monotonic() + max(60.0, 10 * self.lag)
        while any(count_changes(Index(index)).values()):
            if time.monotonic() > end:
                self.problems.append("The index did not follow the last changes.")
                return
            time.sleep(0.5)

    def _search(self, url, number):
        """Run one client, which searches for words of texts that are there and of texts that are not."""
        numbers = random.Random(1000 * self.seed + number)
        with httpx.Client(base_url=url, timeout=60) as client:
            while not self._stop.is_set():
                with self.folder.lock:
                    known = list(self.folder.texts.values())
                    removed = list(self.folder.removed.items())[-200:]
                word, since = numbers.choice(removed if removed and numbers.random() < 0.3 else known)
                started = time.monotonic()
                mode = numbers.choice(("hybrid", "text"))
                try:
                    response = client.get("/api/v1/search", params={"q": word, "k": 5, "mode": mode})
                    texts = [hit["text"] for hit in response.raise_for_status().json()["hits"]]
                except (httpx.HTTPError, ValueError) as error:
                    self.problems.append(f"A search failed: {error}")
                    continue
                self.searches += 1
                self._judge(word, since, started, texts)
                time.sleep(numbers.expovariate(1 / THINK))

    def _judge(self, word, since, started, texts):
        """Compare the answer with what the folder contained when the search started."""
        with self.folder.lock:
            gone = [self.folder.removed.get(text.split()[0], started) for text in texts]
            is_there = word not in self.folder.removed
        late = max((started - one for one in gone), default=0.0)
        if late > self.lag:
            self.problems.append(f"A text was found {late:.1f} s after its removal.")
        if is_there and not any(word in text for text in texts) and started - since > self.lag:
            self.problems.append(f"A text was not found {started - since:.1f} s after it was saved.")

    def _sample(self, index, pids):
        while not self._stop.wait(SAMPLE_SECONDS):
            self.disk.append(_size(index))
            self.memory.append(sum(map(_memory, pids)))

    def _compare(self, index):
        """Compare the final index with a new one, and disk and memory at the end with those before."""
        fresh = build([self.folder.path], Options(index=self.work / "fresh", model=self.model), Silent()).folder
        if _contents(Index(index)) != _contents(Index(fresh)):
            self.problems.append("The final index has other texts than a new one.")
        if not diagnose(index).is_sound:
            self.problems.append("The final index is not sound.")
        for name, series in (("disk", self.disk), ("memory", self.memory)):
            size = max(1, len(series) // 4)
            before, after = (median(part or [0]) for part in (series[size : 2 * size], series[3 * size : 4 * size]))
            if after > MOST_GROWTH * before + SLACK:
                self.problems.append(f"The {name} grew from {before / 1e6:,.0f} to {after / 1e6:,.0f} MB.")


@contextmanager
def _process(*arguments):
    """A command of cdesearch in a process of its own, with the lines that it prints; it is stopped by SIGTERM."""
    lines = []
    command = [sys.executable, "-m", "cdesearch", *arguments]
    with subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
        reader.start()
        try:
            yield process, lines
        finally:
            process.terminate()  # has no effect on one that has ended


def _address(lines):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for word in " ".join(lines).split():
            if word.startswith("http://"):
                return word
        time.sleep(0.1)
    raise TimeoutError(f"The server did not start: {''.join(lines)}")


def _contents(index):
    rows = index.chunks.search().select(["path", "text"]).limit(index.chunks.count_rows()).to_arrow()
    return sorted(zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True))


def _size(folder):
    """Bytes on the disk; files with two names, which two generations share, count once."""
    found = {}
    for parent, _, names in os.walk(folder):  # `rglob` fails if a folder is removed in the meantime
        for name in names:
            with suppress(OSError):  # the file was removed in the meantime
                status = Path(parent, name).lstat()
                found[status.st_ino] = status.st_size
    return sum(found.values())


def _memory(pid):
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--chunks", type=int, default=20_000)
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), **vars(parser.parse_args()))
        soak.run()
    found = f"{soak.changes:,} changes, {soak.searches:,} searches, {len(soak.problems):,} problems"
    sys.stdout.write("\n".join([found, *soak.problems[:40], ""]))
    sys.exit(bool(soak.problems))
