"""The one way in which this project imports onnxruntime: with its telemetry switched off."""

import os
from types import ModuleType

# The name differs between releases. Without it, 1.29 to 1.31 on Linux and macOS write a device id and send events.
OPT_OUTS = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
ALLOWED = ("0", "false", "no", "off")  # the values by which a user allows the telemetry


def import_onnxruntime() -> ModuleType:
    """The module, its telemetry switched off unless the user's environment allows it.

    The variables count only before the first import of onnxruntime. Windows builds do not read them, and a program may
    have imported onnxruntime before, so the telemetry is switched off at run time as well.
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
