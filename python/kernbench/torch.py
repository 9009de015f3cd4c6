"""Host programs in the style of ``torch.distributed``: tensors, launches, ranks, collectives.

>>> with kb.open("tiny") as torch:
...     x = torch.full((4096, 64), 1.5, "f16", placement="row_wise")
...     torch.launch(twice, x)
...     print(x.numpy()[0, 0], torch.op_log_hash)

Each call is performed at once, as the same call of a Java program (docs/torch-guide.md): the same program has the
same op-log hash in both languages.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _client, _memory, tl
from ._coroutine import Coroutine, check_outside, line as _line, running
from ._errors import UsageError
from ._results import Record, Table
from ._run import Machine
from ._window import Window

Pe = Tuple[int, int, int]
Number = Union[int, float]

#: Types that numpy has too; ``bf16``, ``f8e4m3`` and ``f8e5m2`` it has not.
_NUMPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i8": "<i1", "i32": "<i4", "i64": "<i8", "bool": "|b1"}
_CODES = {np.dtype(name): code for code, name in _NUMPY.items()}
_SPLITS = ("replicate", "row_wise", "column_wise", "tiled_row_major", "tiled_column_major")


def _placement(text: Optional[str]) -> Optional[str]:
    if text in _SPLITS:
        return f"cube={text} pe={text}"
    return None if text == "single" else text


def _leaves(value: Any) -> Iterator[Any]:
    """A value, or what is in lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


