"""The race table as a person reads it, and as JSON (schema `fuzzresume.race/1`)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec
from rich.table import Table

from fuzzresume.campaign.race_table import Cell
from fuzzresume.harness.target import Target

SCHEMA = "fuzzresume.race/1"


class Row(msgspec.Struct, frozen=True):
    """One cell: racers, dose in milliseconds (none: held at the gate), and the counts of each repetition."""

    racers: int
    held: bool
    gate_ms: float | None
    jitter_ms: float | None
    effects: list[int]
    told: list[int]
    replies: dict[str, int]
    hung: int


class RaceFile(msgspec.Struct, frozen=True):
    """The document. `broken` maps codes of the contract to what was seen; `exit_code` is the command's own."""

    schema: str
    target: str
    packages: dict[str, str]
    options: dict[str, str]
    over: str
    unit: str
    seed: int
    rows: list[Row]
    broken: dict[str, str]
    exit_code: int


def race_json(
    target: Target, over: str, unit: str, seed: int, cells: Sequence[Cell], broken: Mapping[str, str], exit_code: int
) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    rows = [
        Row(
            cell.racers, cell.held, _ms(cell.dwell), _ms(cell.jitter), cell.effects, cell.told, dict(cell.replies), cell.hung
        )
        for cell in cells
    ]
    packages, options = dict(target.packages), dict(target.options)
    document = RaceFile(SCHEMA, target.label, packages, options, over, unit, seed, rows, dict(broken), int(exit_code))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def race_table(cells: Sequence[Cell]) -> Table:
    """A row for each number of racers and dose."""
    table = Table("racers", "how", "effects", "told consumed", "replies", title_justify="left")
    for cell in cells:
        replies = ", ".join(f"{kind} {number}" for kind, number in sorted(cell.replies.items()))
        table.add_row(str(cell.racers), say_dose(cell), spread(cell.effects), spread(cell.told), replies)
    return table


def say_dose(cell: Cell) -> str:
    """`held`, or such as `gate 20 ms, apart 5 ms` for racers that were let go."""
    if cell.dwell is None or cell.jitter is None:
        return "held"
    return f"gate {cell.dwell * 1000:g} ms, apart {cell.jitter * 1000:g} ms"


def spread(counts: Sequence[int]) -> str:
    """Such as `2 in each of 20` or `1 to 4, median 2`."""
    if not counts:
        return "-"
    if min(counts) == max(counts):
        return f"{counts[0]} in each of {len(counts)}"
    return f"{min(counts)} to {max(counts)}, median {statistics.median(counts):g}"


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
