import pytest

from cdesearch.errors import InputError
from trainer.run.folder import refuse_overwritten, run_folder
from trainer.run.state import STATE


@pytest.mark.parametrize("name", [STATE, "checkpoint"])
def test_a_new_run_does_not_replace_an_earlier_one(tmp_path, name):
    for _ in range(2):  # of a run that was stopped before its first state, nothing is lost
        with run_folder(tmp_path / "out", resume=False):
            pass
    (tmp_path / "out" / name).mkdir()
    message = r"out holds an earlier run, which would be lost\. Add --resume .*remove the"
    with pytest.raises(InputError, match=message), run_folder(tmp_path / "out", resume=False):
        pass


@pytest.mark.parametrize("name", ["out", "out/../out/checkpoint", "link"])
def test_a_model_that_the_run_would_overwrite_is_refused(tmp_path, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out" / "checkpoint")
    with pytest.raises(InputError, match=rf"start is .*{name}, which the run would overwrite\. Set another run\.out"):
        refuse_overwritten(tmp_path / "out", {"start": tmp_path / name})
    refuse_overwritten(tmp_path / "out", {"start": tmp_path / "another", "head": None})
