"""The cache of the fast start: made once beside the first program, and nothing of it is left where that is killed."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from kernbench import _java

SCRIPT = """
import os, signal
from kernbench import _java, _preparation
_java.class_path = lambda: os.environ["JAR"]
_preparation.begin()
print(_preparation._process.pid, flush=True)
{then}
"""


def _jar(folder: str) -> str:
    """A jar that is no program: what is tried with it ends at once."""
    jar = Path(folder, "kernbench.jar")
    jar.write_bytes(b"no jar")
    return str(jar)


class PreparationTest(unittest.TestCase):
    def _start(self, folder: str, then: str, jar: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "JAR": jar}
        environment.pop("KERNBENCH_NO_CACHE", None)
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT.format(then=then)], stdout=subprocess.PIPE, text=True, env=environment
        )

    def test_there_is_no_cache_where_none_is_wanted(self) -> None:
        jdk = _java.find_jdk()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ):
            jar = _jar(folder)
            os.environ.pop("KERNBENCH_NO_CACHE", None)
            self.assertIsNotNone(_java.cache(jdk, jar))
            self.assertIsNone(_java.cache(jdk, jar + os.pathsep + jar))
            for name, value in (("KERNBENCH_NO_CACHE", "1"), ("KERNBENCH_JAVA_OPTS", "-XX:AOTMode=off")):
                with unittest.mock.patch.dict(os.environ, {name: value}):
                    self.assertIsNone(_java.cache(jdk, jar))

    @unittest.skipUnless(os.path.isfile(os.environ.get("KERNBENCH_JAR", "")), "needs one jar, not a class path")
    @unittest.skipUnless(os.path.isdir("/proc/self"), "needs /proc")
    def test_a_kill_leaves_nothing_and_a_regular_end_leaves_the_cache(self) -> None:
        jar = os.environ["KERNBENCH_JAR"]
        for then, left in (("os.kill(os.getpid(), signal.SIGKILL)", 0), ("", 1)):
            with tempfile.TemporaryDirectory() as folder:
                parent = self._start(folder, then, jar)
                out, _ = parent.communicate()
                end = time.monotonic() + 60
                while _children_of(int(out)) and time.monotonic() < end:
                    time.sleep(0.1)
                files = list(Path(folder, "kernbench").iterdir())
                self.assertEqual(len(files), left, files)
                self.assertTrue(all(file.suffix == ".aot" and file.stat().st_size > 1 << 20 for file in files))


def _children_of(session: int) -> bool:
    """Whether a process of a session is still there."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            return True
    return False


if __name__ == "__main__":
    unittest.main()
