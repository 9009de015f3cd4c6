"""Mirrors of the commands: the same words, the same errors, results as objects."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _client, _errors
from ._pages import Report
from ._results import Explanation, Record, Result, Sweep

_Values = Mapping[str, Any]


class Machine:
    """A machine: a preset (``"sip-2026"``) or a YAML file, and numbers of it that are changed.

    >>> kb.Machine("sip-2026").with_({"system.links.sip_to_sip.latency": "100 ns"})
    """

    def __init__(self, name: "Union[str, os.PathLike[str]]" = "sip-2026", changes: "Optional[_Values]" = None) -> None:
        self.name = os.fspath(name)
        self.changes: Dict[str, Any] = dict(changes or {})

    def with_(self, changes: "Optional[_Values]" = None, **more: Any) -> "Machine":
        """A copy with other numbers.

        :param changes: by path of the machine file, with units: ``{"sip.links.cube_to_cube.latency": "12 ns"}``
        :param more: the same with ``__`` for the dots: ``system__sips__count=8``
        """
        named = {name.replace("__", "."): value for name, value in more.items()}
        return Machine(self.name, {**self.changes, **(changes or {}), **named})

    def show(self) -> str:
        """What the machine is and what follows from its numbers, as text."""
        return _text(["machine", "show", *self._args()])

    def validate(self) -> List[str]:
        """Warnings; none if all is well.

        :raises UsageError: with all errors of the machine, each with its place
        """
        code, out, err = _client.command(["machine", "validate", *self._args()])
        if code:
            raise _errors.of(code, err or out)
        return [line for line in (out + err).splitlines() if "warning:" in line]

    def _args(self) -> List[str]:
        return ["--topology", self.name, *_pairs("--set", self.changes)]

    def __repr__(self) -> str:
        return f"Machine({self.name!r}{', ' + repr(self.changes) if self.changes else ''})"


_Machine = Union[Machine, str, "os.PathLike[str]", None]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter(value: Any) -> str:
    """A switch of a bench is on or off; in files of machines it is true or false."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _pairs(option: str, values: "Optional[_Values]") -> List[str]:
    word = _parameter if option == "--param" else _word
    args: List[str] = []
    for name, value in (values or {}).items():
        args += [option, f"{name}={word(value)}"]
    return args


def _choices(
    machine: _Machine, mode: Optional[str], ccl: "Union[str, os.PathLike[str], None]", ccl_set: "Optional[_Values]"
) -> List[str]:
    args: List[str] = []
    if machine is not None:
        args += (machine if isinstance(machine, Machine) else Machine(machine))._args()
    if mode is not None:
        args += ["--mode", mode]
    if ccl is not None:
        args += ["--ccl", os.fspath(ccl)]
    return args + _pairs("--ccl-set", ccl_set)


def _text(args: List[str]) -> str:
    code, out, err = _client.command(args)
    if code:
        raise _errors.of(code, err)
    return out


def run(
    bench: str,
    *,
    machine: _Machine = None,
    mode: Optional[str] = None,
    verify: bool = False,
    check: bool = False,
    point: "Union[int, str, None]" = None,
    device: Optional[str] = None,
    inject: Optional[str] = None,
    fold: Optional[str] = None,
    ccl: "Union[str, os.PathLike[str], None]" = None,
    ccl_set: "Optional[_Values]" = None,
    out: "Union[str, os.PathLike[str], None]" = None,
    params: "Optional[_Values]" = None,
    **more: Any,
) -> Result:
    """Runs a bench: ``kernbench run``.

    >>> kb.run("ccl-allreduce", n_elem=8192).metrics.crit_ns
    3003.352

    :param bench: its name, or a ``.java`` file that holds one
    :param machine: a :class:`Machine`, a preset's name or a file; the bench's own by default
    :param mode: ``full`` (default), ``time`` (no values) or ``values`` (no time)
    :param verify: also run in the other modes and compare
    :param check: look for races, reads of memory that nobody has written, lost messages
    :param out: also write the run to this folder
    :param params: parameters of the bench, for names that are none in Python
    :param more: parameters of the bench
    :raises UsageError: if there is no such bench, parameter, machine, ...
    :raises RunFailed: if the run is not ok; its ``result`` is there all the same
    """
    how = [bench, *_pairs("--param", params), *_pairs("--param", more), *_choices(machine, mode, ccl, ccl_set)]
    if point is not None:
        how += ["--point", str(point)]
    args = ["run", *how, "--format", "json", "--quiet"]
    for option, value in (("--device", device), ("--inject", inject), ("--fold", fold)):
        if value is not None:
            args += [option, value]
    if out is not None:
        args += ["--out", os.fspath(out)]
    args += ["--verify"] * verify + ["--check"] * check
    code, text, err = _client.command(args)
    if not text:
        raise _errors.of(code, err)
    result = Result(json.loads(text), how, os.path.abspath(out) if out is not None else None)
    if code:
        raise _errors.RunFailed(str(_errors.of(code, err)), result)
    return result


