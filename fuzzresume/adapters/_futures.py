"""Futures that are settled by whoever runs the work, for adapters that run a framework's pool in the calling thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def settle(future: Future[Any], work: Callable[[], Any]) -> None:
    """Run `work` now. An exception ends up in the future.

    A death (any other BaseException) passes through to the caller too; it is in the future as well, because frameworks that
    unwind wait for every future they were given.
    """
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        future.set_result(result)
