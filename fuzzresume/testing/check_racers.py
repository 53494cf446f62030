"""Racers: processes that write to one store at once, and whatever else is declared to race."""

from __future__ import annotations

from fuzzresume.contract.commands import UNITS, Command, Turn
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Token
from fuzzresume.testing.check_commands import refused
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Inapplicable, NotExpressed
from fuzzresume.testing.traces import DEFAULT, SECOND, plain

STOLEN = ("FileNotFoundError", "FileExistsError")
"""What a racer meets whose file another one has moved away or made before: they gave it the same name."""


def check_racers(lab: Lab) -> str:
    """Racers share the store and nothing else: a racer that is held anywhere finds its own files when it goes on."""
    if not lab.can.durable:
        raise Inapplicable("no other process can see a store in memory")
    begin, answer, *_ = plain(DEFAULT)
    racers = (answer, Command("resume", Token(DEFAULT.questions()[0], SECOND)))
    with lab.open(DEFAULT, "forked") as trial:
        try:
            trial.send(begin)
        except NotExpressed as reason:
            raise Inapplicable(reason.why) from reason
        races = 0
        hooks = [hook for hook in dict.fromkeys(lab.plain(DEFAULT).seen[1].hooks) if not hook.startswith("effect.")]
        for hook in hooks:
            # One is held there, the other goes from its beginning to its end, then the first goes on.
            _race(lab, trial, Command("race", racers=racers, turns=(Turn(0, hook), Turn(1))))
            races += 1
        for unit in UNITS[1:]:
            race = Command("race", racers=racers, unit=unit)
            if unit in lab.can.units:
                _race(lab, trial, race)
                races += 1
            else:
                with trial.copied(lab.folder()) as copy:
                    refused(copy, race)
    return f"{races} races of {', '.join(('processes', *lab.can.units))}"


def _race(lab: Lab, trial: Trial, race: Command) -> None:
    with trial.copied(lab.folder()) as copy:
        for number, racer in enumerate(copy.send(race).racers, 1):
            if _robbed(racer):
                outcome = racer.outcome
                words = f"racer {number} has lost a file to the other: {outcome.error}: {outcome.message}"
                raise copy.fails(f"{words}; temporary names must differ between processes")


def _robbed(racer: Observation) -> bool:
    return racer.outcome.kind == "refused" and racer.outcome.error in STOLEN
