"""Bodies that stand still in the middle: ranks and kernels, each on a thread of its own, one at a time."""
from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, Optional, Tuple

from ._errors import UsageError

_running = threading.local()


class Stopped(BaseException):
    """Unwinds a body that nobody goes on with. Not for users to catch."""


class Coroutine:
    """Runs a body up to its next :meth:`pause` or its end.

    :param name: for messages, such as ``rank 3``
    :param instead: what the body uses where the host program has ``torch``
    """

    def __init__(self, body: "Callable[[Coroutine], Any]", name: str, instead: str) -> None:
        self.name = name
        self.instead = instead
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._given: Any = None
        self._paused: Any = None
        self._stop = False
        self.ended = False
        self.result: Any = None
        self.failure: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(body,), daemon=True)
        self._started = False

    def _run(self, body: "Callable[[Coroutine], Any]") -> None:
        self._go.acquire()
        _running.coroutine = self
        try:
            if not self._stop:
                self.result = body(self)
        except Stopped:
            pass
        except BaseException as e:  # handed to whoever resumes
            self.failure = e
        self.ended = True
        self._back.release()

    def resume(self, given: Any = None) -> Any:
        """Owner: lets the body go on; returns what it pauses with, None if it has ended."""
        if not self._started:
            self._started = True
            self._thread.start()
        self._given, self._paused = given, None
        self._go.release()
        self._back.acquire()
        if self.failure is not None:
            raise self.failure
        return self._paused

    def pause(self, message: Any) -> Any:
        """Body: stands still; returns what the owner gives to go on."""
        self._paused = message
        self._back.release()
        self._go.acquire()
        if self._stop:
            raise Stopped()
        return self._given

    def stop(self) -> None:
        """Owner: ends the body where it stands."""
        if self._started and not self.ended:
            self._stop = True
            self._go.release()
            self._back.acquire()


def running() -> Optional[Coroutine]:
    """The coroutine whose body calls this."""
    coroutine: Optional[Coroutine] = getattr(_running, "coroutine", None)
    return coroutine


def check_outside() -> None:
    """Refuses in a body what only the host program may do: the host program waits for the body meanwhile."""
    body = running()
    if body is not None:
        raise UsageError(f"{line()}: a call of the host program inside {body.name}; use {body.instead} there")


def line() -> str:
    """``file.py:12`` of the user's program that called into this package."""
    user = frame(2)
    return named((user.f_code.co_filename, user.f_lineno))


#: Frames of this package are no lines of the user's program.
_FOLDER = __file__.rpartition("_coroutine")[0]
_own: Dict[str, bool] = {}


def frame(depth: int) -> FrameType:
    """The first frame from a depth on that is not one of this package; the last if all are."""
    at = sys._getframe(depth)
    while True:
        file = at.f_code.co_filename
        own = _own.get(file)
        if own is None:
            own = _own[file] = file.startswith(_FOLDER)
        if not own or at.f_back is None:
            return at
        at = at.f_back


def named(place: Tuple[str, int]) -> str:
    """A file and a line in words."""
    name = place[0].replace("\\", "/").rpartition("/")[2]
    return f"{name}:{place[1]}"
