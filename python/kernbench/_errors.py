"""What can go wrong, as exceptions. The text is the command line's: what, where, what was expected."""
from __future__ import annotations

from typing import Any, Optional


class KernbenchError(Exception):
    """An error of the simulator or of a simulated program; ``str(e)`` is its message."""

    #: Exit code that the command line has for it.
    code = 1


class UsageError(KernbenchError):
    """What was asked cannot be: an unknown bench, a wrong value, a bad machine (exit code 2)."""

    code = 2


class InstallationError(KernbenchError):
    """There is no JDK, or no program to start (exit code 2)."""

    code = 2


class ProcessEnded(KernbenchError):
    """The child process ended in the middle of a request. The next request starts another."""


class RunFailed(KernbenchError):
    """A run whose status is not ``ok``: wrong values, a deadlock, a finding of ``check``.

    :ivar result: what the run gave nevertheless, as for a good one; None if nothing
    """

    def __init__(self, message: str, result: Optional[Any] = None) -> None:
        super().__init__(message)
        self.result = result


def of(code: int, err: str) -> KernbenchError:
    """The exception for an exit code and what stood on standard error."""
    lines = [line[len("kernbench: "):] if line.startswith("kernbench: ") else line for line in err.splitlines()]
    text = "\n".join(line for line in lines if not line.startswith("Try 'kernbench"))
    return (UsageError if code == 2 else KernbenchError)(text or f"failed with exit code {code}")
