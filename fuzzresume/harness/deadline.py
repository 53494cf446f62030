"""A time limit for calls in this process, so that a framework that never comes back does not end a campaign.

Workers are killed; a call in the controller's own process can only be interrupted. A timer's signal does that: it breaks
off waits, locks and sleeps of the main thread. Elsewhere there is no limit.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

DEFAULT_LIMIT = 30.0
"""Seconds that one command may take before the outcome is hung."""

AGAIN = 1.0
"""Seconds after which a call that swallowed its interruption is interrupted again."""


class Overdue(SystemExit):
    """The limit is over. A SystemExit, for the same reasons as `env.Crash`."""


@contextlib.contextmanager
def deadline(seconds: float, ring: Callable[[], None]) -> Iterator[None]:
    """Call `ring` and raise Overdue inside the block when it takes longer than `seconds`, again and again until it ends.

    Does nothing outside of the main thread, or where somebody else uses the timer.
    """
    taken = threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]
    if taken:
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        ring()
        raise Overdue(f"no reply after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
