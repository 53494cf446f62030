"""The race phase: two racers and three, at every question, recovery and fork, in every inequivalent interleaving that
switches seldom (docs/DESIGN.md, *Searching*).

Between two of its calls into the store a racer touches nothing that others see, so a racer is interrupted only behind such a
call: at hooks named `….after`. All interleavings with one switch come first, of every kind of race and every option set,
which make the simplest traces; then every order of the racers' parts (read, consume, record), and those with two switches.
Racers are processes, and after them whatever else a target's racers can be.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from fuzzresume.campaign.interleavings import interleavings, parts
from fuzzresume.contract.commands import UNITS, Command, CrashPoint, Turn, Unit
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.run import Run
from fuzzresume.harness.target import Target

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Campaign

AFTERMATH = 6
"""Commands sent at most after a race, until the run is complete."""


How = Literal["that switches once", "of their parts", "that switches twice"]

STAGES: tuple[tuple[int, How, Unit], ...] = (
    *((racers, "that switches once", unit) for racers in (2, 3) for unit in UNITS),
    *((racers, how, "processes") for racers in (2, 3) for how in get_args(How)[1:]),
)
"""Racers, which of their interleavings, and what racers are, in the order in which they are gone through.

All but the first make by far the most races, and are left to processes.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of race: what is sent before it, who races, and what the racers are."""

    before: tuple[Command, ...]
    racers: tuple[Command, ...]
    unit: Unit = "processes"


def kinds(workload: Workload, racers: int) -> Iterator[Kind]:
    """Every kind of race with that many racers, in a stable order: answers at each question, equal and different ones;
    recoveries and answers after a death at each gate; forks beside each other and beside an answer."""
    start, recover = Command("start"), Command("recover")
    for question in workload.questions():
        asked = (start, *_answers(workload, question))
        fresh = _deliveries("resume", question, racers)
        yield Kind(asked, fresh)
        yield Kind(asked, fresh[:1] * racers)
        last = question == workload.questions(question.task)[-1]
        answer = Command("resume", Token(question, 1))
        if last:
            dead = Command("resume", Token(question, 1), crash=CrashPoint(f"effect.after:{question.task}"))
            yield Kind((*asked, dead), (recover,) * racers)
            yield Kind((*asked, dead), (recover, *_deliveries("resume", question, racers - 1, 2)))
        yield Kind((*asked, answer), _deliveries("fork", question, racers, 2))
        yield Kind(asked, (*fresh[:-1], *_deliveries("fork", question, 1, racers)))


def switches(behind: Sequence[Sequence[Turn]], racers: int, most: int) -> Iterator[tuple[Turn, ...]]:
    """The interleavings in which the first `most` racers are each interrupted once, behind one of the calls in
    `behind[racer]`; the racer after them goes first to its end, and the one interrupted first is the last."""
    for turns in itertools.product(*behind[:most]):
        rest = [Turn(i) for i in range(most, racers)]
        yield (*turns, *rest, *(Turn(i) for i in reversed(range(most)))) if most > 1 else turns


def behind(racer: int, hooks: Sequence[str]) -> list[Turn]:
    """Where a racer that passed `hooks` can be interrupted so that it makes a difference."""
    passed: Counter[str] = Counter()
    turns = []
    for i, hook in enumerate(hooks):
        passed[hook] += 1
        if not i or hook.partition(":")[0].endswith(".after"):  # what a racer read before its first hook shows at that one
            turns.append(Turn(racer, hook, passed[hook]))
    # Where an effect has fired and nothing of it is written, two racers are furthest apart.
    return sorted(turns, key=lambda turn: not turn.hook.startswith("effect."))


class RacePhase:
    """Races under the default options and, one kind after the other, under every other option value."""

    name = "race"
    share = 1
    slice = 1

    def __init__(self, campaign: Campaign, targets: Sequence[Target]) -> None:
        self._campaign = campaign
        able = campaign.executor.zygotes is not None
        self._targets = [t for t in targets if able and t.capabilities.durable and t.capabilities.deterministic]
        self._references = _simplest_first(campaign.reference)
        self._plan = self._races()
        self._raced = 0
        self._over: list[str] = []

    def step(self) -> bool:
        """One race."""
        return next(self._plan, None) is not None

    def covered(self) -> str:
        """Such as `512 races; every interleaving of 2 processes that switches once`."""
        return "; ".join([f"{self._raced} races", *self._over])

    def _races(self) -> Iterator[bool]:
        for racers, how, unit in STAGES:
            able = [t for t in self._targets if unit in ("processes", *t.capabilities.units)]
            for reference, target in itertools.product(self._references, able):
                for kind in kinds(reference.workload, racers):
                    yield from self._interleavings(reference, target, replace(kind, unit=unit), how)
            if able:
                self._over.append(f"every interleaving of {racers} {unit} {how}")

    def _interleavings(self, reference: Reference, target: Target, kind: Kind, how: How) -> Iterator[bool]:
        alone = self._alone(reference, target, kind)
        yield True
        if not alone:
            return
        # The second racer comes to an unfinished run: it passes what the first one would.
        passed = [alone[0] if kind.racers[i].op == kind.racers[0].op else alone[i] for i in range(len(alone))]
        for turns in _turns(passed, how):
            self._race(reference, target, kind, turns)
            yield True

    def _alone(self, reference: Reference, target: Target, kind: Kind) -> list[tuple[str, ...]]:
        """The hooks of each racer when they come one after the other; none where that alone breaks the contract: then a
        race shows nothing of its own, and other phases find it."""
        run = self._race(reference, target, kind, (), look=False)
        raced = [seen for _, seen in run.monitor.exchanges if seen.racers]
        broken = run.violation is not None or run.monitor.deviated
        return [] if broken else [racer.hooks for seen in raced for racer in seen.racers]

    def _race(self, reference: Reference, target: Target, kind: Kind, turns: tuple[Turn, ...], *, look: bool = True) -> Run:
        """One run: up to the race, the race, and on until the run is complete."""
        campaign = self._campaign
        run = campaign.open(target, crashes=1, specials=2, mode="forked", reference=reference)
        self._raced += 1
        try:
            sent = all(not run.over and campaign.command(run, command) is not None for command in kind.before)
            if sent and not run.over:
                self._finish(run, campaign.command(run, Command("race", racers=kind.racers, turns=turns, unit=kind.unit)))
        finally:
            campaign.close(run, look=look)
        return run

    def _finish(self, run: Run, seen: Observation | None) -> None:
        """What the race left must go on to its end: whatever the replies ask for is answered, then the run is recovered."""
        for _ in range(AFTERMATH):
            if run.over or seen is None:
                return
            asked = [a.question for shown in (*seen.racers, seen) for a in shown.outcome.asked]
            command = Command("resume", Token(max(asked), run.spent.tokens + 1)) if asked else Command("recover")
            seen = self._campaign.command(run, command)
            if seen is not None and seen.outcome.kind in ("completed", "refused") and command.op == "recover":
                return


def _turns(passed: Sequence[Sequence[str]], how: How) -> Iterator[tuple[Turn, ...]]:
    if how != "of their parts":
        cuts = [behind(i, hooks) for i, hooks in enumerate(passed)]
        yield from switches(cuts, len(passed), 1 if how == "that switches once" else 2)
        return
    divided = [parts(i, hooks) for i, hooks in enumerate(passed)]
    for order in interleavings([kinds for kinds, _ in divided]):
        ends = [iter(turns) for _, turns in divided]
        yield tuple(next(ends[racer]) for racer in order)


def _simplest_first(reference: Reference) -> list[Reference]:
    """Gates that ask one question each, and then those of the campaign: a wire that names no question sends the second of
    two answers to the next question of a gate, where there is one."""
    workload = reference.workload
    gates = {task.id: 1 for task in workload.tasks if task.questions}
    simple = Workload.linear(len(workload.tasks), gates)
    return [reference] if workload.topology != "linear" or workload == simple else [Reference(simple), reference]


def _answers(workload: Workload, question: Question) -> tuple[Command, ...]:
    """Answers to all the questions before this one, numbered from 101."""
    earlier = [q for q in workload.questions() if q < question]
    return tuple(Command("resume", Token(q, n)) for n, q in enumerate(earlier, 101))


def _deliveries(op: str, question: Question, count: int, first: int = 1) -> tuple[Command, ...]:
    return tuple(Command(op, Token(question, n)) for n in range(first, first + count))  # type: ignore[arg-type]
