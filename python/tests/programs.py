"""Programs that ``SamePrograms.java`` has in Java, under the same names; they must have the same op logs.

``python -m tests.programs`` prints name, op-log hash and time of each. What they compute is compared with numpy here.
"""
from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np

import kernbench as kb
from kernbench import tl

RANKS, BLOCK, HEAD = 8, 32, 64


def ramp(shape: Any, period: int, scale: float) -> "np.ndarray[Any, Any]":
    n = int(np.prod(shape))
    return ((np.arange(n) % period - period // 2) * scale).reshape(shape)


def close(got: Any, expected: Any, tolerance: float) -> None:
    error = np.abs(np.asarray(got, np.float64) - expected).max()
    assert error <= tolerance, f"largest error {error}, allowed {tolerance}"


def attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (np.asarray(m, np.float16).astype(np.float64) for m in (q, k, v))
    s = q @ k.T * 0.125
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ v


def vector_add(torch: kb.Torch) -> None:
    @tl.kernel
    def add(x: Any, y: Any, z: Any) -> None:
        tl.store(z, tl.load(x) + tl.load(y))

    shape = (4096, 64)
    x = torch.tensor(ramp(shape, 17, 0.5), "f16", "row_wise", "x")
    y = torch.tensor(ramp(shape, 23, 0.25), "f16", "row_wise", "y")
    z = torch.empty(shape, "f16", "row_wise", "z")
    torch.launch(add, x, y, z)
    torch.synchronize()
    np.testing.assert_array_equal(z.numpy(), ramp(shape, 17, 0.5) + ramp(shape, 23, 0.25))


def softmax(torch: kb.Torch) -> None:
    @tl.kernel
    def rows(x: Any, y: Any) -> None:
        v = tl.load(x)
        hidden = tl.where(tl.arange(0, 96) < 90, v, -np.inf)
        e = (hidden - hidden.max(1).expand_dims(1)).exp()
        tl.store(y, e / e.sum(-1).expand_dims(1))

    x = torch.tensor(ramp((64, 96), 29, 0.125), "f32", "row_wise", "x")
    y = torch.empty((64, 96), "f32", "row_wise", "y")
    torch.launch(rows, x, y)
    expected = np.exp(ramp((64, 96), 29, 0.125))
    expected[:, 90:] = 0
    close(y.numpy(), expected / expected.sum(1, keepdims=True), 1e-7)


def gemm(torch: kb.Torch) -> None:
    @tl.kernel
    def double_buffered(a: Any, b: Any, c: Any) -> None:
        left, right = tl.shard(a), tl.shard(b)
        sums = tl.zeros((64, 64), "f32")
        x, y = tl.load(left.block(0, 64, 0, 64)), tl.load(right.block(0, 64, 0, 64))
        for k in range(64, 257, 64):
            next_x = tl.load(left.block(0, 64, k, 64)) if k < 256 else x
            next_y = tl.load(right.block(k, 64, 0, 64)) if k < 256 else y
            sums = tl.dot_in_place(sums, x, y)
            tl.release(x)
            tl.release(y)
            x, y = next_x, next_y
        tl.store(c, sums.cast("f16"))

    left, right = ramp((64, 256), 13, 0.25), ramp((256, 64), 11, 0.25)
    a, b = torch.tensor(left, "f16", name="a"), torch.tensor(right, "f16", name="b")
    c = torch.zeros((64, 64), "f16", name="c")
    torch.launch(double_buffered, a, b, c)
    np.testing.assert_array_equal(c.numpy(), (left @ right).astype(np.float16))


def composite_gemm(torch: kb.Torch) -> None:
    @tl.kernel
    def composite(a: Any, b: Any, bias: Any, c: Any) -> None:
        weights = tl.load(b)
        steps = [tl.bias(tl.load(bias)), tl.relu()]
        tl.await_(tl.composite(tl.ref(a), weights, tl.ref(c), tile=(32, 48, 40), epilogues=steps))

    left, right, add = ramp((128, 96), 13, 0.25), ramp((96, 80), 11, 0.25), ramp(80, 7, 1)
    a, b = torch.tensor(left, "bf16", name="a"), torch.tensor(right, "bf16", name="b")
    bias = torch.tensor(add, "f32", name="bias")
    c = torch.empty((128, 80), "bf16", name="c")
    torch.launch(composite, a, b, bias, c)
    expected = np.maximum(left @ right + add, 0)
    close(c.numpy(), expected, 2.0**-8 * np.abs(expected).max())
    assert c.raw().dtype == np.uint16


def flash_attention(torch: kb.Torch) -> None:
    @tl.kernel
    def attend(q: Any, k: Any, v: Any, y: Any) -> None:
        query = tl.load(q)
        rows = query.shape[0]
        largest = tl.full((rows, 1), -np.inf, "f32")
        total = tl.zeros((rows, 1), "f32")
        weighted = tl.zeros((rows, HEAD), "f32")
        for at in range(0, k.shape[0], 64):
            with tl.scope() as turn:
                keys = tl.load(tl.shard(k).block(at, 64, 0, HEAD))
                values = tl.load(tl.shard(v).block(at, 64, 0, HEAD))
                scores = tl.dot(query, keys.T, dtype="f32") * 0.125
                most = turn.keep(largest.maximum(scores.max(1).expand_dims(1)))
                p = (scores - most).exp()
                fade = (largest - most).exp()
                total = turn.keep(total * fade + p.sum(1).expand_dims(1))
                weighted = turn.keep(dot_onto(p, values, weighted, fade))
                largest = most
        tl.store(y, (weighted / total).cast("f16"))

    qs, ks, vs = ramp((64, HEAD), 19, 0.0625), ramp((256, HEAD), 23, 0.0625), ramp((256, HEAD), 31, 0.0625)
    q, k, v = (torch.tensor(m, "f16", name=n) for m, n in ((qs, "q"), (ks, "k"), (vs, "v")))
    y = torch.empty((64, HEAD), "f16", name="y")
    torch.launch(attend, q, k, v, y)
    close(y.numpy(), attention(qs, ks, vs), 2.0**-10)


def dot_onto(p: tl.Value, values: tl.Value, weighted: tl.Value, fade: tl.Value) -> tl.Value:
    return tl.dot(p.cast("f16"), values, acc=weighted * fade)


def branch_on_data(torch: kb.Torch) -> None:
    @tl.kernel
    def double_up(x: Any, y: Any) -> None:
        v = tl.load(x)
        steps = 0
        while steps < 6 and tl.item(v.reshape(8).abs().sum(0)) < 40:
            v = v * 2
            steps += 1
        tl.store(y, v + steps)

    values = ramp((8, 8), 5, 1)
    x = torch.tensor(values, "f32", "row_wise", "x")
    y = torch.empty((8, 8), "f32", "row_wise", "y")
    torch.launch(double_up, x, y)
    for row, got in zip(values, y.numpy()):
        steps = 0
        while steps < 6 and np.abs(row).sum() < 40:
            row, steps = row * 2, steps + 1
        np.testing.assert_array_equal(got, row + steps)


def by_program_id(torch: kb.Torch) -> None:
    @tl.kernel
    def by_id(x: Any) -> None:
        number = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
        v = tl.full((1, 32), number, "f32")
        for _ in range(number):
            v = v.sqrt() + tl.arange(0, 32).cast("f32")
        tl.store(x, v)

    x = torch.zeros((8, 32), "f32", "row_wise", "x")
    torch.launch(by_id, x)
    for number, got in enumerate(x.numpy()):
        v = np.full(32, float(number))
        for _ in range(number):
            v = np.sqrt(v) + np.arange(32)
        close(got, v, 1e-4)


def connect(torch: kb.Torch) -> None:
    torch.connect([((0, 0, i), "E", (0, 0, (i + 1) % RANKS), "W") for i in range(RANKS)])


ROWS = f"cube=row_wise pe=row_wise num_cubes=1 num_pes={RANKS}"


def put_and_signal(torch: kb.Torch) -> None:
    @tl.kernel
    def put(box: Any, out: Any) -> None:
        me = tl.program_id(0)
        right = (0, 0, (me + 1) % RANKS)
        tl.put(tl.shard(box, right).whole(), tl.full((1, 128), me, "f32"))
        tl.signal("E")
        tl.wait_signal("W", 1)
        tl.store(out, tl.load(box) * 2)

    connect(torch)
    box = torch.zeros((RANKS, 128), "f32", ROWS, "box")
    out = torch.empty((RANKS, 128), "f32", ROWS, "out")
    torch.launch(put, box, out)
    np.testing.assert_array_equal(out.numpy()[:, 5], 2.0 * ((np.arange(RANKS) - 1) % RANKS))


def ring_all_reduce(torch: kb.Torch) -> None:
    segment = 256

    @tl.kernel
    def ring(x: Any) -> None:
        me = tl.program_id(0)
        mine = tl.shard(x)
        for step in range(RANKS - 1):
            out, into = (me - step) % RANKS, (me - step - 1) % RANKS
            tl.send("E", tl.load(mine.range(out * segment, segment)))
            got = tl.recv("W", (segment,), "f32")
            total = tl.load(mine.range(into * segment, segment)) + got
            tl.await_(tl.store(mine.range(into * segment, segment), total))
            tl.release(got)
        for step in range(RANKS - 1):
            out, into = (me + 1 - step) % RANKS, (me - step) % RANKS
            tl.send("E", tl.load(mine.range(out * segment, segment)))
            got = tl.recv("W", (segment,), "f32")
            tl.await_(tl.store(mine.range(into * segment, segment), got))
            tl.release(got)

    connect(torch)
    values = ramp((RANKS, RANKS * segment), 37, 1)
    x = torch.tensor(values, "f32", ROWS, "x")
    torch.launch(ring, x)
    np.testing.assert_array_equal(x.numpy(), np.tile(values.sum(0), (RANKS, 1)))


def ring_attention(torch: kb.Torch) -> None:
    @tl.kernel
    def attend(q: Any, k: Any, v: Any, y: Any) -> None:
        query, keys, values = tl.load(q), tl.load(k), tl.load(v)
        largest = tl.full((BLOCK, 1), -np.inf, "f32")
        total = tl.zeros((BLOCK, 1), "f32")
        weighted = tl.zeros((BLOCK, HEAD), "f32")
        for step in range(RANKS):
            next_keys, next_values = keys, values
            if step < RANKS - 1:
                tl.send("E", keys)
                tl.send("E", values)
                next_keys = tl.recv("W", (BLOCK, HEAD), "f16")
                next_values = tl.recv("W", (BLOCK, HEAD), "f16")
            scores = tl.dot(query, keys.T, dtype="f32") * 0.125
            most = largest.maximum(scores.max(1).expand_dims(1))
            p = (scores - most).exp()
            fade = (largest - most).exp()
            total = total * fade + p.sum(1).expand_dims(1)
            weighted = dot_onto(p, values, weighted, fade)
            largest = most
            tl.release(keys)
            tl.release(values)
            keys, values = next_keys, next_values
        tl.store(y, (weighted / total).cast("f16"))

    connect(torch)
    shape = (RANKS * BLOCK, HEAD)
    qs, ks, vs = ramp(shape, 19, 0.0625), ramp(shape, 23, 0.0625), ramp(shape, 31, 0.0625)
    q, k, v = (torch.tensor(m, "f16", ROWS, n) for m, n in ((qs, "q"), (ks, "k"), (vs, "v")))
    y = torch.empty(shape, "f16", ROWS, "y")
    torch.launch(attend, q, k, v, y)
    close(y.numpy(), attention(qs, ks, vs), 2.0**-10)


def all_reduce(torch: kb.Torch) -> None:
    def body(rank: Any) -> None:
        x = rank.full((64, 128), rank.rank + 1, "bf16", name="gradient")
        rank.distributed.all_reduce(x, "avg")
        mean = (rank.world_size + 1) / 2
        assert (x.numpy() == mean).all(), f"rank {rank.rank} has {x.numpy()[0, 0]}, expected {mean}"

    torch.spawn(body)


def training_step(torch: kb.Torch) -> None:
    samples, inputs, hidden = 32, 16, 24

    @tl.kernel
    def gradients(x: Any, t: Any, a: Any, b: Any, grad_a: Any, grad_b: Any, loss: Any) -> None:
        xs, bs = tl.load(x), tl.load(b)
        h = tl.dot(xs, tl.load(a))
        active = h.relu()
        error = tl.dot(active, bs) - tl.load(t)
        squares = (error * error).reshape(samples)
        tl.store(loss, (squares.sum(0) * (1.0 / samples)).reshape(1))
        grad_y = error * (2.0 / samples)
        tl.store(grad_b, tl.dot(active.T, grad_y))
        positive = h > 0
        grad_h = tl.where(positive, tl.dot(grad_y, bs.T), 0.0)
        tl.store(grad_a, tl.dot(xs.T, grad_h))

    @tl.kernel
    def sgd(weights: Any, gradient: Any) -> None:
        tl.store(weights, tl.load(weights) - tl.load(gradient) * 0.125)

    losses: Dict[int, Any] = {}

    def body(rank: Any) -> None:
        a = rank.tensor(ramp((inputs, hidden), 13, 0.0625), "f32", name="a")
        b = rank.tensor(ramp((hidden, 1), 7, 0.125), "f32", name="b")
        grad_a = rank.empty((inputs, hidden), "f32", name="grad a")
        grad_b = rank.empty((hidden, 1), "f32", name="grad b")
        loss = rank.empty((1,), "f32", name="loss")
        x = rank.tensor(ramp((samples, inputs), 11 + rank.rank, 0.125), "f32", name="x")
        t = rank.tensor(ramp((samples, 1), 5, 0.25), "f32", name="t")
        for _ in range(3):
            rank.launch(gradients, x, t, a, b, grad_a, grad_b, loss)
            rank.distributed.all_reduce(grad_a, "avg")
            rank.distributed.all_reduce(grad_b, "avg")
            rank.launch(sgd, a, grad_a)
            rank.launch(sgd, b, grad_b)
            losses.setdefault(rank.rank, []).append(float(loss.numpy()[0]))

    torch.spawn(body)
    close(np.array([losses[r] for r in sorted(losses)]), reference_losses(len(losses)), 1e-6)


def reference_losses(ranks: int) -> Any:
    """The same training in f64, without tensors or ranks."""
    samples, inputs, hidden = 32, 16, 24
    a, b = ramp((inputs, hidden), 13, 0.0625), ramp((hidden, 1), 7, 0.125)
    t = ramp((samples, 1), 5, 0.25)
    losses = []
    for _ in range(3):
        row, sum_a, sum_b = [], 0.0, 0.0
        for rank in range(ranks):
            x = ramp((samples, inputs), 11 + rank, 0.125)
            h = x @ a
            error = np.maximum(h, 0) @ b - t
            row.append((error**2).mean())
            grad_y = error * 2 / samples
            sum_b = sum_b + np.maximum(h, 0).T @ grad_y
            sum_a = sum_a + x.T @ ((h > 0) * (grad_y @ b.T))
        losses.append(row)
        a, b = a - 0.125 * sum_a / ranks, b - 0.125 * sum_b / ranks
    return np.array(losses).T


ON_TINY = (vector_add, softmax, gemm, composite_gemm, flash_attention, branch_on_data, by_program_id)
ON_SIP = (put_and_signal, ring_all_reduce, ring_attention)
TOGETHER = (all_reduce, training_step)


def run() -> Dict[str, str]:
    """By name, the op-log hash and the time in picoseconds."""
    logs: Dict[str, str] = {}

    def one(program: "Callable[[kb.Torch], None]", **options: Any) -> None:
        with kb.open(**options) as torch:
            if "ccl_set" in options:
                torch.distributed.init_process_group("ahbm")
            program(torch)
            torch.synchronize()
            logs[program.__name__] = f"{torch.op_log_hash} {round(torch.now_ns * 1000)}"

    for program in ON_TINY:
        one(program, machine="tiny")
    for program in ON_SIP:
        one(program, machine="sip-2026")
    for program in TOGETHER:
        one(program, machine="sip-2026", ccl_set={"defaults.algorithm": "ring"})
    return logs


if __name__ == "__main__":
    for name, log in run().items():
        print("program", name, log)
