"""Ctrl-C, and the signals that mean the same: a command ends what runs and reports what it found until then."""

from __future__ import annotations

import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def listen() -> None:
    """From now on the first of the signals raises KeyboardInterrupt in what runs, and later ones are ignored."""
    for number in SIGNALS:
        signal.signal(number, _interrupt_once)
    sys.unraisablehook = _unraisable


def _interrupt_once(number: int, frame: object) -> None:
    """The first signal ends what runs, with everything found so far; later ones must not cut the report short."""
    for again in SIGNALS:
        signal.signal(again, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Whom the signal met in a destructor or in a callback of the garbage collector, Python lets go on as if there had been
    none, and another signal would be ignored: so the interrupt is raised anew by whatever is called next."""
    if issubclass(what.exc_type, KeyboardInterrupt):
        sys.setprofile(_anew)
    else:
        sys.__unraisablehook__(what)


def _anew(frame: FrameType, event: str, arg: object) -> None:
    if event == "call":
        sys.setprofile(None)
        raise KeyboardInterrupt
