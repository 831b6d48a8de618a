import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import trainer
from trainer.execution import first_goes_ahead, highest, is_first, joined, mean, say, world

PROCESS = """
import json, os, sys
from pathlib import Path
import torch
from trainer.execution import first_goes_ahead, highest, is_first, joined, mean, rank, world
folder = Path(sys.argv[1])
with joined() as device:
    with first_goes_ahead(device):
        found = (folder / "prepared").exists()
        (folder / "prepared").touch()
    result = {
        "world": world(), "first": is_first(), "found": found,
        "mean": mean(torch.tensor([1.0 + rank(), 3.0])).tolist(), "highest": highest(5 - rank(), device),
    }
(folder / f"{os.environ['RANK']}.json").write_text(json.dumps(result))
"""


@pytest.mark.slow
def test_two_processes_wait_for_the_first_and_agree(tmp_path):
    paths = os.pathsep.join([str(Path(trainer.__file__).parents[1]), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment | {"RANK": str(rank)}) for rank in range(2)]
    assert [process.wait(240) for process in processes] == [0, 0]
    one, other = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert one == {"world": 2, "first": True, "found": False, "mean": [1.5, 3.0], "highest": 5}
    assert other == one | {"first": False, "found": True}


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined() as device, first_goes_ahead(device):
        assert is_first() and world() == 1 and highest(3, device) == 3
        assert mean(torch.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("size", "rank", "expected"), [("1", "0", 1), ("2", "0", 1), ("2", "1", 0), ("8", "7", 0)])
def test_before_and_after_the_processes_are_joined_only_the_first_one_prints(monkeypatch, capsys, size, rank, expected):
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.setenv("RANK", rank)
    say("Stopped.")
    assert capsys.readouterr().err == "Stopped.\n" * expected
