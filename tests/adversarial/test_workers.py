"""A file that makes its worker hang, crash or use too much memory is skipped, and all others are read."""

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import threading
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from read_by_workers import outcomes, reading, sources_of

from cdesearch.progress import Silent
from cdesearch.store.file_account import read_files
from cdesearch.store.index import Index
from indexer import job
from indexer.build import build
from indexer.files.outcome import Source
from indexer.settings import Options
from indexer.workers import process
from indexer.workers.limits import Limits
from indexer.workers.pool import Pool, ReadChunks

HOSTILE = (sys.executable, "-P", str(Path(__file__).with_name("hostile_worker.py")))
LIMITS = Limits(seconds=4, memory_bytes=600_000_000)
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory and ends orphans")


@pytest.fixture
def hostile(monkeypatch):
    monkeypatch.setattr(process, "COMMAND", HOSTILE)
    monkeypatch.setattr(job, "LIMITS", LIMITS)


BAD = {
    "HANG": "took longer than 4 s",
    "SPIN": "took longer than 4 s",
    "CRASH": "segmentation fault",
    "RECURSE": "RecursionError",
    "EXIT": "SystemExit",
    "LEAVE": "exit code 3",
    "REFUSE": "not for reading",
}


@pytest.mark.parametrize("word", BAD)
def test_a_bad_file_is_skipped_with_its_reason_and_all_others_are_read(tmp_path, hostile, tiny_tokenizer, word):
    sources = sources_of(tmp_path, ["the cat", word, "the dog", "the moon"])
    reasons, events = outcomes(sources, tiny_tokenizer, limits=LIMITS)
    assert {path for path, reason in reasons.items() if reason is None} == {"000.txt", "002.txt", "003.txt"}
    assert BAD[word] in reasons["001.txt"]
    assert reasons["001.txt"].startswith("could not be read: ") or word == "REFUSE"
    read = [event.source.path for event in events if isinstance(event, ReadChunks)]
    assert read == ["000.txt", "002.txt", "003.txt"]


@pytest.mark.slow
@only_linux
def test_a_file_that_takes_too_much_memory_is_skipped_with_its_reason(tmp_path, hostile, tiny_tokenizer):
    limits = Limits(memory_bytes=600_000_000)
    reasons, _ = outcomes(sources_of(tmp_path, ["EAT", "the dog"]), tiny_tokenizer, 1, limits)
    assert reasons == {"000.txt": "could not be read: needs more than 0.6 GB of memory", "001.txt": None}


