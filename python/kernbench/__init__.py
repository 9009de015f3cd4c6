"""Runs distributed accelerator programs on machines that do not exist yet: exact values, the time, and why.

>>> import kernbench as kb
>>> kb.run("ccl-allreduce", n_elem=8192).metrics.crit_ns
3003.352

The simulator is Java. It runs in one child process, which starts with the first call and ends with this process.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from ._client import stop
from ._errors import InstallationError, KernbenchError, ProcessEnded, RunFailed, UsageError
from ._pages import Figure, Report, figures
from ._results import Explanation, Record, Result, Sweep, Table
from . import tl
from ._run import Machine, command, explain, layout_check, report, run, sweep

if TYPE_CHECKING:
    from .torch import Torch, open

__all__ = [
    "Explanation", "Figure", "InstallationError", "KernbenchError", "Machine", "ProcessEnded", "Record", "Report", "Result",
    "RunFailed", "Sweep", "Table", "Torch", "UsageError", "command", "explain", "figures", "layout_check", "open",
    "report", "run", "stop", "sweep", "tl", "version",
]


def version() -> str:
    """The version of the simulator, which is that of this package."""
    from . import _client

    return _client.client().version


def __getattr__(name: str) -> Any:
    if name in ("Torch", "open"):  # they load numpy
        from . import torch

        return getattr(torch, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
