"""Runs distributed accelerator programs on machines that do not exist yet: exact values, the time, and why.

>>> import kernbench as kb
>>> kb.run("ccl-allreduce", n_elem=8192).metrics.crit_ns
3003.352

The simulator is Java. It runs in one child process, which starts with the first call and ends with this process.
"""
from __future__ import annotations

from ._client import stop
from ._errors import InstallationError, KernbenchError, ProcessEnded, RunFailed, UsageError
from ._results import Explanation, Record, Result, Sweep, Table
from . import tl
from ._run import Machine, command, explain, layout_check, run, sweep
from .torch import Torch, open

__all__ = [
    "Explanation", "InstallationError", "KernbenchError", "Machine", "ProcessEnded", "Record", "Result", "RunFailed",
    "Sweep", "Table", "Torch", "UsageError", "command", "explain", "layout_check", "open", "run", "stop", "sweep", "tl",
]


def version() -> str:
    """The version of the simulator, which is that of this package."""
    from . import _client

    return _client.client().version
