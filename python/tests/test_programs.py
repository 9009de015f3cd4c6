"""Programs and kernels said in Python: how they are recorded, and what they say when they are wrong."""
from __future__ import annotations

import tempfile
import threading
import unittest
from typing import Any, List
from unittest import mock

import numpy as np

import kernbench as kb
from kernbench import _memory, tl
from kernbench._window import Window

from . import programs


class ProgramsTest(unittest.TestCase):
    def test_large_arrays_in_and_out_in_every_placement(self) -> None:
        big = np.arange(1 << 24, dtype="<u4").view("<i4").reshape(1 << 8, 1 << 16)  # copied by two threads
        turned = np.asfortranarray(big[:, :96])
        with kb.open("tiny") as torch:
            for placement in ("single", "row_wise", "column_wise", "replicate"):
                self.assertTrue((torch.tensor(turned, placement=placement).numpy() == turned).all(), placement)
            self.assertTrue((torch.tensor(big, placement="row_wise").numpy() == big).all())
            x = torch.zeros(big.shape, "i32", placement="column_wise")  # as kernels leave it, not as it came
            self.assertFalse(x.numpy().any())
            self.assertTrue((x.copy_(big).numpy() == big).all())

    def test_memory_that_is_made_ready_keeps_what_is_written_meanwhile(self) -> None:
        for elements in (0, 5, (1 << 23) + 3, 1 << 25):  # of 4 bytes: the last two are large
            array = _memory.empty((elements, 1), np.dtype("<i4"))
            self.assertEqual((array.shape, array.dtype), ((elements, 1), np.dtype("<i4")))
            expected = np.arange(elements, dtype="<i4").reshape(-1, 1)
            array[:] = expected
            for other in threading.enumerate():
                if other.name == "kernbench memory":
                    other.join()
            np.testing.assert_array_equal(array, expected)

    def test_arrays_that_end_anywhere_in_the_window(self) -> None:
        pattern = np.random.default_rng(5).integers(0, 256, 64 * 5 + 8, np.uint8)
        with mock.patch.object(Window, "PIECE_BYTES", 64), kb.open("tiny") as torch:
            for size in (1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 5 * 64 - 1, 5 * 64, 5 * 64 + 1):
                x = torch.tensor(pattern[:size].view(np.int8))
                np.testing.assert_array_equal(x.numpy().view(np.uint8), pattern[:size], err_msg=str(size))
            for shape in ((), (0, 4), (4, 1), (4, 8), (8, 12), (16, 20)):
                values = np.arange(np.prod(shape, dtype=int), dtype="<f8").reshape(shape) % 251
                for placement in ("single",) if len(shape) < 2 else ("single", "row_wise", "column_wise", "replicate"):
                    for dtype in ("f32", "bf16"):  # as it is; rounded on the way in, widened on the way out
                        x = torch.tensor(values.astype("<f4"), dtype, placement=placement)
                        np.testing.assert_array_equal(x.numpy(), values, err_msg=f"{shape} {placement} {dtype}")

    def test_ranks_that_wait_do_not_take_each_other_s_arrays(self) -> None:
        @tl.kernel
        def add(x: Any) -> None:
            tl.store(tl.shard(x), tl.load(tl.shard(x)) + 1)

        seen: List[Any] = []

        def body(rank: Any) -> None:
            values = np.arange(200, dtype="<i4") + 1000 * rank.rank
            x = rank.tensor(values)
            rank.launch(add, x)
            seen.append((x.numpy() == values + 1).all())  # waits, and others read meanwhile
            rank.launch(add, x)
            x.copy_(values * 3)  # waits as well
            seen.append((x.numpy() == values * 3).all())

        with mock.patch.object(Window, "PIECE_BYTES", 64), kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            torch.spawn(body, torch.distributed.size)
        self.assertEqual(seen, [True] * 2 * 96)

    def test_a_launch_says_when_it_is_done_and_what_it_took(self) -> None:
        @tl.kernel
        def add(x: Any) -> None:
            tl.store(x, tl.load(x) + 1)

        with kb.open("tiny") as torch:
            x = torch.zeros((64,))
            before = torch.now_ns
            launch = torch.launch(add, x)
            self.assertFalse(launch.is_done)
            self.assertEqual(torch.now_ns, before)  # asking lets no time pass
            took = launch.critical_ns
            self.assertTrue(launch.is_done)
            self.assertLessEqual(took, torch.now_ns - before)  # which has the host's call as well
            again = torch.launch(add, x)
            again.wait()
            self.assertEqual(again.critical_ns, took)  # the same kernel in an empty machine

    def test_a_window_that_cannot_be_is_an_error_with_its_file(self) -> None:
        with kb.open("tiny") as torch:
            with self.assertRaisesRegex(kb.KernbenchError, "file /nowhere/x cannot be mapped"):
                torch._act("window", file="/nowhere/x", piece=64)
            x = torch.zeros((4,))
            with self.assertRaisesRegex(kb.KernbenchError, "no window"):
                torch._act("read", tensor=x._number, transfer=1)
            with tempfile.NamedTemporaryFile() as file:
                file.write(bytes(100))
                file.flush()
                with self.assertRaisesRegex(kb.KernbenchError, "of 100 bytes; expected 2 pieces of 64"):
                    torch._act("window", file=file.name, piece=64)
            self.assertEqual(x.numpy().tolist(), [0, 0, 0, 0])
            with self.assertRaisesRegex(kb.KernbenchError, "a window is open"):
                torch._act("window", file="/nowhere/x", piece=64)
            with mock.patch.object(Window, "take_to", side_effect=MemoryError("none left")):
                with self.assertRaisesRegex(MemoryError, "none left"):
                    torch.zeros((1 << 22,)).numpy()
            self.assertEqual(x.numpy().tolist(), [0, 0, 0, 0])

    def test_all_programs_compute_what_numpy_does(self) -> None:
        logs = programs.run()
        self.assertGreaterEqual(len(logs), 10)
        self.assertEqual(len(set(logs.values())), len(logs))
        self.assertEqual(programs.run(), logs)  # the same again, in the same process

    def test_every_dtype_goes_in_and_out(self) -> None:
        values = np.array([[0, 1, -2], [3, 100, -7]])
        with kb.open("tiny") as torch:
            for dtype in ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i32", "i64"):
                back = torch.tensor(values.astype(np.float64), dtype).numpy()
                expected = values if dtype != "f8e5m2" and dtype != "f8e4m3" else np.where(values == 100, 96, values)
                np.testing.assert_array_equal(back, expected, err_msg=dtype)
            self.assertEqual(torch.tensor(np.array([True, False])).dtype, "bool")
            raw = torch.tensor(np.array([1.0, -2.0]), "bf16").raw()
            np.testing.assert_array_equal(raw, [0x3F80, 0xC000])
            np.testing.assert_array_equal(torch.tensor(raw, "bf16").numpy(), [1.0, -2.0])
            # rounded once, from f64, ties to even
            np.testing.assert_array_equal(torch.tensor([2049.0, 0.1], "f16").numpy(), np.float16([2049.0, 0.1]))
            self.assertEqual(torch.zeros((0, 4)).numpy().shape, (0, 4))

    def test_random_numbers_are_those_of_the_counter(self) -> None:
        @tl.kernel
        def draw(y: Any, z: Any) -> None:
            offsets = tl.arange(0, 4)
            tl.store(y, tl.rand(0, offsets))
            tl.store(z, tl.rand(tl.full((1,), 0, "i64"), offsets.cast("i64")))

        with kb.open("tiny") as torch:
            y = torch.zeros((4,), "f32")
            z = torch.zeros((4,), "f32")
            torch.launch(draw, y, z)
            known = np.array([0x6627E8, 0xE169C5, 0xBC57AC, 0x9B00DB]) / 2.0**24
            self.assertTrue((y.numpy() == known).all())
            self.assertTrue((z.numpy() == known).all())

    def test_a_kernel_is_recorded_once_for_each_shape(self) -> None:
        runs: List[Any] = []

        @tl.kernel
        def alike(x: Any) -> None:
            runs.append(tl.shard(x).shape)
            tl.store(x, tl.load(x) + 1)

        @tl.kernel
        def by_id(x: Any) -> None:
            runs.append(tl.program_id(0))
            tl.store(x, tl.load(x) + 1)

        with kb.open("tiny") as torch:
            x = torch.zeros((16, 4), placement="row_wise")
            torch.launch(alike, x)
            torch.synchronize()
            self.assertEqual(runs, [(2, 4)])  # eight PEs, one shape
            runs.clear()
            torch.launch(by_id, x)
            self.assertTrue((x.numpy() == 2).all())
            pes = torch.machine.pes_per_cube
            self.assertEqual(sorted(runs), list(range(pes)))  # other cubes have the same number

    def test_errors_of_kernels_name_the_python_line(self) -> None:
        @tl.kernel
        def wrong_shape(x: Any) -> None:
            tl.store(x, tl.load(x) + tl.zeros((7,), "f32"))  # line A

        @tl.kernel
        def out_of_range(x: Any) -> None:
            tl.load(tl.shard(x).range(2, 9))  # line B

        for kernel, text in ((wrong_shape, r"cannot broadcast \[3\] with \[7\]"), (out_of_range, "out of range")):
            with kb.open("tiny") as torch:
                x = torch.zeros((3,))
                torch.launch(kernel, x)
                with self.assertRaisesRegex(kb.KernbenchError, text + r".*\(test_programs\.py:\d+\)") as caught:
                    torch.synchronize()
                self.assertNotIn(".java", str(caught.exception))
                self.assertNotIn("bug", str(caught.exception))

    def test_records_name_the_python_line(self) -> None:
        @tl.kernel
        def waits_for_ever(x: Any) -> None:
            tl.store(x, tl.recv("W", (1, 128), "f32"))

        with kb.open("sip-2026", lines=True) as torch:
            programs.connect(torch)
            torch.launch(waits_for_ever, torch.zeros((programs.RANKS, 128), "f32", programs.ROWS))
            with self.assertRaisesRegex(kb.KernbenchError, r"deadlock[\s\S]*test_programs\.py:\d+"):
                torch.synchronize()

    def test_branches_on_values_are_refused_with_the_remedy(self) -> None:
        @tl.kernel
        def branch(x: Any) -> None:
            if tl.load(x) > 3:
                pass

        with kb.open("tiny") as torch:
            torch.launch(branch, torch.zeros((1,)))
            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: a branch on a value.*tl\.item"):
                torch.synchronize()

    def test_equal_is_a_command_like_the_other_comparisons(self) -> None:
        @tl.kernel
        def choose(x: Any, y: Any) -> None:
            v = tl.load(x)
            tl.store(y, tl.where(v == 5, v * 100, tl.where(v != 3, v, 0)))

        @tl.kernel
        def branch(x: Any) -> None:
            if tl.load(x) == 5:
                pass

        @tl.kernel
        def among(x: Any) -> None:
            assert tl.load(x) in (5, 6)

        with kb.open("tiny") as torch:
            x = torch.tensor([5.0, 3.0, 4.0], "f32")
            y = torch.zeros((3,))
            torch.launch(choose, x, y)
            self.assertEqual(y.numpy().tolist(), [500.0, 0.0, 4.0])

        @tl.kernel
        def optional(x: Any, y: Any) -> None:
            v = tl.load(x)
            assert v != None and not v == None  # noqa: E711
            tl.store(y, tl.where(v > -(10**30), v, 10**23))

        with kb.open("tiny") as torch:
            x = torch.tensor([5.0], "f32")
            y = torch.zeros((1,))
            torch.launch(optional, x, y)
            self.assertEqual(y.numpy().tolist(), [5.0])
        for kernel in (branch, among):
            with kb.open("tiny") as torch:
                torch.launch(kernel, torch.zeros((1,)))
                with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: a branch on a value"):
                    torch.synchronize()

    def test_numbers_that_a_scalar_does_not_have_are_refused(self) -> None:
        large = 2**53 + 1

        @tl.kernel
        def fill(y: Any) -> None:
            tl.store(y, tl.full((2,), large, "i64"))

        @tl.kernel
        def count(y: Any) -> None:
            tl.store(y, tl.arange(large - 1, large + 1, 1, "i64"))

        @tl.kernel
        def halves(y: Any) -> None:
            tl.store(y, tl.arange(0.5, 2.5))

        @tl.kernel
        def quarters(y: Any) -> None:
            tl.store(y, tl.arange(0, 1, 0.25))

        @tl.kernel
        def from_a_half(y: Any) -> None:
            tl.store(y, tl.arange(0.5, 2.5, 1))

        for kernel, words in (
            (fill, "f64 does not have"),
            (count, "exact up to"),
            (halves, "both are whole"),
            (quarters, "from 0 by 0.25: without dtype both are whole"),
            (from_a_half, "from 0.5 by 1: without dtype both are whole"),
        ):
            with kb.open("tiny") as torch:
                torch.launch(kernel, torch.zeros((2,), "i64"))
                with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*" + words):
                    torch.synchronize()

    def test_wrong_arithmetic_is_the_authors(self) -> None:
        @tl.kernel
        def divide(x: Any) -> None:
            tl.store(x, tl.load(x) / 0)

        @tl.kernel
        def exponential(x: Any) -> None:
            tl.store(x, tl.load(x).exp())

        for mode in ("full", "time"):
            for kernel, words in ((divide, "division by zero"), (exponential, "not defined on i32")):
                if kernel is divide and mode == "time":
                    continue
                with kb.open("tiny", mode=mode) as torch:
                    torch.launch(kernel, torch.zeros((2,), "i32"))
                    with self.assertRaisesRegex(kb.KernbenchError, words) as failed:
                        torch.synchronize()
                    self.assertNotIn("bug in kernbench", str(failed.exception))

    def test_the_authors_own_errors_come_back(self) -> None:
        @tl.kernel
        def divides(x: Any) -> None:
            1 / 0

        def rank(r: Any) -> None:
            if r.rank == 2:
                raise LookupError("no such shard")
            r.distributed.barrier()

        with kb.open("tiny") as torch:
            torch.launch(divides, torch.zeros((1,)))
            with self.assertRaises(ZeroDivisionError):
                torch.synchronize()
        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            with self.assertRaisesRegex(LookupError, "no such shard"):
                torch.spawn(rank)
        with kb.open("tiny") as torch:  # the next one works
            self.assertEqual(torch.full((1,), 4).item(), 4)

    def test_ranks_that_disagree_are_told_where(self) -> None:
        def rank(r: Any) -> None:
            x = r.zeros((8,))
            if r.rank == 1:
                r.distributed.broadcast(x, 0)
            else:
                r.distributed.all_reduce(x)

        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            with self.assertRaisesRegex(kb.KernbenchError, r"test_programs\.py:\d+"):
                torch.spawn(rank)

    def test_ranks_that_wait_for_ever_are_told_where(self) -> None:
        def rank(r: Any) -> None:
            if r.rank == 0:
                r.distributed.recv(r.zeros((8,)), 1)
            else:
                r.distributed.barrier()

        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            with self.assertRaises(kb.KernbenchError) as caught:
                torch.spawn(rank)
        self.assertRegex(str(caught.exception), r"test_programs\.py:\d+")
        self.assertNotIn("Program.java", str(caught.exception))

    def test_a_machine_without_collectives_says_how_to_open_it(self) -> None:
        with kb.open("tiny") as torch:
            with self.assertRaisesRegex(kb.KernbenchError, r"opened without collectives; .*ccl_set=\{\}"):
                torch.distributed.init_process_group()

    def test_wrong_words_of_a_rank_are_the_users(self) -> None:
        def rank(r: Any) -> None:
            r.full((4,), 1.0, "float32")

        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            with self.assertRaisesRegex(kb.KernbenchError, "unknown dtype") as caught:
                torch.spawn(rank)
        self.assertNotIn("bug", str(caught.exception))

    def test_a_body_uses_its_own_rank(self) -> None:
        kept: List[Any] = []

        def makes(r: Any) -> None:
            kept.append(r)
            r.full((2,), r.rank)

        for call in (
            lambda torch, r: torch.full((4,), 1.0),
            lambda torch, r: torch.distributed.all_reduce(r.full((4,), 1.0)),
            lambda torch, r: torch.spawn(makes, 6),
            lambda torch, r: torch.close(),
            lambda torch, r: kb.run("ccl-allreduce"),
            lambda torch, r: kb.open("tiny"),
        ):
            with kb.open("sip-2026", ccl_set={}) as torch:
                torch.distributed.init_process_group()
                with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*host program inside rank 0; use"):
                    torch.spawn(lambda r: call(torch, r))
                self.assertEqual(torch.full((1,), 4).item(), 4)
        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            torch.spawn(makes)
            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*rank 1 outside its body"):
                kept[1].full((2,), 1)
            others: List[Any] = []

            def asks(r: Any) -> None:
                other = threading.Thread(target=lambda: others.append(self.failure_of(lambda: torch.now_ns)))
                other.start()
                other.join()

            torch.spawn(asks)
            self.assertRegex(others[0], r"test_programs\.py:\d+: another thread uses the machine")

    @staticmethod
    def failure_of(call: Any) -> str:
        try:
            call()
        except kb.KernbenchError as error:
            return str(error)
        return "none"

    def test_tensors_are_there_for_the_ranks_and_after_them(self) -> None:
        seen: List[Any] = []
        made: List[Any] = []

        @tl.kernel
        def add(x: Any) -> None:
            tl.store(x, tl.load(x) + 1)

        def body(r: Any) -> None:
            seen.append(x.numpy().tolist())
            if r.rank == 2:
                x.copy_(np.full((4,), 9.0)).view(0, (1,)).fill_(8)
            made.append(r.full((2,), r.rank))
            launches.append(r.launch(add, made[-1]))

        def reads_another(r: Any) -> None:
            if r.rank == 3:
                made[-1].numpy()
            made.append(r.full((2,), r.rank))
            r.distributed.barrier()

        launches: List[Any] = []
        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()
            x = torch.full((4,), 7)
            torch.spawn(body)
            self.assertEqual(seen, [[7.0] * 4] * 3 + [[8.0, 9.0, 9.0, 9.0]] * (len(seen) - 3))
            self.assertEqual([y.numpy().tolist() for y in made], [[r + 1.0] * 2 for r in range(len(seen))])
            self.assertTrue(launches[1].is_done)
            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*rank 2 or its tensor inside rank 3"):
                torch.spawn(reads_another)

    def test_a_tensor_of_another_machine_is_refused(self) -> None:
        @tl.kernel
        def add(x: Any, y: Any) -> None:
            tl.store(x, tl.load(x) + tl.load(y))

        options: Any = {"machine": "sip-2026", "ccl_set": {}}
        with kb.open(**options) as one, kb.open(**options) as other:
            x, z = one.full((4,), 1.0), other.full((4,), 2.0, name="z")
            for torch in (one, other):
                torch.distributed.init_process_group()
            message = r"test_programs\.py:\d+: tensor z belongs to another Torch"
            for host_call in (lambda: x.copy_(z), lambda: one.launch(add, x, z)):
                with self.assertRaisesRegex(kb.UsageError, message):
                    host_call()
            for call in (
                lambda d, y: d.all_reduce(z),
                lambda d, y: d.all_reduce(z, async_op=True),
                lambda d, y: d.all_gather(z, y),
                lambda d, y: d.all_gather(y, z),
                lambda d, y: d.reduce_scatter(y, z),
                lambda d, y: d.all_to_all(z, y),
                lambda d, y: d.gather(y, z, 0),
                lambda d, y: d.scatter(y, z, 0),
                lambda d, y: d.broadcast(z, 0),
                lambda d, y: d.reduce(z, 0),
                lambda d, y: d.send(z, 1),
                lambda d, y: d.irecv(z, 1),
                lambda d, y: d.batch_isend_irecv([("send", y, 1), ("recv", z, 1)]),
            ):
                with self.assertRaisesRegex(kb.UsageError, message):
                    one.spawn(lambda r: call(r.distributed, r.full((4,), 1.0)))
            self.assertEqual(x.numpy().tolist(), [1.0] * 4)
            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: got array.*expected a tensor"):
                one.spawn(lambda r: r.distributed.all_reduce(np.zeros(4)))

    def test_what_an_earlier_kernel_made_is_refused(self) -> None:
        kept: List[Any] = []

        @tl.kernel
        def keeps(x: Any, y: Any) -> None:
            v = tl.load(x)
            kept[:] = [v, tl.store(y, v), tl.ref(x), tl.bias(v), tl.add(tl.ref(x)), v > 0]

        uses = (
            lambda x, y, v: tl.store(y, v + kept[0]),
            lambda x, y, v: tl.store(y, kept[0] + v),
            lambda x, y, v: tl.store(y, kept[0].exp()),
            lambda x, y, v: tl.store(y, kept[0] * 2),
            lambda x, y, v: tl.store(y, v.fma(v, kept[0])),
            lambda x, y, v: tl.store(y, kept[0]),
            lambda x, y, v: tl.store(y, v, kept[5]),
            lambda x, y, v: tl.load(x, kept[5]),
            lambda x, y, v: tl.store(y, tl.where(kept[5], v, 0)),
            lambda x, y, v: tl.concat(0, v, kept[0]),
            lambda x, y, v: tl.dot(v, kept[0]),
            lambda x, y, v: tl.item(kept[0]),
            lambda x, y, v: tl.await_(kept[0]),
            lambda x, y, v: tl.await_(kept[1]),
            lambda x, y, v: tl.release(kept[0]),
            lambda x, y, v: tl.store(kept[2], v),
            lambda x, y, v: tl.load(kept[2].reshape(16)),
            lambda x, y, v: tl.composite(tl.ref(x), v, tl.ref(y), epilogues=[kept[3]]),
            lambda x, y, v: tl.composite(tl.ref(x), v, tl.ref(y), epilogues=[kept[4]]),
            lambda x, y, v: tl.composite(kept[2], v, tl.ref(y)),
        )

        @tl.kernel
        def late(x: Any, y: Any, use: Any) -> None:
            use(x, y, tl.load(x))

        def check(use: Any, message: str) -> None:
            with kb.open("tiny") as torch:
                x, y = torch.full((4, 4), 3.0), torch.zeros((4, 4))
                torch.launch(keeps, x, y)
                torch.synchronize()
                torch.launch(late, x, y, use)
                with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: " + message):
                    torch.synchronize()

        for use in uses:
            check(use, "a (value|handle|slice) of another")
        check(lambda x, y, v: tl.store(y, x), "got Tensor.*expected a value")
        with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*outside a kernel"):
            kept[0] + 1

    def test_a_shard_at_another_pe_has_its_own_shape(self) -> None:
        shapes: List[Any] = []

        @tl.kernel
        def swap(x: Any, y: Any) -> None:
            s, c, p = tl.pe()
            theirs = tl.shard(x, (s, c, p ^ 1))
            v = tl.get(theirs.all())
            shapes.append((theirs.shape, v.shape))
            tl.store(y, v)

        @tl.kernel
        def first(x: Any, y: Any) -> None:
            shapes.append(tl.shard(x, (0, 0, np.int64(0))).shape)
            tl.store(y, tl.get(tl.shard(x, (0, 0, 0)).whole()))

        @tl.kernel
        def nowhere(x: Any, y: Any) -> None:
            tl.shard(x, (0, 0, 99))

        place = "cube=row_wise pe=row_wise num_cubes=1 num_pes=8"
        with kb.open("sip-2026") as torch:
            x, y = torch.tensor(np.arange(16.0), "f32", place, "x"), torch.zeros((16,), "f32", place)
            torch.launch(swap, x, y)
            self.assertEqual(y.numpy().tolist(), np.arange(16.0).reshape(4, 2, 2)[:, ::-1].reshape(-1).tolist())
            self.assertEqual(shapes, [((2,), (2,))] * 8)
            shapes.clear()
            torch.launch(first, x, y)
            self.assertEqual(y.numpy().tolist(), [0.0, 1.0] * 8)
            self.assertEqual(shapes, [(2,)])  # recorded once: it has not asked where it is
            torch.launch(nowhere, x, y)
            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: tensor x has no shard at \[0, 0, 99\]"):
                torch.synchronize()
        with kb.open("tiny") as torch:
            x, y = torch.tensor(np.arange(16.0), "f32", "row_wise"), torch.zeros((16,), "f32", "row_wise")
            torch.launch(swap, x, y)
            self.assertEqual(y.numpy().tolist(), np.arange(16.0).reshape(4, 2, 2)[:, ::-1].reshape(-1).tolist())

    def test_reductions_have_the_words_of_pytorch(self) -> None:
        seen: List[Any] = []

        def rank(r: Any) -> None:
            d = r.distributed
            for later in (False, True):
                x, y, z = r.full((4,), 2.0), r.empty((1,)), r.full((r.world_size,), 2.0)
                for work in (
                    d.all_reduce(x, "prod", later), d.reduce_scatter(y, z, "prod", later), d.reduce(z, 0, "prod", later)
                ):
                    if work is not None:
                        work.wait()
                seen.append(x.numpy().tolist() == [64.0] * 4 and y.item() == 64)
                if r.rank == 0:
                    seen.append(z.numpy().tolist() == [64.0] * 6)

        with kb.open("sip-2026", ccl_set={"defaults.algorithm": "ring"}) as torch:
            torch.distributed.init_process_group()
            torch.spawn(rank)
        self.assertEqual(seen, [True] * 14)

    def test_tensors_in_lists_are_launched_with(self) -> None:
        @tl.kernel
        def fill(outs: Any, x: Any) -> None:
            for out in outs["all"]:
                tl.store(out, tl.load(x))

        with kb.open("tiny") as torch:
            x, out = torch.full((4,), 3, "f32"), torch.zeros((4,), "f32")
            torch.launch(fill, {"all": [out]}, x)
            self.assertEqual(out.numpy().tolist(), [3.0] * 4)

    def test_split_takes_all_of_an_axis(self) -> None:
        @tl.kernel
        def part(x: Any) -> None:
            tl.load(x).split(0, 1, 1)

        with kb.open("tiny") as torch:
            torch.launch(part, torch.zeros((3,)))
            with self.assertRaisesRegex(kb.UsageError, "expected sizes that add up to 3"):
                torch.synchronize()

    def test_arange_takes_steps(self) -> None:
        @tl.kernel
        def count(x: Any, y: Any) -> None:
            tl.store(x, tl.arange(0.5, 2.5, 0.5, "f32"))
            tl.store(y, tl.arange(6, -1.5, -2))

        with kb.open("tiny") as torch:
            x, y = torch.zeros((4,)), torch.zeros((4,), "i32")
            torch.launch(count, x, y)
            self.assertEqual((x.numpy().tolist(), y.numpy().tolist()), ([0.5, 1.0, 1.5, 2.0], [6, 4, 2, 0]))

    def test_operations_on_bits_take_numbers(self) -> None:
        @tl.kernel
        def bits(x: Any, y: Any) -> None:
            v = tl.load(x)
            a = (v | 4).sum(0) + (v & np.int64(6)).sum(0) * 100 + (v ^ 1).sum(0) * 10000
            tl.store(y, (a + (8 | v).sum(0) * 1000000 + ((v << np.int32(2)) >> 1).sum(0) * 100000000).reshape(1))

        @tl.kernel
        def flags(x: Any, y: Any) -> None:
            tl.store(y, tl.load(x) ^ True)

        with kb.open("tiny") as torch:
            x, y = torch.tensor(np.array([3, 5]), "i64"), torch.zeros((1,), "i64")
            torch.launch(bits, x, y)
            self.assertEqual(y.item(), 7 + 5 + 600 + (2 + 4) * 10000 + (11 + 13) * 1000000 + (6 + 10) * 100000000)
            x, z = torch.tensor(np.array([True, False])), torch.zeros((2,), "bool")
            torch.launch(flags, x, z)
            self.assertEqual(z.numpy().tolist(), [False, True])

        @tl.kernel
        def wrong(x: Any, use: Any) -> None:
            use(tl.load(x))

        for use, words in (
            (lambda v: v | 4.5, "or with 4.5; expected a value or a whole number"),
            (lambda v: v << v, r"shl by i32\[2\]; expected a whole number"),
            (lambda v: v >> 1.5, "shr by 1.5; expected a whole number"),
        ):
            with kb.open("tiny") as torch:
                torch.launch(wrong, torch.zeros((2,), "i32"), use)
                with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: " + words):
                    torch.synchronize()

    def test_a_kernel_reads_no_host_tensor(self) -> None:
        @tl.kernel
        def branch(x: Any) -> None:
            if x.numpy()[0] > 3:
                tl.store(x, tl.load(x) + 1)

        message = r"test_programs\.py:\d+: .*inside kernel branch; use tl.*tl\.item"
        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.launch(branch, torch.zeros((4,)))
            with self.assertRaisesRegex(kb.UsageError, message):
                torch.synchronize()
        with kb.open("sip-2026", ccl_set={}) as torch:
            torch.distributed.init_process_group()

            def body(r: Any) -> None:
                r.launch(branch, r.zeros((4,)))
                r.synchronize()

            with self.assertRaisesRegex(kb.UsageError, r"test_programs\.py:\d+: .*inside kernel branch; use tl"):
                torch.spawn(body)

    def test_kernels_use_only_tensors_they_were_launched_with(self) -> None:
        with kb.open("tiny") as torch:
            x, other = torch.zeros((1,)), torch.zeros((1,), name="other")

            @tl.kernel
            def sneaks(x: Any) -> None:
                tl.store(x, tl.load(other))

            torch.launch(sneaks, x)
            with self.assertRaisesRegex(kb.UsageError, "uses tensor 'other', which it was not launched with"):
                torch.synchronize()

    def test_async_collectives_groups_and_messages(self) -> None:
        seen: List[Any] = []

        def rank(r: Any) -> None:
            d = r.distributed
            even = d.new_group([0, 2])
            x = r.full((6,), r.rank)
            work = d.all_reduce(x, async_op=True)
            work.wait()
            if even.is_member:
                y = r.full((4,), r.rank)
                even.all_reduce(y, "max")
                seen.append((even.ranks, float(y.numpy()[0])))
            mine, theirs = r.full((2,), r.rank), r.empty((2,))
            d.batch_isend_irecv([
                ("send", mine, (r.rank + 1) % r.world_size), ("recv", theirs, (r.rank - 1) % r.world_size)
            ])
            seen.append(float(theirs.numpy()[0]) - (r.rank - 1) % r.world_size)
            seen.append(float(x.numpy()[0]) - sum(range(r.world_size)))

        with kb.open("sip-2026", ccl_set={"defaults.algorithm": "ring"}) as torch:
            torch.distributed.init_process_group()
            torch.spawn(rank)
            self.assertEqual([s for s in seen if isinstance(s, tuple)], [([0, 2], 2.0)] * 2)
            self.assertEqual(set(s for s in seen if not isinstance(s, tuple)), {0.0})
            history = torch.distributed.history()
            self.assertIn("all_reduce", list(history["op"]))

    def test_gather_scatter_and_uneven_exchanges(self) -> None:
        seen: List[Any] = []

        def rank(r: Any) -> None:
            d, p, me = r.distributed, r.world_size, r.rank
            for later in (False, True):
                mine = r.full((2,), me)
                all_of = r.empty((2 * p,)) if me == 1 else None
                work = d.gather(mine, all_of, 1, async_op=later)
                if work is not None:
                    work.wait()
                part = r.empty((2,))
                work = d.scatter(part, all_of, 1, async_op=later)
                if work is not None:
                    work.wait()
                seen.append(part.numpy().tolist() == [me, me])
                to, sent = r.empty((p * (me + 1),)), r.full((p * (p + 1) // 2,), me)  # rank j gets j + 1 of each
                rows = {"output_split_sizes": [me + 1] * p, "input_split_sizes": [j + 1 for j in range(p)]}
                work = d.all_to_all(to, sent, async_op=later, **rows)
                if work is not None:
                    work.wait()
                seen.append(to.numpy().tolist() == [j for j in range(p) for _ in range(me + 1)])

        with kb.open("sip-2026", ccl_set={"defaults.algorithm": "ring"}) as torch:
            torch.distributed.init_process_group()
            torch.spawn(rank)
            with self.assertRaisesRegex(kb.UsageError, "expected both or none"):
                torch.spawn(
                    lambda r: r.distributed.all_to_all(r.empty((6,)), r.empty((6,)), output_split_sizes=[1] * 6)
                )
        self.assertEqual(seen, [True] * len(seen))
        self.assertGreater(len(seen), 8)

    def test_looking_at_the_clock_and_at_any_message(self) -> None:
        seen: List[Any] = []

        @tl.kernel
        def first(x: Any) -> None:
            me = tl.program_id(0)
            if me == 0:
                direction, value = tl.recv_any((4,), "f32", "W", "E")
                seen.append((direction, tl.clock() > 0, tl.item(value.sum(0))))
            if me == programs.RANKS - 1:
                tl.send("E", tl.full((4,), 2.5, "f32"))

        with kb.open("sip-2026") as torch:
            programs.connect(torch)
            torch.launch(first, torch.zeros((programs.RANKS, 4), "f32", programs.ROWS))
            torch.synchronize()
        self.assertEqual(seen, [("W", True, 10.0)])

    def test_mode_time_has_the_same_log_and_no_values(self) -> None:
        with kb.open("tiny") as torch:
            programs.vector_add(torch)
            torch.synchronize()
            full = torch.op_log_hash
        with kb.open("tiny", mode="time") as torch:
            with self.assertRaisesRegex(kb.KernbenchError, "mode time computes no values"):
                programs.vector_add(torch)
            self.assertEqual(torch.op_log_hash, full)

    def test_wrong_words_are_told(self) -> None:
        with kb.open("tiny") as torch:
            for call, text in (
                (lambda: torch.zeros((2,), "float"), "unknown dtype"),
                (lambda: torch.zeros((2,), placement="rows"), "placement"),
                (lambda: torch.tensor(np.array(["a"])), "expected one of"),
                (lambda: torch.zeros((2,)).copy_(np.zeros(3)), "expected equal shapes"),
                (lambda: torch.launch(len, 1), "expected a function with @tl.kernel"),
                (lambda: tl.load(1), "outside a kernel"),
            ):
                with self.assertRaises(kb.KernbenchError) as caught:
                    call()
                self.assertIn(text, str(caught.exception))
                self.assertNotIn("bug", str(caught.exception))
        with self.assertRaisesRegex(kb.UsageError, "closed"):
            torch.zeros((2,))


if __name__ == "__main__":
    unittest.main()
