"""Memory through which arrays pass to the simulator and back, a piece at a time (ADR 0218)."""
from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any, Callable, Dict

import numpy as np

_PIECES = 2
_Message = Dict[str, Any]


class Window:
    """Two pieces of memory that this process and the child have mapped.

    While one side fills a piece, the other empties the other. Its file loses its name as soon as both have it, so
    nothing is left behind however they end.

    :param introduce: sends the action that tells the child
    """

    #: Long enough that a message does not matter beside it, short enough to stay in a cache.
    PIECE_BYTES = 1 << 21

    def __init__(self, introduce: "Callable[[_Message], object]") -> None:
        shared = "/dev/shm"
        descriptor, self._file = tempfile.mkstemp(
            prefix=f"kernbench-{os.getpid()}-", dir=shared if os.access(shared, os.W_OK) else None
        )
        try:
            self.piece_bytes = self.PIECE_BYTES
            size = _PIECES * self.piece_bytes
            # Written, not only announced: a full folder is an error here, and would end the process later.
            with os.fdopen(descriptor, "r+b") as file:
                file.write(bytes(size))
                file.flush()
                self._map = mmap.mmap(file.fileno(), size)
            self._bytes: "np.ndarray[Any, Any]" = np.frombuffer(self._map, np.uint8)
            introduce({"op": "window", "file": self._file, "piece": self.piece_bytes})
        finally:
            self._remove()
        self._arrays: "Dict[int, np.ndarray[Any, Any]]" = {}
        self._count = 0

    def _remove(self) -> None:
        try:
            os.remove(self._file)
        except FileNotFoundError:
            pass
        except PermissionError:
            pass  # where a file that is mapped keeps its name: until it is closed

    def begin(self, array: "np.ndarray[Any, Any]") -> int:
        """A number for an array, given as its bytes, while it travels."""
        self._count += 1
        self._arrays[self._count] = array
        return self._count

    def end(self, number: int) -> None:
        """Forgets it."""
        del self._arrays[number]

    def offer(self, number: int) -> None:
        """Puts the first pieces into the window."""
        array = self._arrays[number]
        for piece in range(_PIECES):
            at = piece * self.piece_bytes
            self._fill(array, piece, at, min(self.piece_bytes, max(0, len(array) - at)))

    def _fill(self, array: "np.ndarray[Any, Any]", piece: int, at: int, count: int) -> None:
        start = piece * self.piece_bytes
        self._bytes[start:start + count] = array[at:at + count]

    def fill(self, asked: _Message) -> _Message:
        """Puts a piece into the window."""
        self._fill(self._arrays[asked["transfer"]], asked["piece"], asked["at"], asked["count"])
        return {}

    def take(self, asked: _Message) -> _Message:
        """Takes a piece out of the window."""
        self.take_to(asked["transfer"], asked)
        return {}

    def take_to(self, number: int, place: _Message) -> None:
        """Takes a piece for an array."""
        start, at, count = place["piece"] * self.piece_bytes, place["at"], place["count"]
        self._arrays[number][at:at + count] = self._bytes[start:start + count]

    def close(self) -> None:
        """Gives the memory back; the child has let go of it."""
        del self._bytes
        self._map.close()
        self._remove()
