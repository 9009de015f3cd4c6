"""Memory for arrays that come from the simulator (ADR 0252)."""
from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from typing import Any, Tuple

import numpy as np

_LARGE_BYTES = 1 << 25
_STEP_BYTES = 1 << 25
_POPULATE_WRITE = 23  # madvise(2), Linux 5.14; Python has no name for it


def empty(shape: "Tuple[int, ...]", dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    """An array with any contents. The memory of a large one is made ready by a thread, ahead of who writes to it.

    It has small pages: large ones are quicker to clear, but a virtual machine whose free memory goes back to its
    host gives back large ones, and waits for the host when they are touched again.
    """
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size < _LARGE_BYTES or not sys.platform.startswith("linux"):
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        except OSError:
            pass  # a system without large pages
    array: "np.ndarray[Any, Any]" = np.frombuffer(memory, np.uint8)
    threading.Thread(target=_touch, args=(array,), name="kernbench memory", daemon=True).start()
    return array.view(dtype).reshape(shape)


def _touch(array: "np.ndarray[Any, Any]") -> None:
    """Has the system give an array its pages; where it cannot, they come when they are written."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for at in range(0, len(array), _STEP_BYTES):
        if advise(array.ctypes.data + at, min(_STEP_BYTES, len(array) - at), _POPULATE_WRITE) != 0:
            return
