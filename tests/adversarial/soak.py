"""Change a folder at random while a server answers clients and `watch` follows: `make soak MINUTES=60`.

Every file contains a word of its own, so a hit shows from which version of the file it comes. The exit status is 1 if a
request failed, if a removed text was found too late, if a saved text was not found, if disk or memory grew, or if the
final index differs from a new one.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

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

MODES = ("hybrid", "text")
WORDS = [f"{first}{second}" for first in ("ba", "co", "di", "fu", "ga", "le", "mo", "ni") for second in "lmnrst"]
TEXT_WORDS = 25
CLIENTS = 4
SAMPLE_SECONDS = 2.0  # between two measurements of disk and memory
MOST_GROWTH = 1.25  # of disk and memory, from the second quarter of the time to the last
SLACK = 30_000_000  # bytes by which both may grow in addition


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a soak test."""

    minutes: float
    chunks: int = 20_000
    seed: int = 0
    lag: float = 5.0  # seconds after which no removed text may be found, and every saved one must be
    pause: float = 2.0  # mean seconds from one change to the next
    think: float = 0.25  # mean seconds of a client between an answer and its next search
    model: Path | None = None


@dataclass
class Outcome:
    """The results of a soak test, which has failed if there are `problems`."""

    problems: list[str] = field(default_factory=list)
    changes: int = 0
    searches: int = 0
    found_after: list[float] = field(default_factory=list)  # seconds from saving a file to the first hit
    stale_for: list[float] = field(default_factory=list)  # seconds since a text was removed that was found
    disk: list[int] = field(default_factory=list)  # bytes of the index
    memory: list[int] = field(default_factory=list)  # bytes of the server and of `watch`

    def report(self) -> str:
        """The results in a few lines."""
        latest, stalest = max(self.found_after, default=0), max(self.stale_for, default=0)
        lines = [f"{self.changes:,} changes, {self.searches:,} searches, {len(self.problems):,} problems"]
        lines.append(f"found {latest:.1f} s after saving and {stalest:.1f} s after removal at most")
        for name, series in (("disk", self.disk), ("memory", self.memory)):
            lines.append(f"{name}: from {_quarter(series, 1) / 1e6:,.0f} to {_quarter(series, 3) / 1e6:,.0f} MB")
        return "\n".join([*lines, *self.problems[:20], *self.problems[20:][-20:]])  # the comparison comes last


