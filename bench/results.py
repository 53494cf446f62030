"""The result of a benchmark as a typed row, and rows as a table and as JSON (`fuzzresume.bench/1`)."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, Literal

from rich.table import Table

SCHEMA = "fuzzresume.bench/1"

PACKAGES = ("fuzzresume", "hypothesis", "langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "msgspec")
"""The packages whose versions decide the figures."""

Met = Literal["yes", "no", "no target"]


@dataclass(frozen=True, slots=True)
class Target:
    """The figure that a value has to reach: `>=` at least, `<=` at most."""

    direction: Literal[">=", "<="]
    figure: float


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: the median of `repetitions` measurements, in `unit`.

    `alternative` names what was measured beside it, in the same unit and the same run; None where nothing compares. A
    value of None was never reached, and neither was that of an alternative that has a name.
    """

    letter: str
    name: str
    value: float | None
    unit: str
    repetitions: int
    target: Target | None = None
    alternative: str | None = None
    alternative_value: float | None = None

    @property
    def met(self) -> Met:
        """Whether the value reaches its target."""
        if self.target is None:
            return "no target"
        if self.value is None:
            return "no"
        figure = self.target.figure
        return "yes" if (self.value >= figure if self.target.direction == ">=" else self.value <= figure) else "no"


def versions() -> dict[str, str]:
    """Python and the installed packages; one that is absent is left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def document(rows: Iterable[Row], *, quick: bool) -> dict[str, Any]:
    """The rows as plain data. `quick`: measured with few repetitions, so no figures to quote."""
    return {
        "schema": SCHEMA,
        "quick": quick,
        "versions": versions(),
        "cpus": os.cpu_count(),
        "rows": [asdict(row) | {"met": row.met} for row in rows],
    }


def write(rows: Iterable[Row], path: Path, *, quick: bool) -> None:
    """Write the rows to `path`. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(rows, quick=quick), indent=2) + "\n")


def read(path: Path) -> list[Row]:
    """The rows of a file. Raises OSError or ValueError, for instance when it was a quick run's."""
    found = json.loads(path.read_text())
    if found["schema"] != SCHEMA or found["quick"] or found["versions"] != versions():
        raise ValueError(f"{path} holds quick figures, or those of other versions")
    return rows_of(found)


def rows_of(found: dict[str, Any]) -> list[Row]:
    """The rows of a document."""
    plain = [{name: value for name, value in row.items() if name != "met"} for row in found["rows"]]
    return [Row(**{**row, "target": Target(**row["target"]) if row["target"] else None}) for row in plain]


def table(rows: Iterable[Row]) -> Table:
    """The rows for a terminal."""
    shown = Table(title="fuzzresume bench", caption="beside it: the alternative, measured in the same run and unit")
    for heading in ("", "figure", "value", "target", "beside it", "n"):
        shown.add_column(heading, justify="right" if heading in ("value", "n") else "left")
    for row in rows:
        target = f"{row.target.direction} {number(row.target.figure)}: {row.met}" if row.target else "-"
        other = "-" if row.alternative is None else f"{row.alternative}: {number(row.alternative_value)}"
        style = {"yes": "green", "no": "red", "no target": ""}[row.met]
        value = number(row.value) if row.value is None else f"{number(row.value)} {row.unit}"
        shown.add_row(row.letter, row.name, value, target, other, str(row.repetitions), style=style)
    return shown


def middle(figures: Iterable[float]) -> float | None:
    """The median of figures that are infinite where something never happened; None where that is the median."""
    found = median(figures)
    return None if found == inf else found


def number(value: float | None) -> str:
    """Three significant digits, thousands apart: `0.0123`, `1.04`, `118`, `1,320`; `not reached` where there is none."""
    if value is None:
        return "not reached"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