class Tensor:
    """A tensor in device memory. Make one with :class:`Torch`."""

    __array_ufunc__ = None

    def __init__(self, torch: "Torch", number: int, shape: Sequence[int], dtype: str, name: str) -> None:
        self._torch = torch
        self._number = number
        #: Extents.
        self.shape = tuple(int(extent) for extent in shape)
        #: Type of the elements, for example ``"f16"``.
        self.dtype = dtype
        #: The name used in messages.
        self.name = name

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {self.dtype}{list(self.shape)})"

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The contents; waits for the kernels that could still change them.

        Types that numpy does not have come as float32, which is exact for them.
        """
        if self.dtype in _NUMPY:
            return self._torch._read(self, np.dtype(_NUMPY[self.dtype]))
        return self._torch._read(self, np.dtype("<f8"), exact=True).astype(np.float32)

    def raw(self) -> "np.ndarray[Any, Any]":
        """The bytes of the elements as unsigned integers: for ``bf16`` and the 8-bit floats."""
        size = 2 if self.dtype == "bf16" else 1 if self.dtype.startswith("f8") else np.dtype(_NUMPY[self.dtype]).itemsize
        return self._torch._read(self, np.dtype(f"<u{size}"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray[Any, Any]":
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def item(self) -> float:
        """Its only element."""
        return float(self.numpy().reshape(()))

    def copy_(self, source: "Union[Tensor, np.ndarray[Any, Any], Sequence[Any]]") -> "Tensor":
        """Overwrites the contents, rounded to this dtype once."""
        if isinstance(source, Tensor):
            self._torch._act_here("copy", tensor=self._number, source=self._torch._number(source))
        else:
            self._torch._write(self, np.asarray(source))
        return self

    def fill_(self, value: Number) -> "Tensor":
        """Sets every element."""
        self._torch._act_here("fill", tensor=self._number, x=tl._number(value, self.dtype))
        return self

    def view(self, start: int, shape: Sequence[int], name: Optional[str] = None) -> "Tensor":
        """Neighbouring elements under a shape of their own, in the same memory."""
        named = name or f"{self.name}[{start}:]"
        given = self._torch._act_here("view", tensor=self._number, start=start, shape=list(shape), name=named)
        return Tensor(self._torch, given["id"], shape, self.dtype, named)

    def close(self) -> None:
        """Gives the memory back, once no kernel under way can use it."""
        self._torch._act_here("drop", tensor=self._number)


class Launch:
    """A kernel that was enqueued."""

    def __init__(self, torch: "Torch", number: int) -> None:
        self._torch = torch
        self._number = number

    def wait(self) -> None:
        """Returns when it is done."""
        self._torch._act_here("await", launch=self._number)

    @property
    def is_done(self) -> bool:
        """Whether it is; asking lets no time pass."""
        return bool(self._torch._act_here("launched", launch=self._number)["done"])

    @property
    def critical_ns(self) -> float:
        """From the common start of all PEs to the completion of the last one; waits for it."""
        self.wait()
        return float(self._torch._act_here("launched", launch=self._number)["critical_ps"]) / 1e3


class Work:
    """A collective that was begun with ``async_op=True``."""

    def __init__(self, torch: "Torch", number: int) -> None:
        self._torch = torch
        self._number = number

    def wait(self) -> None:
        """Orders the rank after it; host reads wait for it by themselves."""
        self._torch._act("wait", work=self._number)


class Group:
    """Some of the ranks, and what they do together. The names are those of ``torch.distributed``."""

    def __init__(self, torch: "Torch", facts: Optional[Dict[str, Any]] = None) -> None:
        self._torch = torch
        self._fields = {"group": facts["id"]} if facts else {}
        self._facts = facts

    @property
    def is_member(self) -> bool:
        """Whether the rank that made this handle is in it."""
        return self._facts is None or bool(self._facts["member"])

    @property
    def ranks(self) -> List[int]:
        """Global numbers."""
        return list(self._facts["ranks"]) if self._facts else list(range(self.size))

    @property
    def size(self) -> int:
        """How many."""
        return len(self._facts["ranks"]) if self._facts else int(self._torch._act("world")["size"])

    @property
    def algorithm(self) -> str:
        """The collective algorithm of the world."""
        return str(self._torch._act("world")["algorithm"])

    def _do(self, op: str, async_op: bool, **fields: Any) -> Optional[Work]:
        if fields.get("reduce") == "prod":
            fields["reduce"] = "product"
        for role in ("tensor", "input", "output"):
            if role in fields:
                fields[role] = self._torch._number(fields[role])
        given = self._torch._act(op, **self._fields, **{"async": async_op}, **fields)
        return Work(self._torch, given["id"]) if async_op else None

    def all_reduce(self, tensor: Tensor, op: str = "sum", async_op: bool = False) -> Optional[Work]:
        """Reduces over the ranks, in place: ``sum``, ``prod``, ``min``, ``max`` or ``avg``."""
        return self._do("all_reduce", async_op, tensor=tensor, reduce=op)

    def reduce_scatter(
        self, output: Tensor, input: Tensor, op: str = "sum", async_op: bool = False
    ) -> Optional[Work]:
        """Reduces, and gives each rank its rows."""
        return self._do("reduce_scatter", async_op, output=output, input=input, reduce=op)

    def all_gather(self, output: Tensor, input: Tensor, async_op: bool = False) -> Optional[Work]:
        """Gives every rank the rows of all."""
        return self._do("all_gather", async_op, output=output, input=input)

    def all_to_all(
        self,
        output: Tensor,
        input: Tensor,
        async_op: bool = False,
        output_split_sizes: Optional[Sequence[int]] = None,
        input_split_sizes: Optional[Sequence[int]] = None,
    ) -> Optional[Work]:
        """Gives every rank its rows of all: as many as each other, or by rank of the group as many as is said."""
        if (output_split_sizes is None) != (input_split_sizes is None):
            raise UsageError(
                "all_to_all: got one of output_split_sizes and input_split_sizes; expected both or none"
            )
        if output_split_sizes is None or input_split_sizes is None:
            return self._do("all_to_all", async_op, output=output, input=input)
        rows = {"output_rows": list(output_split_sizes), "input_rows": list(input_split_sizes)}
        return self._do("all_to_all", async_op, output=output, input=input, **rows)

    def gather(
        self, input: Tensor, output: Optional[Tensor] = None, dst: int = 0, async_op: bool = False
    ) -> Optional[Work]:
        """Gives ``dst`` the rows of all; only ``dst`` has an output."""
        more = {} if output is None else {"output": output}
        return self._do("gather", async_op, input=input, root=dst, **more)

    def scatter(
        self, output: Tensor, input: Optional[Tensor] = None, src: int = 0, async_op: bool = False
    ) -> Optional[Work]:
        """Gives every rank its rows of what ``src`` has; only ``src`` has an input."""
        more = {} if input is None else {"input": input}
        return self._do("scatter", async_op, output=output, root=src, **more)

    def broadcast(self, tensor: Tensor, src: int, async_op: bool = False) -> Optional[Work]:
        """Gives every rank what ``src`` has."""
        return self._do("broadcast", async_op, tensor=tensor, root=src)

    def reduce(self, tensor: Tensor, dst: int, op: str = "sum", async_op: bool = False) -> Optional[Work]:
        """Reduces over the ranks; only ``dst`` has the result."""
        return self._do("reduce", async_op, tensor=tensor, root=dst, reduce=op)

    def send(self, tensor: Tensor, dst: int) -> None:
        """Sends a tensor to a rank."""
        self._do("send", False, tensor=tensor, root=dst)

    def recv(self, tensor: Tensor, src: int) -> None:
        """Receives a tensor from a rank."""
        self._do("recv", False, tensor=tensor, root=src)

    def isend(self, tensor: Tensor, dst: int) -> Work:
        """Begins to send."""
        work = self._do("send", True, tensor=tensor, root=dst)
        assert work is not None
        return work

    def irecv(self, tensor: Tensor, src: int) -> Work:
        """Begins to receive."""
        work = self._do("recv", True, tensor=tensor, root=src)
        assert work is not None
        return work

    def batch_isend_irecv(self, ops: "Sequence[Tuple[str, Tensor, int]]") -> None:
        """Messages both ways at once, and waits for them: ``("send", x, dst), ("recv", y, src)``."""
        listed = []
        for kind, tensor, peer in ops:
            if kind not in ("send", "recv"):
                raise UsageError(f'{_line()}: batch_isend_irecv: got "{kind}"; expected send or recv')
            listed.append({"send": kind == "send", "tensor": self._torch._number(tensor), "peer": peer})
        self._do("batch", False, ops=listed)

    def barrier(self) -> None:
        """Waits for all ranks."""
        self._do("barrier", False)


class Distributed(Group):
    """The group of all ranks, and how others are made."""

    def init_process_group(self, backend: str = "ahbm") -> None:
        """Opens it: in the host program before :meth:`Torch.spawn`, or in every rank."""
        if backend != "ahbm":
            raise UsageError(f'{_line()}: init_process_group: got backend "{backend}"; expected ahbm')
        self._torch._act("init_group")

    def destroy_process_group(self) -> None:
        """Closes it."""
        self._torch._act("destroy_group")

    def get_world_size(self) -> int:
        """How many ranks there are."""
        return self.size

    def new_group(self, ranks: Sequence[int]) -> Group:
        """A group of some ranks. All ranks make the same groups in the same order."""
        return Group(self._torch, self._torch._act("new_group", ranks=list(ranks)))

    def history(self) -> Table:
        """The collectives so far: ``op``, ``bytes``, ``algorithm``, ``start_ps``, ``end_ps``, ``exposed_ps``."""
        return Table([Record(one) for one in self._torch._act("history")["collectives"]])


class Torch:
    """A simulated machine, shaped like ``torch``. Open it with :func:`kernbench.open`."""

    def __init__(self, session: "_Session") -> None:
        self._session = session
        #: What ranks do together.
        self.distributed = Distributed(self)

    def _act(self, op: str, **fields: Any) -> Dict[str, Any]:
        return self._session.act({"op": op, "line": _line(), **fields})

    def _act_here(self, op: str, **fields: Any) -> Dict[str, Any]:
        """By whoever runs now: tensors and launches of the host program are there for its ranks, and theirs for it."""
        return self._session.here().act({"op": op, "line": _line(), **fields})

    def _number(self, tensor: Tensor) -> int:
        """Of a tensor of this machine; on another the number would be that of a tensor there."""
        if not isinstance(tensor, Tensor):
            raise UsageError(f"{_line()}: got {tensor!r}; expected a tensor, such as one of torch.tensor(values)")
        if tensor._torch._session.root is not self._session.root:
            raise UsageError(f"{_line()}: tensor {tensor.name} belongs to another Torch; copy its numpy() here")
        return tensor._number

    # ---- tensors ----

    def empty(
        self, shape: Sequence[int], dtype: str = "f32", placement: Optional[str] = None, name: Optional[str] = None
    ) -> Tensor:
        """A tensor whose memory is not initialised.

        :param placement: ``single`` (one PE, the default), ``row_wise``, ``column_wise``, ``replicate``, ... over
            all PEs of the device, or ``"cube=row_wise pe=replicate num_cubes=4"``
        """
        named = name or self._session.next_name()
        fields: Dict[str, Any] = {"shape": [int(extent) for extent in shape], "dtype": dtype, "name": named}
        where = _placement(placement)
        if where is not None:
            fields["placement"] = where
        return Tensor(self, self._act("tensor", **fields)["id"], shape, dtype, named)

    def full(
        self,
        shape: Sequence[int],
        value: Number,
        dtype: str = "f32",
        placement: Optional[str] = None,
        name: Optional[str] = None,
    ) -> Tensor:
        """A tensor with one number everywhere."""
        return self.empty(shape, dtype, placement, name).fill_(value)

    def zeros(
        self, shape: Sequence[int], dtype: str = "f32", placement: Optional[str] = None, name: Optional[str] = None
    ) -> Tensor:
        """A tensor of zeros, which are written to device memory."""
        return self.full(shape, 0, dtype, placement, name)

    def tensor(
        self, values: Any, dtype: Optional[str] = None, placement: Optional[str] = None, name: Optional[str] = None
    ) -> Tensor:
        """A tensor with host values, rounded to ``dtype`` (by default that of the array) once."""
        array = np.asarray(values)
        code = dtype or _CODES.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise UsageError(
                f"{_line()}: an array of {array.dtype}; expected one of {', '.join(map(str, _CODES))}, or dtype="
            )
        made = self.empty(array.shape, code, placement, name)
        self._write(made, array)
        return made

    def _write(self, tensor: Tensor, array: "np.ndarray[Any, Any]") -> None:
        if array.shape != tensor.shape:
            raise UsageError(
                f"{_line()}: an array of shape {list(array.shape)} into {tensor}; expected equal shapes"
            )
        same = _NUMPY.get(tensor.dtype)
        raw = array.dtype == np.uint16 and tensor.dtype == "bf16" or array.dtype == np.uint8 and tensor.dtype[:2] == "f8"
        rounded = not raw and (same is None or array.dtype != np.dtype(same))
        data = np.ascontiguousarray(array, np.dtype("<f8") if rounded else array.dtype).reshape(-1).view(np.uint8)
        window = self._session.here().window()
        number = window.begin(data)
        try:
            window.offer(number)
            self._act_here("write", tensor=tensor._number, transfer=number, rounded=rounded)
        finally:
            window.end(number)

    def _read(self, tensor: Tensor, dtype: "np.dtype[Any]", exact: bool = False) -> "np.ndarray[Any, Any]":
        array = _memory.empty(tensor.shape, dtype)
        window = self._session.here().window()
        number = window.begin(array.reshape(-1).view(np.uint8))
        try:
            window.take_to(number, self._act_here("read", tensor=tensor._number, transfer=number, exact=exact))
        finally:
            window.end(number)
        return array

    # ---- kernels ----

    def launch(
        self,
        kernel: tl.Kernel,
        *arguments: Any,
        pes: "Optional[Sequence[Pe]]" = None,
        queues: bool = False,
        name: Optional[str] = None,
    ) -> Launch:
        """Enqueues a kernel on every PE that holds a part of one of the tensors among its arguments.

        :param arguments: of the kernel; it may use no other tensors than these and those in lists,
            tuples and dicts among them
        :param pes: run on these ``(sip, cube, pe)`` instead
        :param queues: with the message queues of the process group
        """
        if not isinstance(kernel, tl.Kernel):
            raise UsageError(f"{_line()}: launch of {kernel!r}; expected a function with @tl.kernel")
        tensors: List[Tensor] = []
        for argument in _leaves(arguments):
            if isinstance(argument, Tensor) and all(argument is not known for known in tensors):
                tensors.append(argument)
        fields: Dict[str, Any] = {
            "name": name or kernel.name,
            "kernel": self._session.keep(kernel, arguments, tensors),
            "tensors": [self._number(tensor) for tensor in tensors],
            "queues": queues,
        }
        if pes is not None:
            fields["pes"] = [{"pe": list(place)} for place in pes]
        return Launch(self, self._act("launch", **fields)["id"])

    def connect(self, connections: "Sequence[Tuple[Pe, str, Pe, str]]") -> None:
        """Installs message queues: ``(a, "E", b, "W")`` lets a send to ``E`` reach b, where it comes from ``W``."""
        listed = [
            {"a": list(a), "a_name": a_name, "b": list(b), "b_name": b_name} for a, a_name, b, b_name in connections
        ]
        self._act("queues", connections=listed)

    def synchronize(self) -> None:
        """Returns when all kernels launched so far, by anyone, are done."""
        self._act("synchronize")

    # ---- ranks ----

    def spawn(self, body: "Callable[..., None]", world_size: Optional[int] = None, *arguments: Any) -> None:
        """Runs ``body(rank, *arguments)`` once for each rank, and returns when all have ended.

        Ranks run one at a time and give way where they wait; so they need no locks, and every run is the same.

        :param body: gets a :class:`Rank`
        :param world_size: by default that of the process group
        """
        size = self.distributed.size if world_size is None else world_size
        self._session.spawn(body, size, arguments, _line())

    def set_device(self, index: int) -> None:
        """Tensors that are made from now on lie on this device."""
        self._act("device", index=index)

    # ---- what there is ----

    @property
    def machine(self) -> Record:
        """``name``, ``hash``, ``sips``, ``cubes_per_sip``, ``pes_per_cube``, ``devices``."""
        return Record(self._session.plain(self._act("machine")))

    @property
    def now_ns(self) -> float:
        """Simulated time."""
        return float(self._act("stats")["now_ps"]) / 1e3

    @property
    def op_log_hash(self) -> str:
        """Over all operations so far and their times, after :meth:`synchronize`."""
        return str(self._act("stats")["op_log_hash"])

    @property
    def events(self) -> int:
        """How many events were simulated."""
        return int(self._act("stats")["events"])


class Rank(Torch):
    """One rank, as its body sees it: a :class:`Torch` whose tensors lie on the rank's device."""

    def __init__(self, session: "_RankSession", rank: int, world_size: int) -> None:
        super().__init__(session)
        #: Number of this rank.
        self.rank = rank
        #: How many there are.
        self.world_size = world_size


