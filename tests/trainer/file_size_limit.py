"""A limit of the size of files, which acts as a full disk does."""

import resource
from contextlib import contextmanager


@contextmanager
def files_of_at_most(n_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