def source_of(file):
    return Source(str(file), file.name, file.stat().st_size, file.stat().st_mtime_ns)


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_millions_of_records_is_skipped_and_the_next_file_is_read(
    tmp_path, tiny_tokenizer
):
    """Ten million rows of one word take 35 kB as Parquet; a record without text makes no chunk, but a document."""
    files = [tmp_path / name for name in ("a.parquet", "b.parquet", "c.txt")]
    for file, word in zip(files, ("the cat", ""), strict=False):
        rows = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000_000, pa.int8()), pa.array([word]))
        pq.write_table(pa.table({"text": rows}), file, compression="zstd", row_group_size=10_000_000)
    files[2].write_text("the dog")
    limits = Limits(records=10_000)
    reasons, events = outcomes([source_of(file) for file in files], tiny_tokenizer, 1, limits)
    most = [max(10_000, file.stat().st_size) for file in files]
    assert reasons == {
        "a.parquet": f"unpacks to more than {most[0]:,} records",
        "b.parquet": f"unpacks to more than {most[1]:,} records",
        "c.txt": None,
    }
    assert sum(len(event.documents) for event in events if isinstance(event, ReadChunks)) <= sum(most)


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_too_much_text_in_many_records_is_skipped(tmp_path, tiny_tokenizer):
    rows = "".join(json.dumps({"_id": number, "text": "the cat " * 1000}) + "\n" for number in range(400))
    for name, pack in (("a.jsonl", str.encode), ("b.jsonl.gz", lambda text: gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(pack(rows))
    sources = [source_of(tmp_path / name) for name in ("a.jsonl", "b.jsonl.gz")]
    reasons, _ = outcomes(sources, tiny_tokenizer, 1, Limits(characters=1_000_000))
    assert reasons == {"a.jsonl": None, "b.jsonl.gz": "unpacks to more than 1,000,000 characters of text"}


def test_equal_records_in_a_compressed_file_or_an_attachment_are_refused_early(tmp_path, tiny_tokenizer):
    """Thousands of equal records take a byte each, or less, in gzip; uncompressed, all of them are read."""
    rows = b'{"text":"a"}\n' * 3000
    packed = gzip.compress(b'{"text":"a"}\n' * 200_000)
    mail = EmailMessage()
    mail["Subject"] = "Records"
    mail.set_content("Here they are.")
    mail.add_attachment(packed, "application", "gzip", filename="x.jsonl.gz")
    contents = {"a.jsonl.gz": packed, "b.eml": bytes(mail), "c.mbox": b"From a\n" + bytes(mail)}
    contents["d.jsonl"] = rows
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    limits = Limits(records=1000)
    assert all(1000 < len(data) < 10_000 for name, data in contents.items() if name != "d.jsonl")
    reasons, events = outcomes([source_of(tmp_path / name) for name in contents], tiny_tokenizer, 1, limits)
    expected = dict.fromkeys(contents, "unpacks to more than 1,000 records") | {"d.jsonl": None}
    assert reasons == expected
    assert sum(len(event.documents) for event in events if isinstance(event, ReadChunks)) <= 3 * 1000 + 3000


def test_a_large_compressed_file_may_have_as_many_records_as_its_size_makes_plausible(tmp_path, tiny_tokenizer):
    rows = [
        json.dumps({"_id": number, "text": f"cat {number**5 % 10_000_019} {number**7 % 10_000_079}"})
        for number in range(1000)
    ]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    reasons, _ = outcomes([source_of(tmp_path / "a.jsonl.gz")], tiny_tokenizer, 1, Limits(records=300))
    assert reasons == {"a.jsonl.gz": None}


def test_what_a_parser_prints_reaches_neither_the_answers_nor_the_terminal(tmp_path, hostile, tiny_tokenizer, capfd):
    reasons, _ = outcomes(sources_of(tmp_path, ["PRINT"] * 20), tiny_tokenizer, limits=LIMITS)
    assert set(reasons.values()) == {None}
    assert capfd.readouterr() == ("", "")


def test_the_index_is_whole_and_a_file_that_kills_its_worker_is_tried_once(tmp_path, hostile, tiny_checkpoint):
    texts = ["the cat", "CRASH", "the dog", "LEAVE", "CRASH", "the moon"]
    sources_of(tmp_path, texts)
    report = build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert report.n_documents == 3 and len(report.skipped) == 3
    process.COMMAND = ("there-is-no-such-program",)  # no worker can start, and none is needed
    again = build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert not again.changed and again.skipped == report.skipped


def children():
    """The child processes of this one, from /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append(int(folder.name))
    return found


@only_linux
def test_leaving_the_pool_ends_workers_that_hang(tmp_path, hostile, tiny_tokenizer):
    before = set(children())
    with Pool(2) as workers:
        events = workers.read(sources_of(tmp_path, ["the cat", "HANG", "HANG"]), reading(tiny_tokenizer, Limits()))
        next(events)
        assert set(children()) - before
    assert set(children()) == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("reading")]


PARENT = """
import sys
from pathlib import Path
from tokenizers import Tokenizer
from indexer.formats.format import Columns
from indexer.workers import process
from indexer.workers.limits import Limits
from indexer.workers.limits import Reading
from indexer.workers.pool import Pool
from indexer.files.outcome import Source
process.COMMAND = (sys.executable, "-P", sys.argv[1])
file = Path(sys.argv[2])
with Pool(1) as workers:
    reading = Reading(Tokenizer.from_file(sys.argv[3]).to_str(), 64, Columns(), 10**8, Limits())
    for event in workers.read([Source(str(file), file.name, 4, 0)], reading):
        print(next(iter(workers._workers))._process.pid, flush=True)
"""


@only_linux
@pytest.mark.parametrize("word", ["HANG", pytest.param("SPIN", marks=pytest.mark.slow)])
def test_a_killed_parent_leaves_no_worker_behind(tmp_path, tiny_checkpoint, word):
    file = tmp_path / "bad.txt"
    file.write_text(word)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, HOSTILE[2], str(file), str(tiny_checkpoint / "tokenizer.json")],
        stdout=subprocess.PIPE,
        text=True,
    )
    worker = int(parent.stdout.readline())  # the file has been opened
    handle = os.pidfd_open(worker)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    ended, _, _ = select.select([handle], [], [], 30)
    os.close(handle)
    assert ended


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_or_sigterm_while_files_are_read_is_one_line_and_ends_the_workers(
    tmp_path, tiny_checkpoint, number, code
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bad.txt").write_text("HANG")
    program = (
        "import sys\nfrom indexer.workers import process\n"
        "process.COMMAND = (sys.executable, '-P', sys.argv.pop(1))\n"
        "from cdesearch.cli.start import main\nmain()"
    )
    command = [
        sys.executable,
        "-c",
        program,
        HOSTILE[2],
        "index",
        str(tmp_path / "docs"),
        "--model",
        str(tiny_checkpoint),
    ]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    line = run.stderr.readline()
    while "Reading" not in line:
        assert line, "it ended before it read"
        line = run.stderr.readline()
    if number == signal.SIGINT:
        os.killpg(run.pid, number)  # Ctrl-C reaches the workers too
    else:
        run.send_signal(number)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == code
    assert errors.strip() == "Stopped. The same command continues, and reuses every finished embedding."


@pytest.mark.slow
def test_build_works_from_a_script_without_a_main_guard(tmp_path, tiny_checkpoint):
    (tmp_path / "docs").mkdir()
    for number in range(5):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"the cat {number}")
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder was imported')")
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "from pathlib import Path\nfrom indexer.build import build\nfrom indexer.settings import Options\n"
        "from cdesearch.progress import Silent\n"
        f"print(build([Path('docs')], Options(model=Path({str(tiny_checkpoint)!r})), Silent()).n_documents)\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_empty_files_of_records_are_known_after_a_run(tmp_path, tiny_checkpoint):
    (tmp_path / "a.txt").write_text("the cat")
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "head.csv").write_text("id,text\n")
    build([tmp_path], Options(model=tiny_checkpoint), Silent())
    from indexer.plan import count_changes

    index = Index.open(tmp_path)
    assert {file.path: file.outcome for file in read_files(index.generation)} == {
        "a.txt": "indexed",
        "head.csv": "indexed",
        "none.jsonl": "indexed",
    }
    assert count_changes(index) == {"new": 0, "modified": 0, "deleted": 0}
    assert not build([tmp_path], Options(model=tiny_checkpoint), Silent()).changed
    (tmp_path / "none.jsonl").write_text(json.dumps({"text": "the dog"}))
    assert count_changes(index) == {"new": 0, "modified": 1, "deleted": 0}
    assert build([tmp_path], Options(model=tiny_checkpoint), Silent()).n_documents == 2
