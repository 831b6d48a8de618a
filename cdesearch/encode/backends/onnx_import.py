"""Import onnxruntime with its telemetry switched off. All other modules import it through this one."""

import os
from types import ModuleType

# The variable's name differs between releases. Without it, releases 1.29 to 1.31 on Linux and macOS write a device id
# and send events.
OPT_OUTS = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
ALLOWED = ("0", "false", "no", "off")  # the values by which a user allows the telemetry


def import_onnxruntime() -> ModuleType:
    """The module onnxruntime, its telemetry switched off unless the user's environment allows it.

    The variables take effect only before the first import of onnxruntime. Windows builds do not read them, and a
    program may have imported onnxruntime before. So the telemetry is also switched off at run time.
    """
    is_allowed = any(os.environ.get(name, "").lower() in ALLOWED for name in OPT_OUTS)
    if not is_allowed:
        for name in OPT_OUTS:
            os.environ.setdefault(name, "1")
    import onnxruntime

    if not is_allowed:
        onnxruntime.disable_telemetry_events()
    module: ModuleType = onnxruntime
    return module
