"""Results as objects: the fields are those of the JSON (docs/results.md)."""
from __future__ import annotations

import html
import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ._pages import Figure, figures


class Record(Mapping[str, Any]):
    """A JSON object: ``record["crit_ns"]`` and ``record.crit_ns`` are the same."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {name: _wrap(value) for name, value in fields.items()}

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            known = ", ".join(self._fields)
            raise AttributeError(f"no field {name}; there are {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._fields})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"

    def to_dict(self) -> Dict[str, Any]:
        """Plain dicts and lists, as ``json.loads`` gives them."""
        return {name: _plain(value) for name, value in self._fields.items()}

    def _repr_html_(self) -> str:
        return _html_pairs(self._fields)


def _wrap(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Record(value)
    if isinstance(value, list):
        items = [_wrap(item) for item in value]
        return Table(items) if items and all(isinstance(item, Record) for item in items) else items
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (list, Table)):
        return [_plain(item) for item in value]
    return value


class Table(Sequence[Record]):
    """Rows of equal kind. ``table[3]`` is a row, ``table["crit_ns"]`` a column as a numpy array."""

    def __init__(self, rows: "Sequence[Record]") -> None:
        self._rows = list(rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(f"no column {key}; there are {', '.join(self.columns)}")
            import numpy as np  # here, so that the simulator starts before numpy is loaded

            return np.array([row.get(key) for row in self._rows])
        return Table(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> List[str]:
        """Their names, in the order in which they first stand in a row."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``; needs pandas.

        :raises ImportError: if pandas is not installed
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        return pandas.DataFrame([_plain(row) for row in self._rows], columns=self.columns)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        return _html_table(self.columns, self._rows)


class Result(Record):
    """What a run gave. Its fields are those of the JSON: ``result.metrics.crit_ns``, ``result.breakdown``."""

    def __init__(
        self, fields: Mapping[str, Any], how: "Optional[List[str]]" = None, folder: Optional[str] = None
    ) -> None:
        super().__init__(fields)
        self._how = how or []
        self._folder = folder

    @property
    def ok(self) -> bool:
        """Whether values are right, no bound is violated, and nothing was found wrong."""
        return bool(self.get("status", "ok") == "ok")

    @property
    def op_log_hash(self) -> str:
        """Equal hashes: the same operations at the same times."""
        return str(self["sim"]["op_log_hash"]) if "sim" in self else ""

    @property
    def figures(self) -> List[Figure]:
        """What a bench with figures has drawn into the folder ``out``; none without."""
        return figures(self._folder) if self._folder is not None else []

    def to_pandas(self) -> Any:
        """The rows of a bench of many points, else the breakdown of the time, as a DataFrame."""
        table = self.get("rows") or self.get("breakdown")
        return (table if isinstance(table, Table) else Table([])).to_pandas()

    def __repr__(self) -> str:
        crit = self.get("metrics", {}).get("crit_ns")
        time = f", {crit:,.3f} ns" if isinstance(crit, (int, float)) else ""
        return f"Result({self.get('bench')} on {self.get('machine', {}).get('name')}: {self.get('status')}{time})"

    def _repr_html_(self) -> str:
        crit = self.get("metrics", {}).get("crit_ns")
        head = f"{crit:,.3f} ns" if isinstance(crit, (int, float)) else str(self.get("status", ""))
        parts = [
            f"<h4>{html.escape(str(self.get('bench', '')))} on "
            f"{html.escape(str(self.get('machine', {}).get('name', '')))}: {html.escape(head)}</h4>"
        ]
        for problem in self.get("problems", []):
            parts.append(f"<p><b>{html.escape(str(problem))}</b></p>")
        if "metrics" in self:
            parts.append(_html_pairs(self["metrics"]))
        if isinstance(self.get("breakdown"), Table):
            parts.append(_bars(self["breakdown"]))
        if isinstance(self.get("rows"), Table):
            parts.append(self["rows"]._repr_html_())
        parts += [figure.svg for figure in self.figures]
        return "\n".join(parts)


class Explanation(Record):
    """Why a run took its time, as ``kernbench explain --format json`` has it."""

    def _repr_html_(self) -> str:
        why = "".join(f"<li>{html.escape(str(line))}</li>" for line in self.get("why", []))
        tables = [
            f"<h5>{html.escape(name)}</h5>{value[:12]._repr_html_()}"
            for name, value in self._fields.items()
            if isinstance(value, Table)
        ]
        return f"<ul>{why}</ul>" + "\n".join(tables)


class Sweep(Table):
    """The rows of a sweep, in the order of the grid.

    :ivar failed: what was wrong with points that failed, one message each; usually empty
    """

    def __init__(
        self, fields: Mapping[str, Any], failed: "Optional[List[str]]" = None, folder: Optional[str] = None
    ) -> None:
        super().__init__([Record(row) for row in fields["rows"]])
        self.bench = str(fields["bench"])
        self.axes = {name: list(values) for name, values in fields["axes"].items()}
        self.failed = failed or []
        self._folder = folder

    def __repr__(self) -> str:
        axes = " x ".join(f"{name} ({len(values)})" for name, values in self.axes.items())
        return f"Sweep({self.bench}: {axes}, {len(self)} rows)"


# ---- HTML: no script, no network, everything escaped ----


def _text(value: Any) -> str:
    if isinstance(value, float):
        return html.escape(f"{value:,.6g}" if abs(value) < 1 else f"{value:,.3f}")
    if isinstance(value, (Record, Table, list)):
        return html.escape(json.dumps(_plain(value))[:120])
    return html.escape(str(value))


def _html_pairs(fields: Mapping[str, Any]) -> str:
    rows = "".join(f"<tr><th>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in fields.items())
    return f"<table>{rows}</table>"


def _html_table(columns: Sequence[str], rows: Sequence[Record]) -> str:
    head = "".join(f"<th>{_text(c)}</th>" for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(row.get(c, ''))}</td>" for c in columns) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _bars(breakdown: Table) -> str:
    """Where the time went, one bar for each cause, as SVG."""
    height = 20
    lines = []
    for i, row in enumerate(breakdown):
        width = 300 * float(row["share"])
        y = i * height
        label = f"{row['cause']}: {row['ns']:,.3f} ns ({100 * row['share']:.1f} %), {row.get('place', '')}"
        lines.append(
            f'<rect x="0" y="{y + 3}" width="{width:.1f}" height="{height - 6}" fill="#4878a8"/>'
            f'<text x="{width + 6:.1f}" y="{y + 14}" font-size="12">{html.escape(label)}</text>'
        )
    total = max(1, len(breakdown)) * height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{total}" role="img"'
        f' aria-label="where the time went">{"".join(lines)}</svg>'
    )
