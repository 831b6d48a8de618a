"""Copy the files of a generation between a bucket and a local folder, several at a time."""

import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cdesearch.errors import IndexDamagedError
from cdesearch.progress import Progress
from cdesearch.store.bucket import snapshot
from cdesearch.store.bucket.objects import Bucket, Stored
from cdesearch.store.bucket.snapshot import checksums_of, link_known, object_name, stored_checksums
from cdesearch.store.checksums import read_checksums, sha256_of
from cdesearch.store.layout import CHECKSUMS

AT_ONCE = 8  # files; the library moves the parts of a large file in parallel as well
LARGEST_COPY = 5_000_000_000  # bytes; S3 copies no larger object in one request
_PART = ".part"  # the end of the name of a file that is being downloaded


def upload(bucket: Bucket, generation: Path, base: str, present: dict[str, Stored], progress: Progress) -> None:
    """Write the files of a finished generation to the bucket, the checksums last.

    A file that the generation `base` of the bucket has with the same checksum is copied there by the server; an empty
    `base` is none. `present` are the objects of a run that was interrupted; those of the right size are not sent
    again. Raises BucketError.
    """
    checksums = read_checksums(generation)
    try:
        known = stored_checksums(bucket, base)[1] if base else {}
    except IndexDamagedError:
        known = {}
    advance = progress.stage("Uploading", len(checksums))

    def send(file: str) -> None:
        entry, target = checksums[file], object_name(generation.name, file)
        sent = present.get(target)
        if sent is None or sent.size != entry.size:
            if file in known and known[file].sha256 == entry.sha256 and entry.size <= LARGEST_COPY:
                bucket.copy(object_name(base, file), target)
            else:
                bucket.upload(generation / file, target)
        advance(1)

    _each(send, checksums)
    bucket.upload(generation / CHECKSUMS, object_name(generation.name, CHECKSUMS))


def download(bucket: Bucket, generation: Path, others: Collection[Path], progress: Progress) -> None:
    """Copy a generation from the bucket to the local folder `generation`, the checksums last.

    Files that the local generations `others` have with the same checksum are linked. A download that was interrupted
    continues. Raises BucketError, IndexDamagedError and OSError.
    """
    content, checksums = stored_checksums(bucket, generation.name)
    generation.mkdir(exist_ok=True)
    known = {other: checksums_of(other) for other in others}
    advance = progress.stage("Downloading", len(checksums))

    def receive(file: str) -> None:
        entry, place = checksums[file], generation / file
        link_known(file, entry, known, place)
        if not (place.is_file() and sha256_of(place) == entry.sha256):
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_name(f"{place.name}{_PART}")
            part.unlink(missing_ok=True)
            snapshot.download(bucket, generation.name, file, entry, part)
            part.replace(place)
            os.utime(place, ns=(entry.mtime_ns, entry.mtime_ns))  # so that it counts as unchanged
        advance(1)

    _each(receive, checksums)
    (generation / CHECKSUMS).write_bytes(content)


def _each(move: Callable[[str], None], files: Iterable[str]) -> None:
    """Call `move` for every file in threads. After an error, no further file is begun."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="cdesearch-transfer") as threads:
        begun = [threads.submit(move, file) for file in files]
        try:
            for one in begun:
                one.result()
        except BaseException:
            threads.shutdown(wait=True, cancel_futures=True)
            raise
