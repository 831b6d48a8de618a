"""A file that makes its worker hang, crash or use too much memory is skipped, and all others are read."""

import gzip
import io
import json
import os
import select
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from built import make_index, write_files
from read_by_workers import outcomes, reading, sources_of

from indexer import job
from indexer.files.outcome import Source
from indexer.formats.format import MOST_FAILED
from indexer.workers import process
from indexer.workers.messages import Limits
from indexer.workers.pool import Pool

HOSTILE = (sys.executable, "-P", str(Path(__file__).with_name("hostile_worker.py")))
LIMITS = Limits(seconds=2, part_seconds=1, memory_bytes=400_000_000)
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory and ends orphans")


@pytest.fixture
def hostile(monkeypatch):
    monkeypatch.setattr(process, "COMMAND", HOSTILE)
    monkeypatch.setattr(job, "LIMITS", LIMITS)


BAD = {
    "HANG": "took longer than 2 s",
    "SPIN": "took longer than 2 s",
    "CRASH": "segmentation fault",
    "RECURSE": "RecursionError",
    "EXIT": "SystemExit",
    "LEAVE": "exit code 3",
    "REFUSE": "not for reading",
    "EAT": "needs more than 0.4 GB of memory",
}


WORDS = [*BAD][: -1 if sys.platform != "linux" else None]  # others do not limit memory


@pytest.mark.parametrize("word", [pytest.param(one, marks=[pytest.mark.slow] * (one == "HANG")) for one in WORDS])
def test_a_bad_file_is_skipped_with_its_reason_and_all_others_are_read(tmp_path, hostile, tiny_tokenizer, word):
    sources = sources_of(tmp_path, ["the cat", word, "the dog", "the moon"])
    reasons, events = outcomes(sources, tiny_tokenizer, limits=LIMITS)
    assert {path for path, reason in reasons.items() if reason is None} == {"000.txt", "002.txt", "003.txt"}
    assert BAD[word] in reasons["001.txt"]
    assert reasons["001.txt"].startswith("could not be read: ") or word == "REFUSE"
    read = [path for message in events for path in message.chunks["path"].to_pylist()]
    assert read == ["000.txt", "002.txt", "003.txt"]


def mail_of(text, *attachments):
    mail = EmailMessage()
    mail["Subject"] = "Pets"
    mail.set_content(text)
    for number, data in enumerate(attachments):
        mail.add_attachment(data, "application", "octet-stream", filename=f"{number}.txt")
    return bytes(mail)


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(one, marks=[pytest.mark.slow] * (one != "LEAVE"))
        for one in WORDS
        if one not in ("HANG", "EXIT", "REFUSE")
    ],
)
def test_an_attachment_that_ends_the_worker_is_left_out_of_its_mail_alone(tmp_path, hostile, tiny_tokenizer, word):
    mails = [mail_of("the cat"), mail_of("the dog", b"the moon", word.encode(), b"the sun"), mail_of("the bird")]
    (tmp_path / "a.mbox").write_bytes(b"".join(b"From a\n" + mail + b"\n" for mail in mails))
    (tmp_path / "b.eml").write_bytes(mails[1])
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        for name, text in (("1.txt", "the moon"), ("2.txt", word), ("3.eml", mails[1])):
            archive.writestr(name, text)
    reasons, read = outcomes([source_of(file) for file in sorted(tmp_path.iterdir())], tiny_tokenizer, 1, LIMITS)
    assert set(reasons.values()) == {None}
    texts = [row["text"] for message in read for row in message.chunks.to_pylist()]
    assert {animal: sum(animal in text for text in texts) for animal in ("cat", "dog", "moon", "sun", "bird")} == {
        "cat": 1, "dog": 3, "moon": 4, "sun": 3, "bird": 1
    }  # fmt: skip
    notes = [part.ended.note for message in read for part in message.parts if part.ended]
    problem = BAD[word].replace("2 s", "1 s")
    assert [note.count(problem) for note in notes] == [1, 1, 2], notes


