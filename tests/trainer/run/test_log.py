import json

import pytest

from cdesearch.errors import InputError
from trainer.run.folder import LOG, Log, read_log


def write_torn_log(folder):
    log = Log(folder, anew=True)
    for step in (1, 2):
        log.write(step, 0.5, {"loss": 1.0})
    with (folder / LOG).open("a") as file:
        file.write('{"step": 3, "seco')
    return folder / LOG


def test_a_last_line_that_a_kill_has_cut_off_is_left_out(tmp_path):
    write_torn_log(tmp_path)
    assert [line["step"] for line in read_log(tmp_path)] == [1, 2]


def test_a_resumed_run_removes_a_torn_line_before_it_writes_the_next_one(tmp_path):
    file = write_torn_log(tmp_path)
    Log(tmp_path, anew=False).write(3, 0.7, {"loss": 0.9})
    assert [json.loads(line)["step"] for line in file.read_text().splitlines()] == [1, 2, 3]


def test_a_line_that_is_damaged_elsewhere_is_named(tmp_path):
    (tmp_path / LOG).write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2 is not a line of a log"):
        read_log(tmp_path)
