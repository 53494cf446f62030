"""(h) Races: how many effects fire behind one question, and how many races a second the scheduler of racers makes.

The counts are exact for held racers and a measurement for those that are let go; the in-tree engine, beside them, owes one.
"""

from __future__ import annotations

import time
from statistics import median

from bench.place import place
from bench.results import Row, Target
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.race_table import WORKLOAD, Cell, run_table
from fuzzresume.contract.reference import Reference
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import parse_target

DOSES = ((0.0, 0.0), (0.02, 0.02))
"""How long the effect takes, and how far apart racers start, in seconds."""


def benchmark(quick: bool) -> list[Row]:
    """The rows of (h)."""
    racers, times = ((2,), 2) if quick else ((2, 4, 8), 20)
    cells: dict[str, list[Cell]] = {}
    seconds: dict[str, float] = {}
    with place() as folder, Zygotes() as zygotes:
        executor = Executor(Reference(WORKLOAD), folder, zygotes)
        for name in ("langgraph", "reference"):
            target = parse_target(name)
            list(run_table(target, executor, (2,), (), 1, 0))  # the first race imports the framework
            began = time.perf_counter()
            cells[name] = list(run_table(target, executor, racers, DOSES, times, 0))
            seconds[name] = time.perf_counter() - began
    rows = []
    for ours, engine in zip(cells["langgraph"], cells["reference"], strict=True):
        how = "held at the gate" if ours.held else f"let go, gate {1000 * (ours.dwell or 0):g} ms"
        rows.append(
            Row(
                "h",
                f"LangGraph, {ours.racers} racers {how}: effects",
                median(ours.effects),
                "effects",
                times,
                None,
                "the in-tree engine",
                max(engine.effects),
            )
        )
    most = max(count for cell in cells["reference"] for count in (*cell.effects, *cell.told))
    least = min(count for cell in cells["reference"] for count in cell.effects)
    races = len(cells["reference"]) * times
    rate, other = (races / seconds[name] for name in ("langgraph", "reference"))
    return [
        *rows,
        Row("h", "the in-tree engine: most effects of any race", most, "effects", races, Target("<=", 1)),
        Row("h", "the in-tree engine: fewest effects of any race", least, "effects", races, Target(">=", 1)),
        Row("h", "races of LangGraph", rate, "races/s", times, None, "the in-tree engine", other),
    ]
