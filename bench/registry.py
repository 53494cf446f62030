"""Which benchmarks there are: a letter, and a function that measures (quick or not) and returns rows."""

from __future__ import annotations

from collections.abc import Callable

from bench import contract, crashes, endurance, mutants, overhead, pairs, races, workers
from bench.results import Row

Benchmark = Callable[[bool], list[Row]]

BENCHMARKS: dict[str, Benchmark] = {
    "a": pairs.benchmark,
    "b": mutants.benchmark,
    "c": crashes.benchmark,
    "d": overhead.benchmark,
    "e": contract.benchmark,
    "f": workers.benchmark,
    "g": endurance.benchmark,
    "h": races.benchmark,
}
