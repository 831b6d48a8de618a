"""Mutation testing: does any test fail when the code is changed a little? `make mutants` runs this.

mutmut changes one expression at a time in the modules that `[tool.mutmut]` in pyproject.toml names. It runs the tests
listed there that reach the changed function. A run that was stopped can be continued. If one of the tests has changed,
all mutants are tried again.

    python tests/mutants.py [--max-children N] [MUTANT ...]     # a mutant, or a pattern such as '*.pack.*'

It prints the changes of the surviving mutants, and a table. The exit code is 1 if fewer than LEAST percent of a
module's mutants were killed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

LEAST = 90  # percent of a module's mutants
KILLED = ("killed", "timeout", "segfault")
NOT_RUN = "not checked"
WORKPLACE = Path("mutants")


def main(arguments: list[str]) -> int:
    """Run the remaining mutants and print the table; returns 0 if enough mutants were killed in every module."""
    forget_results_of_other_tests()
    # One thread per process: processes with several threads each would wait for one another.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [Path(sys.executable).parent / "mutmut", "run", *arguments]
    if code := subprocess.run(command, env=environment, check=False).returncode:
        return code
    results = {path: statuses(path) for path in sorted(walk_mutatable_files())}
    for path, found in results.items():
        for mutant, status in found.items():
            if status not in (*KILLED, NOT_RUN):
                print(f"{mutant}: {status}\n{changed_lines(mutant, path)}\n")
    return 0 if print_table(results) else 1


def forget_results_of_other_tests() -> None:
    """Remove mutmut's results if a test file, or the list of test files, has changed since."""
    selected = config().pytest_add_cli_args_test_selection
    digest = hashlib.sha256(repr(selected).encode())
    for file in sorted(Path("tests").rglob("*.py")):
        is_imported = not file.name.startswith("test_") and file.name != Path(__file__).name  # conftest.py and the like
        if file.as_posix() in selected or is_imported:
            digest.update(file.read_bytes())
    kept = WORKPLACE / "tests.sha256"
    if WORKPLACE.exists() and not (kept.exists() and kept.read_text() == digest.hexdigest()):
        shutil.rmtree(WORKPLACE)
    WORKPLACE.mkdir(exist_ok=True)
    kept.write_text(digest.hexdigest())


def statuses(path: Path) -> dict[str, str]:
    """The outcome of each mutant of a module."""
    found = SourceFileMutationData(path=path)
    found.load()
    return {mutant: status_by_exit_code[code] for mutant, code in found.exit_code_by_key.items()}


def changed_lines(mutant: str, path: Path) -> str:
    """The lines that a mutant removes and adds."""
    lines = get_diff_for_mutant(mutant, path=path).splitlines()
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def print_table(results: dict[Path, dict[str, str]]) -> bool:
    """Print one row per module; returns whether enough mutants were killed in each."""
    print("| module | mutants | killed | survived | killed, % |\n|---|---|---|---|---|")
    everything = [status for found in results.values() for status in found.values()]
    enough = True
    for name, found in [*((path, list(found.values())) for path, found in results.items()), ("all", everything)]:
        run = [status for status in found if status != NOT_RUN]
        killed = sum(status in KILLED for status in run)
        share = 100 * killed / len(run) if run else 100.0
        left = f" ({len(found) - len(run)} not run)" if len(run) < len(found) else ""
        print(f"| {name} | {len(run)}{left} | {killed} | {len(run) - killed} | {share:.1f} |")
        enough &= share >= LEAST
    return enough


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
