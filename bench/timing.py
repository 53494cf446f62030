"""Measuring: alternatives take turns within each repetition, so that a noisy moment of the machine meets them all."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from bench.results import Row


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def only_own_garbage() -> Iterator[None]:
    """What is in memory already (frameworks, recordings) is not gone through for garbage while the body is measured."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def alternate(ways: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """Seconds of each repetition of each way, after one that is not counted. Every other repetition goes backwards."""
    for work in ways.values():
        work()
    names = list(ways)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for repetition in range(repetitions):
        for name in names if repetition % 2 == 0 else reversed(names):
            found[name].append(seconds(ways[name]))
    return found


PASSES = 200_000
MACHINE = "the machine: a bare Python loop"
"""What a row is called that tells how fast the machine was."""


def bare_loop() -> None:
    """What no version of fuzzresume makes faster: tuples made, hashed and found again, as the judge does all the time."""
    known: dict[tuple[int, tuple[str, int]], tuple[int, ...]] = {}
    for number in range(PASSES):
        key = (number % 10, ("task", number % 100))
        known[key] = (*known.get(key, ())[:3], number)


def machine(letter: str, times: list[float]) -> Row:
    """The row of a bare loop that took its turns among what was measured."""
    return Row(letter, f"{MACHINE}, during ({letter})", rate(PASSES, times) / 1e6, "million passes/s", len(times))


def rate(count: int, times: list[float]) -> float:
    """Things per second, by the median of the times that `count` of them took."""
    return count / median(times)