@pytest.mark.slow
def test_a_mail_stays_whole_however_many_of_its_attachments_end_the_worker(tmp_path, hostile, tiny_tokenizer):
    (tmp_path / "a.eml").write_bytes(mail_of("the dog", *[b"LEAVE"] * (MOST_FAILED + 2), b"the sun"))
    reasons, read = outcomes([source_of(tmp_path / "a.eml")], tiny_tokenizer, 1, LIMITS)
    texts = [row["text"] for message in read for row in message.chunks.to_pylist()]
    assert reasons == {"a.eml": None} and "the dog" in texts[0] and "the sun" not in "".join(texts)
    assert f"{MOST_FAILED + 3} parts left out" in read[-1].parts[-1].ended.note


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "n_bad"),
    [
        ("a.zip", 2),
        *(
            pytest.param(name, n_bad, marks=pytest.mark.slow)
            for name in ("a.zip", "a.mbox")
            for n_bad in (MOST_FAILED - 1, MOST_FAILED)
        ),
    ],
)
def test_what_precedes_parts_that_end_the_worker_is_read_once_however_many_they_are(
    tmp_path, hostile, tiny_tokenizer, name, n_bad
):
    """They come after the first message with chunks, and one has the name of a part before it."""
    words = [f"w{number}" for number in range(300)] + ["LEAVE"] * n_bad + ["last"]
    file = tmp_path / name
    if name == "a.zip":
        file.write_bytes(archive_of(*words))
    else:
        mails = [mail_of(f"body{number}", word.encode()) for number, word in enumerate(words)]
        mails += [mail_of(f"body{number}") for number in range(len(words), 600)]
        file.write_bytes(b"".join(b"From a\n" + mail + b"\n" for mail in mails))
    reasons, read = outcomes([source_of(file)], tiny_tokenizer, 1, LIMITS)
    texts = " ".join(row["text"] for message in read for row in message.chunks.to_pylist()).split()
    found = Counter(text for text in texts if text.startswith(("w", "body", "last")))
    expected = [*words[:300], *(["last"] if n_bad < MOST_FAILED else [])]
    expected += [f"body{number}" for number in range(600)] if name == "a.mbox" else []
    assert (reasons, found) == ({name: None}, Counter(expected))
    n_left_out = len(words) - 300 - (n_bad < MOST_FAILED)
    assert read[-1].parts[-1].ended.note.startswith(f"{n_left_out} ")
    n_chunks = sum(row["n_chunks"] for message in read for part in message.parts for row in part.documents)
    assert n_chunks == sum(message.chunks.num_rows for message in read)


