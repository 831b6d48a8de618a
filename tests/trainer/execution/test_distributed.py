import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import trainer
from trainer.execution.distributed import (
    first_goes_ahead,
    gather,
    highest,
    is_first,
    joined,
    rows_of_process,
    say,
    total,
)

N = 7
ROWS = [[float(10 * row + column) for column in range(3)] for row in range(N)]
PROCESS = """
import json, os, sys
from pathlib import Path
import torch
import torch.distributed as dist
from cdesearch.progress import Silent
from trainer.execution.distributed import (
    first_goes_ahead, gather, highest, is_first, joined, rows_of_process, same_seed, total, world
)
from trainer.run.time_limit import LimitedDisplay, OutOfTime, TimeLimit
rows, folder = torch.tensor(json.loads(sys.argv[1])), Path(sys.argv[2])
rank = int(os.environ["RANK"])
exchanges, all_gather = [], dist.all_gather
dist.all_gather = lambda *given: exchanges.append(1) or all_gather(*given)
with joined() as device:
    torch.manual_seed(rank)
    mine = rows_of_process(len(rows))
    with first_goes_ahead(device):
        found = (folder / "prepared").exists()
        (folder / "prepared").touch()
    ended, ran = False, False
    try:
        with first_goes_ahead(device, OutOfTime):
            ran = True
            advance = LimitedDisplay(Silent(), TimeLimit(0.0)).stage("preparation", None)
            advance(0)
    except OutOfTime:
        ended = True
    result = {
        "ended": ended, "ran": ran,
        "world": world(), "first": is_first(), "rows": list(range(len(rows))[mine]), "found": found,
        "gathered": gather(rows[mine], len(rows)).tolist(), "exchanges": len(exchanges),
        "total": total(rows[mine].sum(0)).tolist(),
        "highest": highest(5 - rank, device), "seed": same_seed(device),
    }
(folder / f"{rank}.json").write_text(json.dumps(result))
"""


@pytest.mark.slow
def test_two_processes_share_rows_and_agree(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(trainer.__file__).parents[1]), "CUDA_VISIBLE_DEVICES": ""}
    environment |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, "-c", PROCESS, json.dumps(ROWS), str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment | {"RANK": str(rank)}) for rank in range(2)]
    assert [process.wait(240) for process in processes] == [0, 0]
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert found[0]["rows"] + found[1]["rows"] == list(range(N)) and found[0]["rows"] and found[1]["rows"]
    assert [one["first"] for one in found] == [True, False] and [one["found"] for one in found] == [False, True]
    assert [one["ended"] for one in found] == [True, True] and [one["ran"] for one in found] == [True, False]
    assert found[0]["seed"] == found[1]["seed"]
    for one in found:
        assert one["world"] == 2 and one["highest"] == 5
        assert one["gathered"] == ROWS and one["exchanges"] == 1, "sizes are not exchanged"
        assert one["total"] == torch.tensor(ROWS).sum(0).tolist()


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def test_without_torchrun_one_process_has_everything(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    rows = torch.tensor(ROWS)
    with joined() as device, first_goes_ahead(device):
        assert is_first() and rows_of_process(N) == slice(0, N)
        assert torch.equal(gather(rows, N), rows) and torch.equal(total(rows.clone()), rows)
        assert highest(3, device) == 3


@pytest.mark.parametrize(("size", "rank", "expected"), [("1", "0", 1), ("2", "0", 1), ("2", "1", 0), ("8", "7", 0)])
def test_before_and_after_the_processes_are_joined_only_the_first_one_prints(monkeypatch, capsys, size, rank, expected):
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.setenv("RANK", rank)
    say("Stopped.")
    assert capsys.readouterr().err == "Stopped.\n" * expected
