import ctypes
from pathlib import Path

import pytest

from trainer.step.cached_pass import release_freed_memory

PAGE = 4096


def test_holes_between_live_blocks_go_back_to_the_system():
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("only glibc keeps freed memory between live blocks")
    blocks = [bytes(64 * 1024) for _ in range(1000)]
    live = blocks[::100] + blocks[-1:]
    del blocks
    kept = _resident()
    release_freed_memory()
    assert kept - _resident() > 30e6
    assert len(live) == 11


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE
