"""The child process and the pipe to it: one for each Python process, started when it is first needed."""
from __future__ import annotations

import atexit
import json
import os
import struct
import subprocess
import threading
from typing import Any, Callable, Dict, List, Optional

from . import _coroutine, _errors, _java, _preparation

_LONGEST = 1 << 30
_HEAD = struct.Struct(">i")
_Message = Dict[str, Any]


def encoded(message: _Message) -> bytes:
    """A message as it goes over the pipe. Its key ``tape`` is a list of JSON texts."""
    tape = message.get("tape")
    if tape is None:
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    rest = {name: value for name, value in message.items() if name != "tape"}
    return f'{{"tape":[{",".join(tape)}],{json.dumps(rest, separators=(",", ":"))[1:]}'.encode()


class Client:
    """A child Java process that answers one request at a time.

    It ends when this process does, however that ends: it reads a pipe whose other end is here.
    """

    def __init__(self) -> None:
        self.folder = os.getcwd()
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.sessions = 0
        self._process = subprocess.Popen(
            _java.command(_java.SERVER),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env=_java.environment(),
        )
        self._greeting: Optional[_Message] = None

    # ---- messages ----

    def _send(self, message: _Message) -> None:
        text = encoded(message)
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(_HEAD.pack(len(text)) + text)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._ended() from None

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        if len(data) < count:
            raise self._ended()
        return data

    def _receive(self) -> _Message:
        (length,) = _HEAD.unpack(self._read(_HEAD.size))
        if not 2 <= length <= _LONGEST:
            self.close()
            raise _errors.ProcessEnded(f"the simulator announced a message of {length} bytes")
        data = self._read(length)
        try:
            message = json.loads(data)
            if isinstance(message, dict) and isinstance(message.get("is"), str):
                return message
        except ValueError:
            pass
        self.close()
        raise _errors.ProcessEnded(f"the simulator said {data[:60]!r}; expected a JSON object with the key is")

    def _hear(self) -> _Message:
        """The next message after the greeting. It is not waited for before the first request is sent: that one is on
        its way, and numpy is loaded, which both take their time, while the child starts."""
        if self._greeting is None:
            import numpy  # noqa: F401

            greeting = self._receive()
            if greeting.get("is") != "ready":
                raise _errors.ProcessEnded(f"the simulator said {greeting!r}; expected that it is ready")
            self._greeting = greeting
        return self._receive()

    def _ended(self) -> _errors.ProcessEnded:
        try:
            code = self._process.wait(timeout=1)
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        except subprocess.TimeoutExpired:
            how = "closed its pipe"
        self.close()
        if self._greeting is None:
            options = os.environ.get("KERNBENCH_JAVA_OPTS", "")
            hint = f"KERNBENCH_JAVA_OPTS is {options!r}" if options else "what Java said stands on standard error"
            return _errors.ProcessEnded(f"the simulator's process {self._process.pid} {how} before it was ready; {hint}")
        return _errors.ProcessEnded(
            f"the simulator's process {self._process.pid} {how}; what it held is lost, the next request starts another"
        )

    @property
    def version(self) -> str:
        """Of the simulator."""
        return str(self.ask({"do": "version"})["kernbench"])

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def process_id(self) -> int:
        """Of the child process."""
        return self._process.pid

    def ask(self, request: _Message, answer: "Optional[Callable[[_Message], _Message]]" = None) -> _Message:
        """Sends a request and returns what comes back.

        :param answer: answers what the child asks meanwhile
        :raises KernbenchError: if the answer is an error, with the command line's text
        """
        _coroutine.check_outside()
        with self.lock:
            try:
                self._send(request)
                while True:
                    message = self._hear()
                    if message["is"] != "ask":
                        break
                    if answer is None:
                        raise _errors.ProcessEnded("the simulator asked where no question was expected")
                    self._send(answer(message))
            except _errors.KernbenchError:
                raise
            except BaseException:
                self.close()  # an interrupt in the middle of a message: nobody knows where the next begins
                raise
        _preparation.begin()
        if message["is"] == "error":
            raise _errors.of(int(message.get("code", 1)), str(message.get("err", message)))
        return message

    def close(self) -> None:
        """Ends the child; calling it twice does no harm."""
        if self.pid != os.getpid():
            return  # a fork: the child belongs to the other process
        for stream in (self._process.stdin, self._process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_clients: "List[Client]" = []
_starting = threading.Lock()


def client() -> Client:
    """This process's child, started if there is none, or if this is a fork, or in another folder."""
    with _starting:
        if _clients:
            current = _clients[-1]
            usable = current.pid == os.getpid() and current.is_alive and current.folder == os.getcwd()
            if usable:
                return current
            if not current.is_alive or current.sessions == 0:
                current.close()
            _clients.clear()  # one with open sessions ends with these, or with this process
        _clients.append(Client())
        return _clients[-1]


def stop() -> None:
    """Ends the child process. The next request starts another."""
    with _starting:
        while _clients:
            _clients.pop().close()


atexit.register(_preparation.let_go)
atexit.register(stop)


def command(args: "List[str]") -> "tuple[int, str, str]":
    """Runs a command line in the child: exit code, standard output, standard error."""
    said = client().ask({"do": "command", "args": args})
    return said["code"], said["out"], said["err"]
