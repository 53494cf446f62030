"""Work that is counted and not timed, spread over two processes: seeds have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")

WORKERS = 2


def apart(work: Callable[..., T], arguments: Iterable[tuple[object, ...]]) -> list[T]:
    """`work(*one)` for each of the arguments, in their order. `work` and all that it takes and gives must be picklable."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        return [done.result() for done in [pool.submit(work, *one) for one in arguments]]
