"""Which fault switches the rule of a command looks at: the others change nothing in it, and share what is remembered."""

from __future__ import annotations

from fuzzresume.contract.commands import Command
from fuzzresume.contract.faults import FAULTS, NONE
from fuzzresume.contract.life import WITHIN, Faults
from fuzzresume.contract.state import State

_DELIVERING = WITHIN | {"ParkLost", "AnswerLost", "DoubleConsume", "StrayPoisons"}
_GOING_ON = WITHIN | {"ParkLost", "AnswerLost", "RefuseRecovery"}

HEEDED: dict[str, Faults] = {
    "start": _GOING_ON | {"RestartMix"},
    "resume": _DELIVERING,
    "redeliver": _DELIVERING,
    "stray": _DELIVERING,
    "fork": WITHIN | {"ForkIgnore", "ForkLeak"},
    "recover": _GOING_ON,
    "retry": _GOING_ON,
    "recover2": _GOING_ON | {"NondetRecovery"},
    "restart": _GOING_ON | {"RestartMix"},
    "race": frozenset(FAULTS),
    "inspect": frozenset({"InspectActs", "Replay", "Misroute", "InvalidPersist", "LateRecord"}),
    "reload": NONE,
    "tamper": NONE,
}
"""The switches that the rule of each command asks for (`Reference`), where nothing was tampered with."""


def heeded(state: State, command: Command) -> Faults:
    """The switches that can make a difference to this command in this state."""
    names = HEEDED[command.op]
    if state.tampered is not None:
        names = names | {"TamperAccept"}
    if command.op == "race" or command.poison is not None:
        return names
    return names - ({"InvalidPersist"} if command.crash is not None else {"InvalidPersist", "LateRecord"})
