"""The examples of docs/python.md, run one after the other; what they print stands there."""
from __future__ import annotations

import contextlib
import io
import re
import unittest
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


class GuideTest(unittest.TestCase):
    def test_examples_print_what_the_guide_shows(self) -> None:
        blocks = re.findall(r"^```(python|text)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
        names: "dict[str, object]" = {"__name__": "guide"}
        printed = io.StringIO()
        compared = 0
        for language, text in blocks:
            if language == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(text, "python.md", "exec"), names)
            else:
                self.assertEqual(printed.getvalue(), text)
                compared += 1
        self.assertGreaterEqual(compared, 5)


if __name__ == "__main__":
    unittest.main()
