import os
import shutil
import subprocess

import pytest

# Root may write everywhere. Without these two capabilities it is like any other owner of its files.
WEAKER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]


@pytest.fixture
def as_owner():
    """A prefix for a command that limits it to what the modes of files allow."""
    if os.name == "nt":
        pytest.skip("Windows has no modes of files")
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None or subprocess.run([*WEAKER, "true"], check=False).returncode:
        pytest.skip("setpriv cannot drop root's capabilities here, so permissions are not tested")
    return WEAKER
