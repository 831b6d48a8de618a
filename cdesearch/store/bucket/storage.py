"""Gives readers the live generation of an index in a bucket."""

from cdesearch.store.bucket.checks import BucketChecks
from cdesearch.store.bucket.connection import lance_options
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.bucket.pointer import newest_generation
from cdesearch.store.bucket.snapshot import object_name, open_newest
from cdesearch.store.guard import TABLES, check_tables
from cdesearch.store.place import BucketAddress
from cdesearch.store.storage import Live


class BucketStorage:
    """An index in a bucket. All methods raise BucketError."""

    def __init__(self, address: BucketAddress) -> None:
        self._bucket = bucket_at(address)

    def open(self) -> Live:
        generation = open_newest(self._bucket)
        check_tables(generation)
        tables = f"{self._bucket.address}/{object_name(generation.name, TABLES)}"
        return Live(generation, BucketChecks(self._bucket, generation), tables, lance_options(self._bucket.address))

    def newest_name(self) -> str | None:
        return newest_generation(self._bucket)
