"""Runs the notebooks of ``examples/notebooks`` as Jupyter would: cell by cell, what a cell prints and its last value.

``python -m tests.notebooks`` writes their outputs anew; ``test_notebooks.py`` compares them.
"""
from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"


def notebooks() -> List[Path]:
    """All of them."""
    return sorted(FOLDER.glob("*.ipynb"))


def _lines(text: str) -> List[str]:
    return text.splitlines(keepends=True)


def _shown(value: Any, count: int) -> Dict[str, Any]:
    """The value of a cell's last expression, as a notebook keeps it."""
    data: Dict[str, Any] = {}
    for kind, name in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        if hasattr(value, name):
            data[kind] = _lines(getattr(value, name)())
    data["text/plain"] = _lines(repr(value))
    return {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _cell(source: str, names: Dict[str, Any], count: int) -> List[Dict[str, Any]]:
    """What a cell gives. Raises what it raises."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: List[Dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        outputs.append(_shown(value, count))
    return outputs


def run(notebook: Path) -> Dict[str, Any]:
    """The notebook with the outputs that its cells give now, in an empty folder."""
    book: Dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    names: Dict[str, Any] = {"__name__": "__main__"}
    count = 0
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in book["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    cell["outputs"] = _cell("".join(cell["source"]), names, count)
                    cell["execution_count"] = count
        finally:
            os.chdir(here)
    return book


if __name__ == "__main__":
    for each in notebooks():
        each.write_text(json.dumps(run(each), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
