"""A time limit for calls in this process, so that a framework that never comes back does not end a campaign.

Workers are killed; a call in the controller's own process can only be interrupted. A timer's signal does that: it breaks
off waits, locks and sleeps of the main thread. Elsewhere there is no limit. To set a timer for every call would cost more
than all the rest of the harness; so one ticks, and looks whether the present call is overdue. Where it finds no call, it
stops.
"""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

DEFAULT_LIMIT = 30.0
"""Seconds that one command may take before the outcome is hung."""

TICK = 1.0
"""Seconds between two looks at most; a call that swallowed its interruption is interrupted again at the next one."""


class Overdue(SystemExit):
    """The limit is over. A SystemExit, for the same reasons as `env.Crash`."""


class _Ticker:
    """The timer: ticking or not, and the call that it watches."""

    def __init__(self) -> None:
        self.call: tuple[float, float, Callable[[], None]] | None = None
        self._every = 0.0
        self._before: Any = signal.SIG_DFL

    def ticks(self, every: float) -> bool:
        """See to it that somebody looks that often; False where somebody else uses the timer."""
        if 0 < self._every <= every:
            return True
        if not self._every:
            if signal.getitimer(signal.ITIMER_REAL)[0]:
                return False
            self._before = signal.signal(signal.SIGALRM, self._look)
        self._every = every
        signal.setitimer(signal.ITIMER_REAL, every, every)
        return True

    def stop(self) -> None:
        """Tick no more, and give the signal back."""
        if self._every:
            self._every = 0.0
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _look(self, number: int, frame: object) -> None:
        if self.call is None:
            self.stop()
            return
        until, seconds, ring = self.call
        if time.monotonic() >= until:
            ring()
            raise Overdue(f"no reply after {seconds:g} s")


TICKER = _Ticker()

# An interpreter that ends gives its signals back first: a tick after that would kill it.
atexit.register(TICKER.stop)


def within(seconds: float, ring: Callable[[], None], work: Callable[[], T]) -> T:
    """What `work` returns. Calls `ring` and raises Overdue inside of it when it takes longer than `seconds`, again and
    again until it ends.

    It may be noticed a tick late. There is no limit outside of the main thread, inside of another one, or where somebody
    else uses the timer.
    """
    free = threading.current_thread() is threading.main_thread() and TICKER.call is None
    if not free or not TICKER.ticks(min(seconds, TICK)):
        return work()
    TICKER.call = time.monotonic() + seconds, seconds, ring
    # No context manager, which would cost more than the watch: an interruption has no gap here before the call's end.
    try:
        return work()
    finally:
        TICKER.call = None
