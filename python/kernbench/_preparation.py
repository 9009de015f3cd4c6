"""The cache of the fast start, made once, beside the first program that finds none and without keeping it waiting."""
from __future__ import annotations

import os
import subprocess
from typing import Optional

from . import _errors, _java

_LOWEST = 19

_begun = False
_process: "Optional[subprocess.Popen[bytes]]" = None


def begin() -> None:
    """Starts the process that makes the cache if there is none, at the lowest priority.

    It only saves time, so whatever fails here fails quietly. The process ends, and what it has begun is removed, if
    this one is killed: it reads a pipe whose other end is here.
    """
    global _begun, _process
    if _begun:
        return
    _begun = True
    try:
        line = _java.preparation()
        if line is None:
            return
        _process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=_java.environment(), start_new_session=True,
        )
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, _process.pid, _LOWEST)
    except (OSError, _errors.InstallationError):
        return


def let_go() -> None:
    """At the regular end of this process: lets the other one finish, which takes it some seconds."""
    if _process is None or _process.stdin is None or _process.poll() is not None:
        return
    try:
        _process.stdin.write(b"!")
        _process.stdin.close()
        _process.returncode = 0  # it outlives this process; Python need not warn of that
    except OSError:
        return