class _Session:
    """A program in the child: sends actions, and answers what it asks meanwhile."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.client = _client.client()
        self.number = self.client.ask({"do": "open", **options})["program"]
        self.client.sessions += 1
        self.closed = False
        self.failure: Optional[BaseException] = None
        self._kernels: "Dict[int, Tuple[tl.Kernel, Tuple[Any, ...], List[Tensor]]]" = {}
        self._runs: "Dict[int, Tuple[Coroutine, tl._Recorder]]" = {}
        self._ranks: Dict[int, _RankSession] = {}
        self._body: "Optional[Tuple[Callable[..., None], Tuple[Any, ...]]]" = None
        self._count = 0
        self._window: Optional[Window] = None

    def next_name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def window(self) -> Window:
        """Opened when it is first needed."""
        if self._window is None:
            self._window = Window(self.act)
        return self._window

    def keep(self, kernel: tl.Kernel, arguments: "Tuple[Any, ...]", tensors: List[Tensor]) -> int:
        self._count += 1
        self._kernels[self._count] = (kernel, arguments, tensors)
        return self._count

    @staticmethod
    def plain(given: Dict[str, Any]) -> Dict[str, Any]:
        return {name: value for name, value in given.items() if name != "is"}

    @property
    def root(self) -> "_Session":
        """The host program's."""
        return self

    def here(self) -> "_Session":
        """The side that runs now: a rank in its body, else this."""
        body = running()
        return next((rank for rank in self._ranks.values() if rank.coroutine is body), self)

    def _check_free(self) -> None:
        if self.closed:
            raise UsageError(f"{_line()}: the machine is closed; use it inside its with block")
        check_outside()
        if self._ranks:
            raise UsageError(f"{_line()}: another thread uses the machine while its ranks run; wait until spawn returns")

    def act(self, action: Dict[str, Any]) -> Dict[str, Any]:
        self._check_free()
        self.failure = None
        try:
            return self.client.ask({"do": "act", "program": self.number, **action}, self.answer)
        except Exception as e:
            self._end_bodies()
            if self.failure is not None:
                raise self.failure from e  # the author's own error says more than what followed from it
            raise

    # ---- what the child asks ----

    def answer(self, question: Dict[str, Any]) -> Dict[str, Any]:
        try:
            if question["what"] == "rank":
                return self._rank(question)
            if question["what"] == "kernel":
                return self._kernel(question)
            if question["what"] == "fill":
                return self.window().fill(question)
            if question["what"] == "take":
                return self.window().take(question)
            return self._go_on(int(question["run"]), question["seen"])
        except Exception as e:
            if self.failure is None:
                self.failure = e
            return {"failed": f"{type(e).__name__}: {e}"}

    def _kernel(self, question: Dict[str, Any]) -> Dict[str, Any]:
        kernel, arguments, tensors = self._kernels[int(question["launch"])]
        recorder = tl._Recorder(question["facts"], tensors)
        self._count += 1
        self._runs[self._count] = (tl._record(kernel, arguments, recorder), recorder)
        return self._go_on(self._count, None)

    def _go_on(self, run: int, seen: Any) -> Dict[str, Any]:
        coroutine, recorder = self._runs[run]
        look = coroutine.resume(seen)
        if look is not None and look["at"] == "shard":
            return {"shard": look, "run": run}  # the tape goes on: nothing of it need be performed for this
        tape = recorder.tape()
        if coroutine.ended:
            del self._runs[run]
        else:
            tape.update(look=look, run=run)
        return tape

    def spawn(self, body: "Callable[..., None]", world: int, arguments: "Tuple[Any, ...]", line: str) -> None:
        self._check_free()
        self._body = (body, arguments)
        try:
            self.act({"op": "spawn", "line": line, "world": world})
        finally:
            self._end_bodies()

    def _rank(self, question: Dict[str, Any]) -> Dict[str, Any]:
        rank = int(question["rank"])
        if rank not in self._ranks:
            assert self._body is not None
            body, arguments = self._body
            world = int(question["world"])

            def run(session: "_RankSession") -> None:
                body(Rank(session, rank, world), *arguments)

            self._ranks[rank] = _RankSession(self, rank, run)
        coroutine = self._ranks[rank].coroutine
        action = coroutine.resume(question.get("given"))
        return {"ended": True} if coroutine.ended else action

    def _end_bodies(self) -> None:
        ranks = [rank.coroutine for rank in self._ranks.values()]
        for body in [*ranks, *(body for body, _ in self._runs.values())]:
            body.stop()
        self._ranks.clear()
        self._runs.clear()

    def close(self) -> None:
        if not self.closed:
            check_outside()
            self.closed = True
            self._end_bodies()
            self.client.sessions -= 1
            if self.client.is_alive:
                self.client.ask({"do": "close", "program": self.number})
            if self._window is not None:
                self._window.close()
                self._window = None


