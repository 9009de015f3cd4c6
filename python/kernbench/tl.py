"""The kernel language in Python: calls are recorded as a tape, which the simulator performs command by command.

A kernel is a function that runs once per processing element (PE). Names are those of ``docs/kernel-guide.md`` in
``snake_case``; ``+ - * / ** @`` and comparisons are commands too.

>>> @tl.kernel
... def axpy(x, y, a):
...     tl.store(y, tl.load(x) * a + tl.load(y))

A kernel is recorded once for each shape of the shards it works on, and again where it asks for :func:`program_id`
or :func:`pe` and these differ. If it looks at data (:func:`item`, :func:`clock`, :func:`recv_any`) it runs for each
PE by itself, and stands still until simulated time has produced the number.
"""
from __future__ import annotations

import json
import math
import numbers
import threading
from types import CodeType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._coroutine import Coroutine, frame as _frame, line as _line, named as _named
from ._errors import UsageError

Number = Union[int, float]
Shape = Tuple[int, ...]
Pe = Tuple[int, int, int]

_current = threading.local()


def _exact(value: Number, dtype: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if dtype == "i64" and isinstance(value, int) and (not math.isfinite(number) or int(number) != value):
        raise UsageError(
            f"{_line()}: {value} is a number that f64 does not have, and scalars go as f64; give it as a tensor of i64"
        )
    return number


def _number(value: Number, dtype: str = "") -> Any:
    """For JSON; exact, if it is for a value of i64."""
    number = _exact(value, dtype)
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _word(value: Number, dtype: str) -> str:
    """The same as JSON."""
    number = _exact(value, dtype)
    return repr(number) if math.isfinite(number) else f'"{_number(number)}"'


class Kernel:
    """A function that :func:`kernel` has marked; launch it with ``torch.launch(kernel, *arguments)``."""

    def __init__(self, function: Callable[..., None], name: Optional[str] = None) -> None:
        self.function = function
        self.name = name or function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> None:
        """Inside another kernel: its commands become part of that one."""
        _recorder()
        self.function(*arguments)

    def __repr__(self) -> str:
        return f"Kernel({self.name})"


def kernel(function: Callable[..., None]) -> Kernel:
    """Marks a function as a kernel."""
    return Kernel(function)


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class _Recorder:
    """What one program instance has said so far. A kernel has thousands of commands, so each is put into words (JSON)
    at once, and its line is looked up by the place in the compiled code, which is quicker to know than the line."""

    def __init__(self, facts: Dict[str, Any], tensors: "List[Any]") -> None:
        self.facts = facts
        self.tensors = tensors
        self.consulted: "Dict[str, None]" = {}
        self.calls: List[str] = []
        self.lines: "Dict[Tuple[int, int], int]" = {}
        self.places: "List[Tuple[CodeType, int]]" = []
        self.values = 0
        self.handles = 0
        self.coroutine: Optional[Coroutine] = None
        self.peers: "Dict[Tuple[int, Pe], Optional[Shape]]" = {}

    def fact(self, name: str) -> Any:
        self.consulted[name] = None
        return self.facts[name]

    def line(self) -> int:
        """Number of the user's line."""
        frame = _frame(3)
        key = (id(frame.f_code), frame.f_lasti)
        number = self.lines.get(key)
        if number is None:
            number = self.lines[key] = len(self.places)
            self.places.append((frame.f_code, frame.f_lineno))  # holds the code, so that its id stays its own
        return number

    def say(self, call: str, /, **fields: Any) -> None:
        self.calls.append(f'{{"c":"{call}","l":{self.line()},{_encode(fields)[1:]}' if fields else
                          f'{{"c":"{call}","l":{self.line()}}}')

    def make(self, call: str, shape: Sequence[int], dtype: str, /, **fields: Any) -> "Value":
        return self.made(call, tuple(shape), dtype, _encode(fields)[1:-1])

    def made(self, call: str, shape: Shape, dtype: str, fields: str) -> "Value":
        """A command whose operands are in words already."""
        out = self.values
        self.values = out + 1
        self.calls.append(f'{{"c":"{call}","l":{self.line()},"o":{out},{fields}}}')
        return Value(self, out, shape, dtype)

    def done(self, call: str, /, **fields: Any) -> "Handle":
        out = self.handles
        self.handles += 1
        self.calls.append(f'{{"c":"{call}","l":{self.line()},"o":{out},{_encode(fields)[1:]}')
        return Handle(self, out)

    def tape(self) -> Dict[str, Any]:
        """The key ``tape`` is in words; :func:`kernbench._client.encoded` knows it."""
        lines = [_named((code.co_filename, line)) for code, line in self.places]
        tape = {"tape": self.calls, "lines": lines, "consulted": list(self.consulted)}
        self.calls, self.lines, self.places = [], {}, []
        return tape

    def look(self, **what: Any) -> Any:
        assert self.coroutine is not None
        return self.coroutine.pause(what)

    def peer(self, tensor: int, at: Pe) -> Optional[Shape]:
        """Shape of a tensor's shard at another PE; the same wherever it is asked, so no fact."""
        key = tensor, at
        if key not in self.peers:
            dims = self.look(at="shard", t=tensor, pe=list(at))
            self.peers[key] = None if dims is None else tuple(dims)
        return self.peers[key]

    def index(self, tensor: Any) -> int:
        for i, known in enumerate(self.tensors):
            if known is tensor:
                return i
        raise UsageError(
            f"{_line()}: the kernel uses tensor {getattr(tensor, 'name', tensor)!r}, which it was not launched"
            " with; pass it to launch as an argument"
        )


def _recorder() -> _Recorder:
    recorder = getattr(_current, "recorder", None)
    if recorder is None:
        raise UsageError(f"{_line()}: a call of the kernel language outside a kernel; launch one with torch.launch")
    return recorder  # type: ignore[no-any-return]


def _record(function: Kernel, arguments: Tuple[Any, ...], recorder: _Recorder) -> Coroutine:
    """The kernel as a body that pauses where it looks."""

    def body(coroutine: Coroutine) -> None:
        recorder.coroutine = coroutine
        _current.recorder = recorder
        function.function(*arguments)

    return Coroutine(body, f"kernel {function.name}", "tl, such as tl.load(x) and tl.item(value),")


class Handle:
    """Something under way that :func:`await_` waits for: a store, a put, a composite."""

    def __init__(self, recorder: _Recorder, number: int) -> None:
        self._recorder = recorder
        self._number = number


def _broadcast(a: Sequence[int], b: Sequence[int]) -> Shape:
    """As NumPy does; where they do not fit, the simulator says so, with the line."""
    longer = max(len(a), len(b))
    left = (1,) * (longer - len(a)) + tuple(a)
    right = (1,) * (longer - len(b)) + tuple(b)
    return tuple(y if x == 1 else x for x, y in zip(left, right))


class Value:
    """A tensor in the scratch memory of the PE that runs the kernel. Immutable; arithmetic makes new values."""

    __slots__ = ("_recorder", "_number", "shape", "dtype")
    __array_ufunc__ = None  # numpy must not take arithmetic over

    def __init__(self, recorder: _Recorder, number: int, shape: Shape, dtype: str) -> None:
        self._recorder = recorder
        self._number = number
        #: Extent of each axis.
        self.shape = shape
        #: Type of the elements, for example ``"f16"``.
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    def __bool__(self) -> bool:
        raise UsageError(
            f"{_line()}: a branch on a value that is not known while the kernel is recorded; use tl.item(value), which"
            " waits for the number, or tl.where, which chooses elements"
        )

    __float__ = __int__ = __bool__
    __index__ = __len__ = __iter__ = __bool__

    @property
    def elements(self) -> int:
        """How many."""
        return math.prod(self.shape)

    def _unary(self, call: str) -> "Value":
        return self._recorder.made(call, self.shape, self.dtype, f'"a":{_operand(self)}')

    def _binary(self, call: str, other: "Union[Value, Number]", dtype: Optional[str] = None) -> "Value":
        to = dtype or self.dtype
        if isinstance(other, Value):
            shape = self.shape if self.shape == other.shape else _broadcast(self.shape, other.shape)
            return self._recorder.made(call, shape, to, f'"a":{_operand(self)},"b":{_operand(other)}')
        return self._recorder.made(call, self.shape, to, f'"a":{_operand(self)},"x":{_word(other, self.dtype)}')

    def _bits(self, call: str, other: "Union[Value, int]") -> "Value":
        """A command without a form for a number: it takes that as one element."""
        if isinstance(other, Value):
            return self._binary(call, other)
        if not isinstance(other, numbers.Integral):
            raise UsageError(f"{_line()}: {call} with {other!r}; expected a value or a whole number")
        return self._binary(call, full((1,) * len(self.shape), int(other), self.dtype))

    def _shift(self, call: str, count: int) -> "Value":
        if not isinstance(count, numbers.Integral):
            raise UsageError(f"{_line()}: {call} by {count!r}; expected a whole number, the same for all elements")
        return self._recorder.make(call, self.shape, self.dtype, a=_operand(self), n=int(count))

    def _axis(self, axis: int) -> int:
        return axis + len(self.shape) if axis < 0 else axis

    def _along(self, call: str, axis: int, dtype: Optional[str] = None, keep: bool = False) -> "Value":
        at = self._axis(axis)
        shape = self.shape if keep else self.shape[:at] + self.shape[at + 1:]
        return self._recorder.make(call, shape, dtype or self.dtype, a=_operand(self), n=axis)

    # arithmetic
    def add(self, other: "Union[Value, Number]") -> "Value": return self._binary("add", other)
    def sub(self, other: "Union[Value, Number]") -> "Value": return self._binary("sub", other)
    def mul(self, other: "Union[Value, Number]") -> "Value": return self._binary("mul", other)
    def div(self, other: "Union[Value, Number]") -> "Value": return self._binary("div", other)
    def rem(self, other: "Union[Value, Number]") -> "Value": return self._binary("rem", other)
    def pow(self, other: "Union[Value, Number]") -> "Value": return self._binary("pow", other)
    def rsub(self, scalar: Number) -> "Value": return self._binary("rsub", scalar)
    def rdiv(self, scalar: Number) -> "Value": return self._binary("rdiv", scalar)
    def maximum(self, other: "Union[Value, Number]") -> "Value": return self._binary("maximum", other)
    def minimum(self, other: "Union[Value, Number]") -> "Value": return self._binary("minimum", other)
    def and_(self, other: "Union[Value, int]") -> "Value": return self._bits("and", other)
    def or_(self, other: "Union[Value, int]") -> "Value": return self._bits("or", other)
    def xor(self, other: "Union[Value, int]") -> "Value": return self._bits("xor", other)
    def lt(self, other: "Union[Value, Number]") -> "Value": return self._binary("lt", other, "bool")
    def le(self, other: "Union[Value, Number]") -> "Value": return self._binary("le", other, "bool")
    def gt(self, other: "Union[Value, Number]") -> "Value": return self._binary("gt", other, "bool")
    def ge(self, other: "Union[Value, Number]") -> "Value": return self._binary("ge", other, "bool")
    def eq(self, other: "Union[Value, Number]") -> "Value": return self._binary("eq", other, "bool")
    def ne(self, other: "Union[Value, Number]") -> "Value": return self._binary("ne", other, "bool")

    __add__ = __radd__ = add
    __sub__ = sub
    __rsub__ = rsub
    __mul__ = __rmul__ = mul
    __truediv__ = div
    __rtruediv__ = rdiv
    __mod__ = rem
    __pow__ = pow
    __and__ = __rand__ = and_
    __or__ = __ror__ = or_
    __xor__ = __rxor__ = xor
    __lt__ = lt
    __le__ = le
    __gt__ = gt
    __ge__ = ge
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return self.eq(other) if isinstance(other, (Value, numbers.Real)) else NotImplemented  # type: ignore[arg-type]

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return self.ne(other) if isinstance(other, (Value, numbers.Real)) else NotImplemented  # type: ignore[arg-type]

    def __neg__(self) -> "Value": return self._unary("neg")
    def __abs__(self) -> "Value": return self._unary("abs")
    def __invert__(self) -> "Value": return self._unary("not")
    def __matmul__(self, other: "Value") -> "Value": return dot(self, other)
    def __lshift__(self, count: int) -> "Value": return self.shl(count)
    def __rshift__(self, count: int) -> "Value": return self.shr(count)

    # functions
    def neg(self) -> "Value": return self._unary("neg")
    def abs(self) -> "Value": return self._unary("abs")
    def exp(self) -> "Value": return self._unary("exp")
    def exp2(self) -> "Value": return self._unary("exp2")
    def log(self) -> "Value": return self._unary("log")
    def log2(self) -> "Value": return self._unary("log2")
    def sqrt(self) -> "Value": return self._unary("sqrt")
    def rsqrt(self) -> "Value": return self._unary("rsqrt")
    def reciprocal(self) -> "Value": return self._unary("reciprocal")
    def sigmoid(self) -> "Value": return self._unary("sigmoid")
    def silu(self) -> "Value": return self._unary("silu")
    def tanh(self) -> "Value": return self._unary("tanh")
    def gelu(self) -> "Value": return self._unary("gelu")
    def gelu_tanh(self) -> "Value": return self._unary("gelu_tanh")
    def erf(self) -> "Value": return self._unary("erf")
    def relu(self) -> "Value": return self._unary("relu")
    def sin(self) -> "Value": return self._unary("sin")
    def cos(self) -> "Value": return self._unary("cos")
    def floor(self) -> "Value": return self._unary("floor")
    def ceil(self) -> "Value": return self._unary("ceil")
    def not_(self) -> "Value": return self._unary("not")

    def fma(self, factor: "Value", addend: "Value") -> "Value":
        """``self * factor + addend``, rounded once."""
        shape = _broadcast(_broadcast(self.shape, factor.shape), addend.shape)
        return self._recorder.make(
            "fma", shape, self.dtype, a=_operand(self), b=_operand(factor), acc=_operand(addend)
        )

    def clamp(self, low: Number, high: Number) -> "Value":
        """Into ``[low, high]``."""
        low_word, high_word = _number(low, self.dtype), _number(high, self.dtype)
        return self._recorder.make("clamp", self.shape, self.dtype, a=_operand(self), low=low_word, high=high_word)

    def shl(self, count: int) -> "Value": return self._shift("shl", count)
    def shr(self, count: int) -> "Value": return self._shift("shr", count)

    def cast(self, dtype: str) -> "Value":
        """To another type; the only place where precision is lost."""
        return self._recorder.make("cast", self.shape, dtype, a=_operand(self), dtype=dtype)

    # along an axis
    def sum(self, axis: int) -> "Value": return self._along("sum", axis)
    def prod(self, axis: int) -> "Value": return self._along("prod", axis)
    def max(self, axis: int) -> "Value": return self._along("max", axis)
    def min(self, axis: int) -> "Value": return self._along("min", axis)
    def argmax(self, axis: int) -> "Value": return self._along("argmax", axis, "i32")
    def argmin(self, axis: int) -> "Value": return self._along("argmin", axis, "i32")
    def softmax(self, axis: int) -> "Value": return self._along("softmax", axis, keep=True)
    def cumsum(self, axis: int) -> "Value": return self._along("cumsum", axis, keep=True)

    # views
    def expand_dims(self, axis: int) -> "Value":
        """With an axis of extent 1."""
        at = axis + len(self.shape) + 1 if axis < 0 else axis
        return self._recorder.make(
            "expand_dims", self.shape[:at] + (1,) + self.shape[at:], self.dtype, a=_operand(self), n=axis
        )

    def range(self, start: int, count: int) -> "Value":
        """Consecutive elements of the flattened value."""
        return self._recorder.make("range", (count,), self.dtype, a=_operand(self), n=start, count=count)

    def reshape(self, *dims: int) -> "Value":
        """Another shape of as many elements."""
        return self._recorder.make("reshape", dims, self.dtype, a=_operand(self), shape=list(dims))

    def narrow(self, axis: int, start: int, count: int) -> "Value":
        """A part along an axis."""
        at = self._axis(axis)
        shape = self.shape[:at] + (count,) + self.shape[at + 1:]
        return self._recorder.make(
            "narrow", shape, self.dtype, a=_operand(self), axis=axis, n=start, count=count
        )

    def split(self, axis: int, *sizes: int) -> "List[Value]":
        """Parts along an axis, one after the other."""
        if sum(sizes) != self.shape[axis]:
            raise UsageError(
                f"{_line()}: parts of {list(sizes)} along axis {axis} of {self}; "
                f"expected sizes that add up to {self.shape[axis]}"
            )
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [self.narrow(axis, start, size) for start, size in zip(starts, sizes)]

    def trans(self) -> "Value":
        """The last two axes exchanged."""
        return self._recorder.make(
            "trans", self.shape[:-2] + (self.shape[-1], self.shape[-2]), self.dtype, a=_operand(self)
        )

    @property
    def T(self) -> "Value":
        """:meth:`trans`."""
        return self.trans()

    def permute(self, *axes: int) -> "Value":
        """Axes in another order."""
        shape = tuple(self.shape[axis] for axis in axes)
        return self._recorder.make("permute", shape, self.dtype, a=_operand(self), shape=list(axes))

    def broadcast_to(self, *shape: int) -> "Value":
        """Repeated along axes of extent 1."""
        return self._recorder.make("broadcast_to", shape, self.dtype, a=_operand(self), shape=list(shape))


def _check_own(what: "Union[Value, Handle, Slice]") -> None:
    """That it was made in this recording: in another its number means something else."""
    if what._recorder is not _recorder():
        raise UsageError(
            f"{_line()}: a {type(what).__name__.lower()} of another launch, kernel or PE; expected one made here, pass"
            " data on in a tensor"
        )


def _operand(value: Any) -> int:
    """The number of a value of this recording."""
    if not isinstance(value, Value):
        raise UsageError(f"{_line()}: got {value!r}; expected a value, such as tl.load(x) or tl.full(shape, x, dtype)")
    _check_own(value)
    return value._number


class Slice:
    """What a load or a store names; moves nothing."""

    def __init__(self, recorder: _Recorder, fields: Dict[str, Any], shape: Shape, dtype: str) -> None:
        self._recorder = recorder
        self._fields = fields
        self.shape = shape
        self.dtype = dtype

    def reshape(self, *dims: int) -> "Slice":
        """The same elements under another shape."""
        return Slice(self._recorder, {**self._fields, "shape": list(dims)}, dims, self.dtype)


class Shard:
    """The part of a tensor that lies at a PE, or all of it."""

    def __init__(self, recorder: _Recorder, fields: Dict[str, Any], shape: Shape, dtype: str) -> None:
        self._recorder = recorder
        self._fields = fields
        self.shape = shape
        self.dtype = dtype

    def whole(self) -> Slice:
        """All of it, in its own shape."""
        return Slice(self._recorder, self._fields, self.shape, self.dtype)

    def all(self) -> Slice:
        """All of it, as a vector."""
        return self.range(0, math.prod(self.shape))

    def as_(self, rows: int, columns: int) -> "Shard":
        """The same elements as a matrix."""
        return Shard(self._recorder, {**self._fields, "as": [rows, columns]}, (rows, columns), self.dtype)

    def range(self, start: int, count: int) -> Slice:
        """Consecutive elements of the flattened shard."""
        return Slice(self._recorder, {**self._fields, "part": [start, count]}, (count,), self.dtype)

    def block(self, row: int, rows: int, column: int, columns: int) -> Slice:
        """A block of a matrix shard."""
        fields = {**self._fields, "part": [row, rows, column, columns]}
        return Slice(self._recorder, fields, (rows, columns), self.dtype)


_Place = Any  # a tensor (its shard here), a shard (all of it), or a slice of one


def _slice(of: _Place) -> Slice:
    """All of a shard or of a tensor's shard here; a slice as it is."""
    part = of if isinstance(of, Slice) else (of if isinstance(of, Shard) else shard(of)).whole()
    _check_own(part)
    return part


# ---- identity ----


def program_id(axis: int) -> int:
    """Axis 0: the PE in its cube, 1: the cube in its package, 2: the package in the launch."""
    return int(_recorder().fact(f"program_id{_checked(axis)}"))


def num_programs(axis: int) -> int:
    """Extent of the axis of :func:`program_id`."""
    return int(_recorder().fact(f"num_programs{_checked(axis)}"))


def _checked(axis: int) -> int:
    if axis not in (0, 1, 2):
        raise UsageError(f"{_line()}: program axis {axis}; expected 0 (PE), 1 (cube) or 2 (package)")
    return axis


def pe() -> Pe:
    """Package, cube and PE that the program runs on."""
    sip, cube, number = _recorder().fact("pe")
    return sip, cube, number


def cdiv(a: int, b: int) -> int:
    """Ceiling of ``a / b``."""
    return -(-a // b)


# ---- memory ----


def shard(tensor: Any, at: Optional[Pe] = None) -> Shard:
    """The part of a tensor that lies at this PE, or at another one for :func:`put` and :func:`get`."""
    recorder = _recorder()
    number = recorder.index(tensor)
    if at is not None:
        sip, cube, pe = (int(i) for i in at)
        peer = recorder.peer(number, (sip, cube, pe))
        if peer is None:
            raise UsageError(
                f"{_line()}: tensor {tensor.name} has no shard at {[sip, cube, pe]}, where the kernel at"
                f" {recorder.fact('pe')} wants to reach it; name a PE on which it lies"
            )
        return Shard(recorder, {"t": number, "at": "peer", "pe": [sip, cube, pe]}, peer, tensor.dtype)
    shape = recorder.fact(f"shard{number}")
    if shape is None:
        raise UsageError(
            f"{_line()}: tensor {tensor.name} has no shard at {recorder.fact('pe')}; launch only where it lies, or"
            " return early for other program ids"
        )
    return Shard(recorder, {"t": number, "at": "own"}, tuple(shape), tensor.dtype)


def whole(tensor: Any) -> Shard:
    """All of a tensor, wherever it lies."""
    recorder = _recorder()
    return Shard(recorder, {"t": recorder.index(tensor), "at": "whole"}, tensor.shape, tensor.dtype)


def block(tensor: Any, row: int, rows: int, column: int, columns: int) -> Slice:
    """A block of all of a tensor, taken as a matrix of its last axis' rows."""
    width = tensor.shape[-1] if tensor.shape else 1
    height = math.prod(tensor.shape) // width if width else 0
    return whole(tensor).as_(height, width).block(row, rows, column, columns)


def ref(tensor: Any) -> Slice:
    """This PE's whole shard, without moving anything."""
    return shard(tensor).whole()


def load(place: _Place, mask: Optional[Value] = None, other: Number = 0) -> Value:
    """Loads a slice, or this PE's whole shard of a tensor, into scratch memory."""
    s = _slice(place)
    fields: Dict[str, Any] = {"s": s._fields}
    if mask is not None:
        fields.update(mask=_operand(mask), x=_number(other))
    return _recorder().make("load", s.shape, s.dtype, **fields)


def store(place: _Place, value: Value, mask: Optional[Value] = None) -> Handle:
    """Stores a value over a slice, or over this PE's whole shard of a tensor."""
    fields: Dict[str, Any] = {"s": _slice(place)._fields, "a": _operand(value)}
    if mask is not None:
        fields["mask"] = _operand(mask)
    return _recorder().done("store", **fields)


def get(place: Slice) -> Value:
    """Reads the memory of another PE, which takes no part in it."""
    s = _slice(place)
    return _recorder().make("get", s.shape, s.dtype, s=s._fields)


def put(place: Slice, value: Value) -> Handle:
    """Writes into the memory of another PE, which takes no part in it."""
    return _recorder().done("put", s=_slice(place)._fields, a=_operand(value))


# ---- making ----


def zeros(shape: Sequence[int], dtype: str) -> Value:
    """Zeros."""
    return _recorder().make("zeros", shape, dtype, shape=list(shape), dtype=dtype)


def full(shape: Sequence[int], fill: Number, dtype: str) -> Value:
    """One number everywhere."""
    return _recorder().make("full", shape, dtype, shape=list(shape), dtype=dtype, x=_number(fill, dtype))


def arange(start: Number, end: Number, step: Optional[Number] = None, dtype: Optional[str] = None) -> Value:
    """``start, start + 1, ...`` below ``end`` as i32, or by ``step`` as ``dtype``, which fractions need."""
    if step is None and dtype is None:
        if start != int(start) or end != int(end):
            raise UsageError(
                f"{_line()}: arange from {start} to {end}: without step and dtype both are whole; give both for others"
            )
        return _recorder().make("arange", (max(0, int(end) - int(start)),), "i32", x=int(start), y=int(end))
    by = 1 if step is None else step
    if dtype is None and (start != int(start) or by != int(by)):
        raise UsageError(f"{_line()}: arange from {start} by {by}: without dtype both are whole; give it for others")
    count = max(0, math.ceil((end - start) / by))
    to = dtype or "i32"
    last = start + by * (count - 1)
    if to == "i64" and max(abs(start), abs(last)) > 2**53:
        raise UsageError(f"{_line()}: arange up to {last}: numbers are exact up to 2^53; give others as a tensor of i64")
    return _recorder().make("arange", (count,), to, x=_number(start), y=_number(by), n=count, dtype=to)


def where(condition: Value, a: "Union[Value, Number]", b: "Union[Value, Number]") -> Value:
    """Elements of ``a`` where the condition holds, else of ``b``; one of the two may be a number."""
    recorder = _recorder()
    chosen = {"if": _operand(condition)}
    if isinstance(a, Value):
        if isinstance(b, Value):
            shape = _broadcast(condition.shape, _broadcast(a.shape, b.shape))
            return recorder.make("where", shape, a.dtype, **chosen, a=_operand(a), b=_operand(b))
        shape = _broadcast(condition.shape, a.shape)
        return recorder.make("where", shape, a.dtype, **chosen, a=_operand(a), y=_number(b, a.dtype))
    if isinstance(b, Value):
        shape = _broadcast(condition.shape, b.shape)
        return recorder.make("where", shape, b.dtype, **chosen, b=_operand(b), x=_number(a, b.dtype))
    raise UsageError(f"{_line()}: where of two numbers; expected a value on at least one side")


def rand(seed: "Union[Value, int]", offset: Value) -> Value:
    """Uniform numbers in [0, 1), by counter: the same for a seed and an offset, whoever draws them.

    The seed is a number below 2**31 or a value, one i64; offsets are i32 or i64.
    """
    if isinstance(seed, Value):
        return _recorder().make("rand", offset.shape, "f32", a=_operand(offset), b=_operand(seed))
    return _recorder().make("rand", offset.shape, "f32", a=_operand(offset), n=seed)


def concat(axis: int, first: Value, *more: Value) -> Value:
    """Values one after the other along an axis."""
    at = first._axis(axis)
    length = sum(v.shape[at] for v in (first, *more))
    shape = first.shape[:at] + (length,) + first.shape[at + 1:]
    return _recorder().make("concat", shape, first.dtype, n=axis, all=[_operand(v) for v in (first, *more)])


# ---- products ----


def dot(a: Value, b: Value, acc: Optional[Value] = None, dtype: Optional[str] = None) -> Value:
    """``a[m, k] @ b[k, n]``, added to an accumulator if there is one."""
    shape = (a.shape[0], b.shape[-1])
    fields: Dict[str, Any] = {"a": _operand(a), "b": _operand(b)}
    if acc is not None and dtype is not None:
        raise UsageError(f"{_line()}: dot with acc and dtype; the accumulator says the type, cast the result")
    if acc is not None:
        return _recorder().make("dot", shape, acc.dtype, **fields, acc=_operand(acc))
    if dtype is not None:
        return _recorder().make("dot", shape, dtype, **fields, dtype=dtype)
    return _recorder().make("dot", shape, "i32" if a.dtype == "i8" else a.dtype, **fields)


def dot_in_place(acc: Value, a: Value, b: Value) -> Value:
    """``acc + a @ b`` into the storage of ``acc``, which is given up."""
    return _recorder().make(
        "dot_in_place", acc.shape, acc.dtype, acc=_operand(acc), a=_operand(a), b=_operand(b)
    )


class Epilogue:
    """What a composite does with sums before they leave; see the makers below."""

    def __init__(self, kind: str, when: str, of: "Union[Value, Slice, None]" = None, **fields: Any) -> None:
        if when not in ("k_tile", "output_tile", "kernel"):
            raise UsageError(f'{_line()}: epilogue when="{when}"; expected k_tile, output_tile or kernel')
        self._of = of
        self._fields = {"e": kind, "when": when, **fields}

    def _said(self) -> Dict[str, Any]:
        if self._of is None:
            return self._fields
        if isinstance(self._of, Slice):
            return {**self._fields, "s": _slice(self._of)._fields}
        return {**self._fields, "a": _operand(self._of)}


def bias(vector: Value, when: str = "output_tile") -> Epilogue:
    """Adds a vector to each row."""
    return Epilogue("bias", when, vector)


def relu(when: str = "output_tile") -> Epilogue:
    """``max(y, 0)``."""
    return Epilogue("relu", when)


def gelu(when: str = "output_tile") -> Epilogue:
    """Gaussian error linear unit, with erf."""
    return Epilogue("gelu", when)


def silu(when: str = "output_tile") -> Epilogue:
    """``y * sigmoid(y)``."""
    return Epilogue("silu", when)


def scale(factor: Number, when: str = "output_tile") -> Epilogue:
    """``y * factor``."""
    return Epilogue("scale", when, x=_number(factor))


def dequant(scales: Value, when: str = "k_tile") -> Epilogue:
    """Multiplies by the scales of quantised weights."""
    return Epilogue("dequant", when, scales)


def add(matrix: "Union[Value, Slice]", when: str = "output_tile") -> Epilogue:
    """Adds a matrix of the output's shape, in memory or in scratch."""
    return Epilogue("add", when, matrix)


def composite(
    a: "Union[Value, Slice]",
    b: "Union[Value, Slice]",
    into: Slice,
    tile: Optional[Tuple[int, int, int]] = None,
    epilogues: Sequence[Epilogue] = (),
) -> Handle:
    """A product as one command, streamed by the tile scheduler of the PE while the kernel goes on.

    :param a: ``tl.ref(x)``, streamed from memory, or ``tl.load(x)``, in scratch
    :param tile: m, k, n; by default the machine's, or a search decides
    """
    fields: Dict[str, Any] = {"s": _slice(into)._fields, "epilogues": [e._said() for e in epilogues]}
    for name, operand in (("a", a), ("b", b)):
        if isinstance(operand, Slice):
            fields["s" + name] = _slice(operand)._fields
        else:
            fields[name] = _operand(operand)
    if tile is not None:
        fields["tile"] = list(tile)
    return _recorder().done("composite", **fields)


# ---- messages ----


def send(direction: str, value: Value) -> None:
    """Sends a value to the neighbour in a direction and goes on at once."""
    _recorder().say("send", to=direction, a=_operand(value))


def recv(direction: str, shape: Sequence[int], dtype: str) -> Value:
    """Receives the next message from a direction, used in place where its slot allows."""
    return _recorder().make("recv", shape, dtype, **{"from": direction}, shape=list(shape), dtype=dtype)


def recv_copy(direction: str, shape: Sequence[int], dtype: str) -> Value:
    """Receives into scratch, so that the slot is free at once."""
    return _recorder().make("recv_copy", shape, dtype, **{"from": direction}, shape=list(shape), dtype=dtype)


def recv_async(direction: str, shape: Sequence[int], dtype: str) -> Value:
    """Receives without holding up what follows."""
    return _recorder().make("recv_async", shape, dtype, **{"from": direction}, shape=list(shape), dtype=dtype)


def recv_any(shape: Sequence[int], dtype: str, *directions: str) -> "Tuple[str, Value]":
    """Receives from whichever direction has a message; gives its name too. Stands still until then."""
    recorder = _recorder()
    out = recorder.values
    recorder.values += 1
    seen = recorder.look(at="any", shape=list(shape), dtype=dtype, directions=list(directions), out=out)
    return str(seen), Value(recorder, out, tuple(shape), dtype)


def signal(flag: str) -> None:
    """Raises a flag at a peer, after everything that was put has arrived."""
    _recorder().say("signal", to=flag)


def wait_signal(flag: str, at_least: int) -> None:
    """Later commands wait until a flag has been raised so often."""
    _recorder().say("wait_signal", to=flag, n=at_least)


# ---- order, lifetime, looking ----


def await_(what: "Union[Value, Handle]") -> None:
    """Later commands of this kernel wait until it is done."""
    if isinstance(what, Handle):
        _check_own(what)
        _recorder().say("await_handle", h=what._number)
    else:
        _recorder().say("await", a=_operand(what))


def await_all() -> None:
    """Later commands wait until all earlier ones are done."""
    _recorder().say("await_all")


def release(value: Value) -> None:
    """The kernel will not use the value, nor any view of it, again."""
    _recorder().say("release", a=_operand(value))


def elapse(nanoseconds: float) -> Handle:
    """Lets a time pass that was measured elsewhere; the kernel goes on meanwhile."""
    return _recorder().done("elapse", x=_number(nanoseconds))


class scope:
    """Gives up at its end what was made in it: ``with tl.scope() as turn: ...; turn.keep(value)``."""

    def __enter__(self) -> "scope":
        _recorder().say("scope")
        return self

    def keep(self, value: Value) -> Value:
        """Takes a value out, so that it survives."""
        _recorder().say("keep", a=_operand(value))
        return value

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            _recorder().say("close")


def item(value: Value) -> float:
    """The only element of a value, once simulated time has produced it, so that the kernel may branch on it."""
    return float(_recorder().look(at="item", value=_operand(value)))


def clock() -> float:
    """Simulated time in nanoseconds, after all commands so far have been issued."""
    return float(_recorder().look(at="clock"))


