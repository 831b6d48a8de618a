"""Fuzz every parser for some minutes with fresh seeds: `make fuzz MINUTES=30`.

A file that breaks a promise is made as small as possible and saved in FOLDER, and the exit status is 1. A file on which
the process dies or hangs is in FOLDER as well, because each file is written there before it is read.
"""

import argparse
import faulthandler
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests"
sys.path[:0] = list(map(str, (REPOSITORY, TESTS, TESTS / "adversarial", TESTS / "indexer")))

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from parser_fuzzing import check, files  # noqa: E402

ROUND = 200  # files that are tried with one seed
HANGS_AFTER = 60.0  # seconds after which the process ends itself and shows its stack


class Fuzzer:
    """Counts the files that were tried, and stores the file that is being read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tried: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        folder.mkdir(parents=True, exist_ok=True)

    def round(self, number: int) -> bool:
        """Try ROUND files; returns whether every promise was kept."""

        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(files)
        def try_one(file: tuple[str, bytes]) -> None:
            name, data = file
            (self.folder / f"last_{name}").write_bytes(data)
            faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
            self.tried[name] += 1
            self.read[name] += check(name, data)

        try:
            try_one()
        except Exception:  # hypothesis ends with the smallest file, which is the last one that was written
            traceback.print_exc()
            return False
        finally:
            faulthandler.cancel_dump_traceback_later()
        return True


def main() -> int:
    """Fuzz until the time is up or a promise is broken."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--folder", type=Path, default=Path("runs/fuzz"))
    arguments.add_argument("--seed", type=int, default=None, help="of the first round; default: a fresh one")
    options = arguments.parse_args()
    warnings.simplefilter("error")
    number = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    fuzzer = Fuzzer(options.folder)
    end = time.monotonic() + options.minutes * 60
    is_sound = True
    while is_sound and time.monotonic() < end:
        is_sound = fuzzer.round(number)
        if not is_sound:
            sys.stderr.write(f"The file is in {options.folder}; the round is repeated by --seed {number}.\n")
        number += 1
    for name in sorted(fuzzer.tried):
        sys.stdout.write(f"{name:12} {fuzzer.tried[name]:8,} tried {fuzzer.read[name]:8,} read\n")
    sys.stdout.write(f"{fuzzer.tried.total():,} files tried, {'none' if is_sound else 'one'} that broke a promise\n")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