class _RankSession(_Session):
    """A rank's side: its actions go out as answers to the question how the rank goes on."""

    def __init__(self, session: _Session, rank: int, run: "Callable[[_RankSession], None]") -> None:
        self._parent = session
        self.coroutine = Coroutine(lambda _: run(self), f"rank {rank}", "the rank that its body gets, not torch,")

    @property
    def root(self) -> _Session:
        return self._parent

    def here(self) -> _Session:
        return self._parent if running() is None else self

    def act(self, action: Dict[str, Any]) -> Dict[str, Any]:
        body = running()
        if body is None:
            raise UsageError(f"{_line()}: a call of {self.coroutine.name} outside its body; use torch there")
        if body is not self.coroutine:
            name = self.coroutine.name
            raise UsageError(f"{_line()}: a call of {name} or its tensor inside {body.name}; use {body.instead} there")
        given: Dict[str, Any] = self.coroutine.pause(action)
        return given

    def window(self) -> Window:
        if self._parent._window is None:
            self._parent._window = Window(self.act)
        return self._parent._window

    def next_name(self) -> str:
        return self._parent.next_name()

    def keep(self, kernel: tl.Kernel, arguments: "Tuple[Any, ...]", tensors: List[Tensor]) -> int:
        return self._parent.keep(kernel, arguments, tensors)

    def spawn(self, body: "Callable[..., None]", world: int, arguments: "Tuple[Any, ...]", line: str) -> None:
        raise UsageError(f"{line}: spawn inside a rank; expected it in the host program, one at a time")