def explain(
    what: "Union[Result, str, os.PathLike[str]]",
    *,
    verify_sensitivities: bool = False,
    rows: int = 12,
    machine: _Machine = None,
    mode: Optional[str] = None,
    ccl: "Union[str, os.PathLike[str], None]" = None,
    ccl_set: "Optional[_Values]" = None,
    **params: Any,
) -> Explanation:
    """Why a run took its time: ``kernbench explain``.

    :param what: a result of :func:`run` (it is simulated again), a folder that ``run(out=...)`` wrote, or a bench
    :param verify_sensitivities: also simulate each changed machine and compare
    :param rows: of each table; 0: all
    """
    if isinstance(what, Result):
        how = what._how
    else:
        how = [os.fspath(what), *_pairs("--param", params)]
    args = ["explain", *how, *_choices(machine, mode, ccl, ccl_set), "--format", "json", "--quiet"]
    args += ["--rows", str(rows)] + ["--verify-sensitivities"] * verify_sensitivities
    return Explanation(json.loads(_text(args)))


def sweep(
    bench: str,
    vary: Mapping[str, Sequence[Any]],
    *,
    machine: _Machine = None,
    mode: Optional[str] = None,
    jobs: int = 1,
    out: "Union[str, os.PathLike[str], None]" = None,
    resume: bool = False,
    ccl: "Union[str, os.PathLike[str], None]" = None,
    ccl_set: "Optional[_Values]" = None,
    params: "Optional[_Values]" = None,
    **more: Any,
) -> Sweep:
    """Runs a bench at every point of a grid: ``kernbench sweep``.

    >>> kb.sweep("ccl-allreduce", {"n_elem": [64, 1024]}, mode="time")["crit_ns"]
    array([1559.598, 1697.544])

    :param vary: what varies and its values; also ``topology``, ``set:PATH`` and ``ccl:PATH``
    :param jobs: points at once; each in a process of its own if more than 1
    :param out: where the rows are stored, to go on later with ``resume``; a temporary folder by default
    """
    args = ["sweep", bench]
    for name, values in vary.items():
        word = _word if name.startswith("set:") else _parameter
        args += ["--vary", f"{name}={','.join(word(value) for value in values)}"]
    args += [*_pairs("--param", params), *_pairs("--param", more), *_choices(machine, mode, ccl, ccl_set)]
    args += ["--jobs", str(jobs), "--format", "json", "--quiet"] + ["--resume"] * resume
    with tempfile.TemporaryDirectory(prefix="kernbench-sweep-") as temporary:
        code, text, err = _client.command([*args, "--out", os.fspath(out) if out is not None else temporary])
    if not text:
        raise _errors.of(code, err)
    failed = str(_errors.of(code, err)).splitlines() if code else []
    return Sweep(json.loads(text), failed, os.path.abspath(out) if out is not None else None)


def report(what: "Union[Result, Sweep, str, os.PathLike[str]]") -> Report:
    """The page with all of a run or a sweep: conditions, causes, timeline, links, curves: ``kernbench report``.

    >>> kb.report(kb.run("ccl-allreduce")).save("allreduce.html")

    :param what: a result of :func:`run` (without ``out`` it is simulated again), a sweep with ``out``, or a folder
        that one of them wrote
    :raises UsageError: if the folder holds neither, or a sweep had none
    """
    with tempfile.TemporaryDirectory(prefix="kernbench-report-") as temporary:
        if isinstance(what, (Result, Sweep)):
            folder = what._folder
        else:
            folder = os.fspath(what)
        if folder is None and isinstance(what, Sweep):
            raise _errors.UsageError("report of a sweep: its rows were not kept; expected kb.sweep(..., out=FOLDER)")
        if folder is None:
            folder = os.path.join(temporary, "run")
            _client.command(["run", *what._how, "--quiet", "--out", folder])  # type: ignore[union-attr]
        page = os.path.join(temporary, "report.html")
        _text(["report", folder, "--out", page])
        with open(page, encoding="utf-8") as file:
            return Report(file.read())


def layout_check(
    *layouts: str,
    machine: _Machine = None,
    ccl: "Union[str, os.PathLike[str], None]" = None,
    ccl_set: "Optional[_Values]" = None,
    time: bool = True,
    frozen_encoder: bool = False,
    **options: Any,
) -> Record:
    """Trains an encoder and a language model in each layout and compares: ``kernbench layout check``.

    >>> kb.layout_check("tp=2,dp=2:tp=4,dp=1", time=False).equal
    True

    :param layouts: ``ENCODER:LANGUAGE[:sp]``
    :param time: also predict the time of a step
    :param options: of the command: ``model``, ``samples``, ``tokens``, ``microbatches``, ``steps``, ``seed``, ...
    :raises RunFailed: if a layout differs; its ``result`` says where
    """
    args = ["layout", "check", *layouts, *_choices(machine, None, ccl, ccl_set), "--format", "json"]
    for name, value in options.items():
        args += [f"--{name.replace('_', '-')}", _word(value)]
    args += ["--no-time"] * (not time) + ["--frozen-encoder"] * frozen_encoder
    code, text, err = _client.command(args)
    if not text:
        raise _errors.of(code, err)
    report = Record(json.loads(text))
    if code:
        raise _errors.RunFailed(str(_errors.of(code, err)), report)
    return report


def command(*args: str) -> str:
    """Any command line of ``kernbench``, and what it prints.

    >>> print(kb.command("list"))
    """
    return _text(list(args))
