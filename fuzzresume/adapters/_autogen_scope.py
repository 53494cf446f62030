"""What AutoGen takes from its surroundings, per call of a life: identifiers and times of messages; and its logging.

It reads both through module attributes, so these are replaced once, by ones that ask a context variable and do the original
thing outside a `scoped` block. asyncio copies the context into the tasks of a run.
"""

from __future__ import annotations

import logging
import uuid
from contextlib import AbstractContextManager
from contextvars import ContextVar
from datetime import datetime, tzinfo
from typing import Any

from autogen_agentchat import messages
from autogen_agentchat.agents import _assistant_agent

from fuzzresume.adapters._surroundings import during, moment

# Not AutoGen's interface, so nothing is typed.
_MESSAGES: Any = messages
_ASSISTANT: Any = _assistant_agent


class Clock:
    """Time and identifiers of one life: strictly increasing, and the same in every execution of one trace."""

    def __init__(self) -> None:
        self._tick = 0

    def catch_up(self, tick: int) -> None:
        """Go on from `tick`, if the clock has not passed it yet."""
        self._tick = max(self._tick, tick)

    def uuid4(self) -> uuid.UUID:
        """The next identifier."""
        self._tick += 1
        return uuid.UUID(int=self._tick, version=4)

    def now(self, zone: tzinfo | None) -> datetime:
        """The tick as a time, one second each."""
        self._tick += 1
        return moment(self._tick, zone)


_CLOCK: ContextVar[Clock | None] = ContextVar("fuzzresume_autogen_clock", default=None)


def scoped(clock: Clock) -> AbstractContextManager[None]:
    """Give AutoGen `clock` for the calls made inside."""
    return during(_CLOCK, clock)


class _Identifiers:
    """Stands for the module `uuid`."""

    @staticmethod
    def uuid4() -> uuid.UUID:
        clock = _CLOCK.get()
        return uuid.uuid4() if clock is None else clock.uuid4()


class _Time(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        clock = _CLOCK.get()
        return datetime.now(tz) if clock is None else clock.now(tz)


def _install() -> None:
    """Replace AutoGen's module attributes by the context-aware ones, and silence its logging.

    It logs the error of every agent with its traceback, and every message it passes on.
    """
    _MESSAGES.uuid = _ASSISTANT.uuid = _Identifiers
    _MESSAGES.datetime = _Time
    for name in ("autogen_core", "autogen_agentchat"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


_install()
