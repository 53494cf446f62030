"""The fault switches: mechanisms by which an engine can break the contract (docs/CONTRACT.md, *switch* table).

A fault is a *may*: with its switch on, the mechanism can strike in any life and needs not. `properties` are the ones
that the mechanism breaks, the one it is named by first.
"""

from __future__ import annotations

from typing import NamedTuple

from fuzzresume.contract.commands import DELIVERIES

ANSWERS = DELIVERIES - {"fork"}
FORK = frozenset({"fork"})
RACE = frozenset({"race"})


class Fault(NamedTuple):
    """One switch: what goes wrong, and which properties that can break.

    `strikes_in` are the commands in which it can strike, with `crash` and `poison` for commands that carry them; empty
    where any command will do.
    """

    name: str
    mechanism: str
    properties: tuple[str, ...]
    strikes_in: frozenset[str] = frozenset()
    concurrent: bool = False


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("Replay", "the durable prefix is entered again and its effects fire again", ("EO", "PC", "CO")),
        Fault("PrefixReplay", "the durable prefix runs again, except effects of consumed gates", ("EO", "PC")),
        Fault("ReexecLast", "the last durable task runs again", ("EO", "PC", "CO")),
        Fault("SkipTask", "recovery treats a task that never completed as done", ("PC", "LV")),
        Fault("NondetRecovery", "two recoveries from one store decide differently", ("RD",), frozenset({"recover2"})),
        Fault("RefuseRecovery", "recovery refuses a store that the framework itself wrote, with work left", ("LV",)),
        Fault(
            "LateRecord",
            "records are not awaited, so several tasks are in doubt after one crash",
            ("EO",),
            frozenset({"crash", "poison"}),
        ),
        Fault("ParkLost", "a parked question does not survive", ("LV", "RS")),
        Fault("AnswerLost", "an acknowledged answer does not survive and is asked for again", ("CO",), DELIVERIES),
        Fault("ForkIgnore", "a fork is served an earlier answer, or only the trunk's status", ("FD",), FORK),
        Fault("ForkLeak", "a fork's answer reaches the trunk", ("FD",), FORK),
        Fault("DoubleConsume", "a delivery that must be inert is consumed again", ("CO", "EO", "PC"), ANSWERS),
        Fault("StrayPoisons", "a refused or inert delivery changes what later commands do", ("CO", "LV"), ANSWERS),
        Fault("Misroute", "an answer is served to another question than its own", ("CO",), DELIVERIES),
        Fault("InvalidPersist", "an invalid state becomes durable", ("CV",), frozenset({"poison"})),
        Fault("TamperAccept", "a damaged store is continued from", ("CV",), frozenset({"tamper"})),
        Fault("InspectActs", "inspection runs tasks or moves the frontier", ("IN",), frozenset({"inspect"})),
        Fault("RestartMix", "a restart mixes its meanings", ("RS",), frozenset({"start", "restart"})),
        Fault("ConcurrentConsume", "a second concurrent delivery is accepted too", ("CO",), RACE, concurrent=True),
        Fault("RaceEffect", "a second concurrent delivery fires the effect too", ("CO", "EO"), RACE, concurrent=True),
    )
}

SEQUENTIAL: tuple[str, ...] = tuple(name for name, fault in FAULTS.items() if not fault.concurrent)
"""The switches that one process can show, in the order in which explanations are tried."""

NONE: frozenset[str] = frozenset()