def archive_of(*texts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number, text in enumerate(texts):
            archive.writestr(zipfile.ZipInfo(f"{number % 299}.txt"), text)
    return stream.getvalue()


def test_the_parts_of_a_file_have_a_time_together_in_which_those_that_are_read_again_count(
    tmp_path, hostile, tiny_tokenizer
):
    (tmp_path / "a.zip").write_bytes(archive_of("the moon", "BUSY cat", "LEAVE", "the sun", "the dog"))
    _, read = outcomes([source_of(tmp_path / "a.zip")], tiny_tokenizer, 1, Limits(parts_seconds=1))
    texts = [row["text"].partition("\n")[2] for message in read for row in message.chunks.to_pylist()]
    assert texts == ["the moon", "BUSY cat"]
    note = read[-1].parts[-1].ended.note
    assert note.startswith("3 files left out: ") and note.count("the others took longer than 1 s") == 2


def test_a_file_that_changes_before_it_is_read_again_is_skipped(tmp_path, hostile, tiny_tokenizer):
    file = tmp_path / "a.zip"
    file.write_bytes(archive_of("the moon", "SPIN", "the sun"))
    with Pool(1) as workers:
        read = workers.read([source_of(file)], reading(tiny_tokenizer, LIMITS))
        next(read)
        (tmp_path / "b.zip").write_bytes(archive_of("the cat"))
        (tmp_path / "b.zip").replace(file)
        last = list(read)[-1]
    assert last.parts[-1].ended.reason == "changed while it was read"


def source_of(file):
    return Source(str(file), file.name, file.stat().st_size, file.stat().st_mtime_ns)


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_very_many_equal_records_is_refused_early(tmp_path, tiny_tokenizer):
    """A record takes a byte or less in gzip or Parquet. Other records, and uncompressed ones, are read."""
    equal = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000_000, pa.int8()), pa.array(["the cat"]))
    pq.write_table(pa.table({"text": equal}), tmp_path / "g.parquet", compression="zstd", row_group_size=10_000_000)
    rows, packed = b'{"text":"a"}\n' * 3000, gzip.compress(b'{"text":"a"}\n' * 200_000)
    mail = EmailMessage()
    mail["Subject"] = "Records"
    mail.set_content("Here they are.")
    mail.add_attachment(packed, "application", "gzip", filename="x.jsonl.gz")
    (tmp_path / "h.mbox").write_bytes((b"From a\n" + bytes(mail) + b"\n") * 20)
    other = [{"_id": n, "text": f"cat {n**5 % 10_000_019} {n**7 % 10_000_079}"} for n in range(2000)]
    contents = {
        "a.jsonl.gz": packed,
        "b.eml": bytes(mail),
        "c.mbox": b"From a\n" + bytes(mail),
        "d.jsonl": rows,
        "e.jsonl.gz": gzip.compress("\n".join(map(json.dumps, other)).encode()),
        "f.jsonl.gz": gzip.compress(b'{"text": "%s"}\n' % (b"the cat " * 200) * 900),
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    files = [*(tmp_path / name for name in contents), tmp_path / "g.parquet"]
    limits = Limits(records=1000, characters=1_000_000)
    reasons, events = outcomes([source_of(file) for file in files], tiny_tokenizer, 1, limits)
    refused = dict.fromkeys(["a.jsonl.gz", "b.eml", "c.mbox"], "unpacks to more than 1,000 records")
    refused["f.jsonl.gz"] = "unpacks to more than 1,000,000 characters of text"
    refused["g.parquet"] = f"unpacks to more than {files[-1].stat().st_size:,} records"
    assert reasons == {file.name: refused.get(file.name) for file in files}
    most = 3000 + 3000 + 2000 + 900 + files[-1].stat().st_size
    assert sum(len(part.documents) for message in events for part in message.parts) <= most
    kept, events = outcomes([source_of(tmp_path / "h.mbox")], tiny_tokenizer, 1)
    assert kept == {"h.mbox": None}
    assert sum(row["text"].count("Here they are") for one in events for row in one.chunks.to_pylist()) == 20


def test_what_a_parser_prints_reaches_neither_the_answers_nor_the_terminal(tmp_path, hostile, tiny_tokenizer, capfd):
    reasons, _ = outcomes(sources_of(tmp_path, ["PRINT"] * 20), tiny_tokenizer, limits=LIMITS)
    assert set(reasons.values()) == {None}
    assert capfd.readouterr() == ("", "")


def test_the_index_is_whole_and_a_file_that_kills_its_worker_is_tried_once(tmp_path, hostile, tiny_checkpoint):
    texts = ["the cat", "CRASH", "the dog", "LEAVE", "CRASH", "the moon"]
    sources_of(tmp_path, texts)
    report = make_index([tmp_path], model=tiny_checkpoint)
    assert report.documents == 3 and len(report.skipped) == 3
    process.COMMAND = ("there-is-no-such-program",)  # no worker can start, and none is needed
    again = make_index([tmp_path], model=tiny_checkpoint)
    assert not again.changed and again.skipped == report.skipped


PARENT = """
import sys
from pathlib import Path
from tokenizers import Tokenizer
from indexer.formats.format import Columns
from indexer.workers import process
from indexer.workers.messages import Limits
from indexer.workers.messages import Reading
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
    command = [sys.executable, "-c", PARENT, HOSTILE[2], str(file), str(tiny_checkpoint / "tokenizer.json")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
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
    write_files(tmp_path / "docs", {"bad.txt": "HANG"})
    program = (
        "import sys\nfrom indexer.workers import process\n"
        "process.COMMAND = (sys.executable, '-P', sys.argv.pop(1))\n"
        "from cdesearch.cli.start import main\nmain()"
    )
    command = [sys.executable, "-c", program, HOSTILE[2], "index", str(tmp_path / "docs")]
    command += ["--model", str(tiny_checkpoint)]
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