class Folder:
    """Files with known texts. `lock` is held while they are changed or compared with hits."""

    def __init__(self, path: Path, random_numbers: random.Random) -> None:
        self.path = path
        self._random = random_numbers
        self.lock = threading.Lock()
        self.texts: dict[str, tuple[str, float]] = {}  # by path: the file's own word, and when it was saved
        self.removed: dict[str, float] = {}  # when each word was removed
        self.probes: dict[str, float] = {}  # words that were saved and not found yet
        self._number = 0

    def fill(self, count: int) -> None:
        """Write the files that exist when the test begins."""
        for _ in range(count):
            self._write(self._new_path())
        self.probes.clear()

    def change(self) -> None:
        """Run one random operation, usually on one file and rarely on many, as a checkout of a branch does."""
        with self.lock:
            path = self._some()
            match self._random.choices(["add", "edit", "move", "delete", "checkout"], [25, 40, 15, 19, 1])[0]:
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
                    for one in self._random.sample(sorted(self.texts), min(50, len(self.texts) // 4)):
                        self._write(one)

    def _some(self) -> str:
        return self._random.choice(list(self.texts))

    def _new_path(self) -> str:
        self._number += 1
        return f"{self._random.randrange(20):02}/{self._number:07}.txt"

    def _write(self, path: str) -> None:
        own = "x" + "".join(self._random.choices("bcdfghjklmnpqrstvwz", k=11))
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{own} " + " ".join(self._random.choices(WORDS, k=TEXT_WORDS)), encoding="utf-8")
        now = time.monotonic()
        if path in self.texts:
            self.removed[self.texts[path][0]] = now
        self.texts[path] = own, now
        self.probes[own] = now


class Soak:
    """Runs the server, `watch`, the clients and the changes."""

    def __init__(self, work: Path, plan: Plan) -> None:
        self.plan = plan
        self.folder = Folder(work / "docs", random.Random(plan.seed))
        self.work = work
        self.outcome = Outcome()
        self._stop = threading.Event()
        self._options = Options(model=plan.model)

    def run(self) -> Outcome:
        """Run the whole test."""
        self.folder.fill(self.plan.chunks)
        index = build([self.folder.path], self._options, Silent()).folder
        model = [] if self.plan.model is None else ["--model", str(self.plan.model)]
        with (
            _process("serve", str(index), "--port", "0", *model) as (server, lines),
            _process("watch", "--index", str(index)) as (watch, watch_lines),
        ):
            url = _address(lines)
            tasks = [partial(self._search, url, number) for number in range(CLIENTS)]
            tasks.append(partial(self._sample, index, [server.pid, watch.pid]))
            threads = [threading.Thread(target=self._report_errors, args=(task,)) for task in tasks]
            for thread in threads:
                thread.start()
            self._change(self.plan.minutes * 60)
            self._settle(index)
            self._stop.set()
            for thread in threads:
                thread.join()
            self.outcome.problems += [line for line in watch_lines if "error" in line]
            for name, process in (("server", server), ("watch", watch)):
                if process.poll() is not None:
                    self.outcome.problems.append(f"The {name} ended with {process.returncode}.")
        self._compare(index)
        return self.outcome

    def _report_errors(self, task: Callable[[], None]) -> None:
        """Run the task of a thread. Without its report, the test would pass although a thread has ended early."""
        try:
            task()
        except Exception as error:
            self.outcome.problems.append(f"A thread of the test failed: {error!r}")

    def _change(self, seconds: float) -> None:
        pauses = random.Random(self.plan.seed + 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.folder.change()
            self.outcome.changes += 1
            time.sleep(min(pauses.expovariate(1 / self.plan.pause), max(0.0, end - time.monotonic())))

    def _settle(self, index: Path) -> None:
        """Wait until the index has followed the last change."""
        end = time.monotonic() + max(60.0, 10 * self.plan.lag)
        while any(count_changes(Index(index)).values()):
            if time.monotonic() > end:
                self.outcome.problems.append("The index did not follow the last changes.")
                return
            time.sleep(0.5)

    def _search(self, url: str, number: int) -> None:
        """Run one client, which searches for texts that must be found, texts that must not, and common words."""
        numbers = random.Random(1000 * self.plan.seed + number)
        with httpx.Client(base_url=url, timeout=60) as client:
            while not self._stop.is_set():
                kind, word, since = self._question(numbers)
                started = time.monotonic()
                try:
                    response = client.get("/api/v1/search", params={"q": word, "k": 5, "mode": numbers.choice(MODES)})
                    hits = response.raise_for_status().json()["hits"]
                except (httpx.HTTPError, ValueError) as error:
                    self.outcome.problems.append(f"A search failed: {error}")
                    continue
                self.outcome.searches += 1
                self._judge(kind, word, since, started, [hit["text"] for hit in hits])
                time.sleep(numbers.expovariate(1 / self.plan.think))

    def _question(self, numbers: random.Random) -> tuple[str, str, float]:
        """The next query: its kind, its words, and the time at which they were saved or removed."""
        with self.folder.lock:
            kind = numbers.choice(["probe", "present", "removed", "common"])
            if kind == "probe" and self.folder.probes:
                return kind, *numbers.choice(list(self.folder.probes.items()))
            if kind == "removed" and self.folder.removed:
                return kind, *numbers.choice(list(self.folder.removed.items())[-200:])
            if kind == "common":
                return kind, " ".join(numbers.sample(WORDS, 3)), 0.0
            return "present", *self.folder.texts[numbers.choice(list(self.folder.texts))]

    def _judge(self, kind: str, word: str, since: float, started: float, texts: list[str]) -> None:
        """Compare the answer with what the folder contained when the search started."""
        is_found = any(word in text for text in texts)
        with self.folder.lock:
            removed = self.folder.removed.get(word)
            if is_found and word in self.folder.probes:
                self.outcome.found_after.append(time.monotonic() - self.folder.probes.pop(word))
            if removed is not None:
                self.folder.probes.pop(word, None)
            for text in texts:
                gone = self.folder.removed.get(text.split()[0])
                if gone is not None and gone < started:
                    self.outcome.stale_for.append(started - gone)
                    if started - gone > self.plan.lag:
                        self.outcome.problems.append(f"A text was found {started - gone:.1f} s after its removal.")
        if kind == "common" and not texts:
            self.outcome.problems.append(f"Nothing was found for {word}.")
        if kind in ("present", "probe") and removed is None and not is_found and started - since > self.plan.lag:
            self.outcome.problems.append(f"A text was not found {started - since:.1f} s after it was saved.")

    def _sample(self, index: Path, pids: list[int]) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.outcome.disk.append(_size(index))
            self.outcome.memory.append(sum(_memory(pid) for pid in pids))

    def _compare(self, index: Path) -> None:
        """Compare the final index with a new one, and disk and memory at the end with those before."""
        fresh = build([self.folder.path], Options(index=self.work / "fresh", model=self.plan.model), Silent()).folder
        if _contents(Index(index)) != _contents(Index(fresh)):
            self.outcome.problems.append("The final index has other texts than a new one.")
        if not diagnose(index).is_sound:
            self.outcome.problems.append("The final index is not sound.")
        for name, series in (("disk", self.outcome.disk), ("memory", self.outcome.memory)):
            before, after = _quarter(series, 1), _quarter(series, 3)
            if after > MOST_GROWTH * before + SLACK:
                self.outcome.problems.append(f"The {name} grew from {before / 1e6:,.0f} to {after / 1e6:,.0f} MB.")


@contextmanager
def _process(*arguments: str) -> Any:
    """A command of cdesearch in a process of its own, with the lines that it prints; it is stopped by SIGTERM."""
    lines: list[str] = []
    command = [sys.executable, "-m", "cdesearch", *arguments]
    with subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
        reader.start()
        try:
            yield process, lines
        finally:
            if process.poll() is None:
                process.terminate()


def _address(lines: list[str]) -> str:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = re.search(r"http://[\w.:]+/", "".join(lines))
        if found:
            return found[0]
        time.sleep(0.1)
    raise TimeoutError(f"The server did not start: {''.join(lines)}")


def _contents(index: Index) -> list[tuple[str, str]]:
    rows = index.chunks.search().select(["path", "text"]).limit(index.chunks.count_rows()).to_arrow()
    return sorted(zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True))


def _size(folder: Path) -> int:
    """Bytes on the disk; files with two names, which two generations share, count once."""
    found: dict[int, int] = {}
    for parent, _, names in os.walk(folder):  # `rglob` fails if a folder is removed in the meantime
        for name in names:
            with suppress(OSError):  # the file was removed in the meantime
                status = Path(parent, name).lstat()
                found[status.st_ino] = status.st_size
    return sum(found.values())


def _memory(pid: int) -> int:
    try:
        process = psutil.Process(pid)
        return sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])
    except psutil.Error:
        return 0


def _quarter(series: list[int], number: int) -> float:
    size = max(1, len(series) // 4)
    return median(series[number * size : (number + 1) * size] or [0])


def main() -> int:
    """Run the test, print the report and return the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__)
    for one in fields(Plan):
        default = 60.0 if one.name == "minutes" else one.default
        arguments.add_argument(f"--{one.name}", type=Path if one.name == "model" else type(default), default=default)
    with tempfile.TemporaryDirectory() as work:
        outcome = Soak(Path(work), Plan(**vars(arguments.parse_args()))).run()
    sys.stdout.write(outcome.report() + "\n")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
