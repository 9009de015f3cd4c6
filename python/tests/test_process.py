"""Two processes and a pipe: whoever is killed, nothing stays behind, and the next request works."""
from __future__ import annotations

import glob
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from typing import Any
from unittest import mock

import numpy as np

import kernbench as kb
from kernbench import _client, tl


def _gone(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends within a time. A zombie has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def _left(pid: int) -> "list[str]":
    """Files that a Python process has left in the folders where its windows are."""
    return [file for folder in ("/dev/shm", tempfile.gettempdir()) for file in glob.glob(f"{folder}/kernbench-{pid}-*")]


@unittest.skipUnless(os.path.isdir("/proc/self"), "needs /proc")
class ProcessTest(unittest.TestCase):
    def _python(self, text: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, text=True, env=os.environ
        )

    def test_killed_child_is_an_error_and_the_next_request_works(self) -> None:
        kb.run("hello-send")
        client = _client.client()
        torch = kb.open("tiny")
        torch.tensor([1.0])  # opens a window
        os.kill(client.process_id, signal.SIGKILL)
        with self.assertRaisesRegex(kb.ProcessEnded, "killed by signal 9"):
            client.ask({"do": "version"})
        torch.close()
        self.assertEqual(_left(os.getpid()), [])
        self.assertEqual(kb.run("hello-send").metrics.crit_ns, 178.354)
        self.assertNotEqual(_client.client().process_id, client.process_id)

    def test_killed_parent_leaves_no_child_and_no_file(self) -> None:
        for busy in (False, True):
            parent = self._python(
                f"""
                import kernbench as kb, threading, time
                from kernbench import _client
                torch = kb.open("tiny")
                torch.tensor([1.0])
                print(_client.client().process_id, flush=True)
                if {busy}:
                    kb.run("train-step")
                    kb.run("train-step")
                time.sleep(60)
                """
            )
            assert parent.stdout is not None
            child = parent.stdout.readline()
            if busy:
                time.sleep(0.5)
            parent.kill()
            parent.wait()
            parent.stdout.close()
            self.assertTrue(_gone(int(child)), f"child {child} is still there; busy: {busy}")
            self.assertEqual(_left(parent.pid), [])

    def test_end_of_python_ends_the_child(self) -> None:
        parent = self._python(
            """
            import kernbench as kb
            from kernbench import _client
            kb.run("hello-send")
            torch = kb.open("tiny")
            torch.tensor([1.0])
            print(_client.client().process_id, flush=True)
            """
        )
        out, _ = parent.communicate()
        self.assertEqual(parent.returncode, 0)
        self.assertTrue(_gone(int(out), 2))
        self.assertEqual(_left(parent.pid), [])

    def test_interrupt_then_the_next_request_works(self) -> None:
        old = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        try:
            kb.version()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(100):
                    kb.run("train-step", mode="time")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        self.assertEqual(kb.run("hello-send").metrics.crit_ns, 178.354)

    def test_options_that_java_does_not_take_are_named(self) -> None:
        kb.stop()
        with mock.patch.dict(os.environ, {"KERNBENCH_JAVA_OPTS": "-Xmx8gigabytes"}):
            with self.assertRaisesRegex(kb.ProcessEnded, "before it was ready.*KERNBENCH_JAVA_OPTS is '-Xmx8gigabytes'"):
                kb.run("hello-send")
        self.assertEqual(kb.run("hello-send").metrics.crit_ns, 178.354)

    def test_another_folder_is_where_relative_paths_start(self) -> None:
        here = os.getcwd()
        parts = os.environ.get("KERNBENCH_JAR", "").split(os.pathsep)
        relative = os.pathsep.join(os.path.relpath(part) for part in parts if part)  # meant from where this began
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"KERNBENCH_JAR": relative}):
            os.chdir(folder)
            try:
                kb.run("hello-send", out="kept")
                self.assertIn("result.json", os.listdir("kept"))
            finally:
                os.chdir(here)
                kb.stop()

    @unittest.skipUnless(os.path.isdir("/sys/kernel/mm/transparent_hugepage"), "needs large pages")
    def test_an_array_is_lent_until_its_tensor_is_closed(self) -> None:
        def held() -> float:
            """Memory of the child for which large pages were asked, in arrays."""
            with open(f"/proc/{_client.client().process_id}/smaps") as file:
                areas = file.read().split("VmFlags:")
            sizes = [int(re.findall(r"^Size: +(\d+) kB", area, re.M)[-1]) for area in areas[:-1]]
            asked = [" hg" in after.split("\n", 1)[0] for after in areas[1:]]
            return sum(size for size, is_asked in zip(sizes, asked) if is_asked) * 1024 / big.nbytes

        @tl.kernel
        def more(x: Any) -> None:
            tl.store(tl.shard(x).range(5, 10), tl.full((10,), -1, "i32"))

        big = np.arange(10 << 20, dtype="<i4").reshape(10 << 10, 1 << 10)
        with kb.open("sip-2026") as torch:
            for placement, lent in (("single", 1), ("row_wise", 1), ("replicate", 1), ("column_wise", 0)):
                x = torch.tensor(big, placement=placement)
                self.assertEqual(held(), lent, placement)
                self.assertTrue((x.numpy() == big).all(), placement)
                torch.launch(more, x)
                seen = x.numpy()
                self.assertTrue((seen != big).any() and (big.ravel()[5:15] == np.arange(5, 15)).all())
                big.ravel()[5] = 77  # the user's array and the tensor are two
                self.assertEqual(seen.ravel()[5], -1)
                big.ravel()[5] = 5
                x.close()
                self.assertEqual(held(), 0, placement)
            kept = torch.tensor(big)
            self.assertEqual(held(), 1, kept)
        self.assertEqual(held(), 0)

    def test_mangled_answers_are_errors(self) -> None:
        good = b'{"is":"done","kernbench":"1"}'
        random = np.random.default_rng(7)
        errors = 0
        for i in range(200):
            text = bytearray(good)
            for at in random.integers(0, len(text), 1 + i % 9):
                text[at] = random.integers(0, 256)
            head = len(text).to_bytes(4, "big") if i % 4 else random.bytes(4)
            said = _client.encoded({"is": "ready", "kernbench": "1"})
            child = mock.Mock(pid=1, stdout=io.BytesIO(len(said).to_bytes(4, "big") + said + head + bytes(text)))
            child.wait.return_value = 0
            with mock.patch("subprocess.Popen", return_value=child):
                client = _client.Client()
            try:
                client.ask({"do": "version"})
            except kb.KernbenchError:
                errors += 1  # and no other: whatever else is raised fails this test
        self.assertGreater(errors, 150)

    def test_stop_twice(self) -> None:
        kb.version()
        kb.stop()
        kb.stop()
        self.assertEqual(_left(os.getpid()), [])


if __name__ == "__main__":
    unittest.main()
