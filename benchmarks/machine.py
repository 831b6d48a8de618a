"""The machine and the versions that a measurement was made with."""

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("cdesearch", "onnxruntime", "lancedb", "torch", "sentence-transformers", "tokenizers", "numpy")


def describe() -> dict[str, Any]:
    """Processor, cores, measured matrix product rate, versions and commit."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "gemm_gflops": round(gemm_rate(), 1),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in PACKAGES},
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    wide = [name for name in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if name in flags]
    return f"{model} ({' '.join(wide)})"


def gemm_rate(n: int = 1536) -> float:
    """The GFLOP/s of a float32 product of n x n matrices, the best of five."""
    a = np.random.default_rng(0).random((n, n), np.float32)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - started)
    return 2 * n**3 / min(seconds) / 1e9


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    run = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"