class Opened(Torch):
    """A machine at time 0 that is closed at the end of its ``with`` block."""

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends kernels that are still under way and forgets the machine."""
        self._session.close()


def open(
    machine: "Union[Machine, str, os.PathLike[str]]" = "sip-2026",
    mode: str = "full",
    ccl: "Union[str, os.PathLike[str], None]" = None,
    ccl_set: Optional[Dict[str, Any]] = None,
    lines: bool = False,
) -> Opened:
    """Opens a machine at time 0 with empty memories.

    :param machine: a :class:`kernbench.Machine`, a preset's name or a file
    :param mode: ``full`` (values and time), ``time`` (no values) or ``values`` (no time)
    :param ccl: a file of collective algorithms; with it or ``ccl_set`` there is a process group
    :param ccl_set: how collectives run, ``{"defaults.algorithm": "ring"}`` for example, or ``{}``; they also say
        what a rank is: the device that tensors lie on is then a package, a cube or a PE. Without collectives it is
        a package
    :param lines: remember the line of each command, so that a deadlock names it; costs some time
    """
    chosen = machine if isinstance(machine, Machine) else Machine(machine)
    options: Dict[str, Any] = {
        "machine": chosen.name,
        "set": [f"{path}={value}" for path, value in chosen.changes.items()],
        "mode": mode,
        "lines": lines,
    }
    if ccl_set is not None:
        options["ccl_set"] = [f"{path}={value}" for path, value in ccl_set.items()]
    if ccl is not None:
        options.setdefault("ccl_set", [])
        options["ccl"] = os.fspath(ccl)
    return Opened(_Session(options))
