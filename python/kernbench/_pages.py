"""Pages and figures that kernbench writes, as objects that a notebook shows."""
from __future__ import annotations

import html
import os
from pathlib import Path
from typing import List, Union


class Figure:
    """A drawing as SVG; a notebook shows it."""

    def __init__(self, name: str, svg: str) -> None:
        #: Name of its file, without the ending.
        self.name = name
        #: The drawing.
        self.svg = svg

    def save(self, file: "Union[str, os.PathLike[str]]") -> None:
        """Writes the SVG."""
        Path(file).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.name}, {len(self.svg) / 1024:,.0f} KiB)"


def figures(folder: "Union[str, os.PathLike[str]]") -> List[Figure]:
    """The figures that a bench has written to the folder of its ``out``, in the order of their names."""
    return [Figure(file.stem, file.read_text(encoding="utf-8")) for file in sorted(Path(folder).glob("*.svg"))]


class Report:
    """The page that ``kernbench report`` writes. A notebook shows it in a frame of its own; it asks no network."""

    def __init__(self, page: str) -> None:
        #: All of the page.
        self.html = page

    def save(self, file: "Union[str, os.PathLike[str]]") -> None:
        """Writes the page, to be opened in a browser."""
        Path(file).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:1px solid #ccc"'
            f' title="kernbench report" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html) / 1024:,.0f} KiB of HTML)"
