import json
from types import SimpleNamespace

from trainer.run.folder import LOG, begin_log, read_log, write_log


def test_a_resumed_run_removes_a_line_that_a_kill_has_cut_off_before_it_writes_the_next_one(tmp_path):
    run = SimpleNamespace(folder=tmp_path, step=0, seconds=0.5)
    begin_log(tmp_path, anew=True)
    for run.step in (1, 2):
        write_log(run, {"loss": 1.0})
    with (tmp_path / LOG).open("a") as file:
        file.write('{"step": 3, "seco')
    begin_log(tmp_path, anew=False)
    run.step = 3
    write_log(run, {"loss": 0.9})
    assert [json.loads(line)["step"] for line in (tmp_path / LOG).read_text().splitlines()] == [1, 2, 3]
    assert [line["loss"] for line in read_log(tmp_path)] == [1.0, 1.0, 0.9]
