"""Rank the chunks of source code: by what is known of their files, and with fewer chunks of one file in a row.

What matters in code is the file, and files of code have telling names, tests, and many chunks that mention a thing
beside the few that are about it. The constants were chosen on repositories other than those of the benchmark, see
benchmarks/results/LOG.md. Passages of text are not ranked so: there, several hits of one file are several answers.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from cdesearch.search.exact import is_exact
from cdesearch.search.file_filter import TYPES
from cdesearch.search.fusion import Scores

FILE_WEIGHT, COUNTED = 0.6, 3  # of the sum of the best chunks of a file, and how many of them count
NAME_WEIGHT, FOLDER_SHARE = 0.5, 0.5  # of the words of a query in the name of a file, and in that of its folder
TEST_FACTOR = 0.5  # of the chunks of tests and examples, unless a query asks for them
# Of every further chunk of a file. On the development side, .5 ranks files equally well, and chunks by their files one
# point better, but finds 4 points less of the passages that a commit changed among three, and 10 less among ten.
AGAIN_FACTOR = 0.8
BEST = 20  # candidates; if half of them are code, it may be lifted above texts, and if a quarter are, it may not
ALL_CODE = 0.7  # of all candidates, from which on code is also above a text that is best by its own evidence
BESIDE = 2  # files of code beside a text, or above it: it documents this code, and does not stay above it
LEAST_PREFIX = 3  # letters with which a word of a query and a word of a name begin

_LANGUAGES = """
    asm bat c clojure cpp cs cuda dart elixir erlang fortran fsharp go graphql haskell java js julia kotlin lisp lua nix
    ocaml perl php powershell proto py r ruby rust scala sh sql svelte swift terraform ts verilog vhdl vim vue zig
"""
_CODE = frozenset(suffix for language in _LANGUAGES.split() for suffix in TYPES[language].split())
_TESTS = re.compile(
    r"(?:^|/)(?:(?:android)?tests?|specs?|__tests__|testing|testdata|e2e|cypress|mocks|__mocks__|examples?|samples?"
    r"|bench\w*|demos?|fixtures?|vendor|third_party)/"
    r"|[_.-](?:test|spec|cy|stories)s?\.|(?:^|/)(?:test_|(?:conf)?tests?\.)"
    r"|(?-i:(?:\w(?:Tests?\.\w+|Spec\.(?:scala|groovy|kt))|[a-z\d]IT\.(?:java|kt))$)",
    re.IGNORECASE,
)
_ASKS_FOR_TESTS = re.compile(
    r"(?<![^\W_])(?:tests?|specs?|examples?|samples?|bench\w*|demos?|fixtures?|mocks?|e2e)(?![^\W_])", re.IGNORECASE
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def code_lifts(query: str, scores: Scores, paths: Sequence[str]) -> Scores:
    """What is added to the scores (n,) of chunks of code, which may be negative; 0 for other chunks."""
    is_code = np.array([path.rpartition(".")[2].lower() in _CODE for path in paths], bool)
    span = float(scores.max() - scores.min()) if len(scores) else 0.0
    if not is_code.any() or span < 1e-9:
        return np.zeros(len(scores))
    values: Scores = (scores - scores.min()) / span
    lifted = values.copy()
    order = [at for at in np.argsort(-values, kind="stable").tolist() if is_code[at]]
    if not is_exact(query):
        _lift_files(lifted, order, paths)
        _lift_names(lifted, order, paths, query)
        share = float(is_code[np.argsort(-values, kind="stable")[:BEST]].mean())
        best = float(values[is_code].max())
        excess = max(1.0, float(lifted[is_code].max()) / max(best, 1e-9))
        # Files of code in the folder of the best text, or above it
        folder = f"/{paths[int(np.argmax(values))]}".rpartition("/")[0] + "/"
        beside = {paths[at] for at in order if folder.startswith(f"/{paths[at]}".rpartition("/")[0] + "/")}
        is_text = best < values.max() and is_code.mean() < ALL_CODE and len(beside) < BESIDE
        lifted[is_code] /= excess ** (1.0 if is_text else min(1.0, max(0.0, 2 - 4 * share)))
    # If the best chunk of a name is in a test, the name is most likely defined there.
    is_of_test = is_exact(query) and bool(order) and bool(_TESTS.search(paths[order[0]]))
    if not is_of_test and not _ASKS_FOR_TESTS.search(query):
        lifted[[at for at in order if _TESTS.search(paths[at])]] *= TEST_FACTOR
    before = Counter[str]()
    for at in sorted(order, key=lambda at: -lifted[at]):
        lifted[at] *= AGAIN_FACTOR ** before[paths[at]]
        before[paths[at]] += 1
    return (lifted - values) * span


def _lift_files(lifted: Scores, order: Sequence[int], paths: Sequence[str]) -> None:
    """Lift the chunks of each file by the sum of its best chunks."""
    chunks: dict[str, list[int]] = {}
    for at in order:
        chunks.setdefault(paths[at], []).append(at)
    sums = {path: float(lifted[own[:COUNTED]].sum()) for path, own in chunks.items()}
    most = max(sums.values()) or 1.0
    for path, own in chunks.items():
        lifted[own] += FILE_WEIGHT * sums[path] / most


def _lift_names(lifted: Scores, order: Sequence[int], paths: Sequence[str], query: str) -> None:
    """Lift chunks by the share of the words of the query that begin like a word in the name of the file or folder."""
    asked = {word.lower() for word in _PARTS.findall(query) if len(word) >= LEAST_PREFIX}
    for at in order:
        *folders, name = paths[at].split("/")
        stem, folder = _words(name.rpartition(".")[0] or name), _words(folders[-1] if folders else "")
        found = [1.0 if _begins(word, stem) else FOLDER_SHARE * _begins(word, folder) for word in asked]
        lifted[at] += NAME_WEIGHT * sum(found) / max(len(asked), 1)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(name) if len(word) >= LEAST_PREFIX]


def _begins(word: str, others: Sequence[str]) -> bool:
    return any(word.startswith(other) or other.startswith(word) for other in others)
