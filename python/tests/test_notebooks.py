"""The notebooks of ``examples/notebooks``: their cells run, and give the outputs that stand there."""
from __future__ import annotations

import json
import re
import unittest

from . import notebooks


class NotebooksTest(unittest.TestCase):
    def test_cells_give_what_stands_there(self) -> None:
        self.assertGreaterEqual(len(notebooks.notebooks()), 2)
        for notebook in notebooks.notebooks():
            stands = json.loads(notebook.read_text(encoding="utf-8"))
            now = notebooks.run(notebook)
            self.assertEqual((stands["nbformat"], stands["metadata"]["language_info"]["name"]), (4, "python"))
            self.assertLess(notebook.stat().st_size, 100_000, "small enough to review")
            for old, new in zip(stands["cells"], now["cells"]):
                self.assertEqual(old, new, f"{notebook.name}; if that is meant: python -m tests.notebooks")

    def test_outputs_ask_no_network(self) -> None:
        for notebook in notebooks.notebooks():
            text = notebook.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            self.assertFalse(re.search(r"https?:|<script|src=", text), notebook.name)


if __name__ == "__main__":
    unittest.main()
