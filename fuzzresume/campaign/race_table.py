"""How a race goes as it gets harder: the effects that fire, by racers, by how long the gate's effect takes, and by how far
apart the racers start (docs/DESIGN.md, *Races*).

*Held* rows are exact: each racer is held where its effect is about to fire, until all of them are there or turned away. The
other rows let racers go and are measurements; what they count has happened, how often depends on the machine.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.commands import Command, CrashPoint, Op, Turn, Unit
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.forked import ForkedSession
from fuzzresume.harness.racing import Dose
from fuzzresume.harness.remote import RemoteSession
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target

GATE = 2
WORKLOAD = Workload.linear(3, {GATE: 1})
"""One question: whoever answers twice answers the same one."""

Over = Literal["answers", "recovery", "forks"]
OVERS: tuple[Over, ...] = get_args(Over)

_RACE: dict[Over, Op] = {"answers": "resume", "recovery": "recover", "forks": "fork"}


@dataclass
class Cell:
    """The repetitions of one race. `dwell` and `jitter` are in seconds; None for both: held.

    For each repetition `effects` counts the effects of the gate's task that fired during the race, `own` the racers whose
    own answer was among them, and `told` those that were told consumed; `replies` counts the outcomes of all racers.
    """

    racers: int
    dwell: float | None
    jitter: float | None
    effects: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    hung: int = 0

    @property
    def held(self) -> bool:
        """Whether the racers were held at the gate."""
        return self.dwell is None

    def add(self, observation: Observation) -> None:
        """Count one repetition."""
        fired = [mark for mark in observation.effects if mark.task == GATE]
        self.hung += observation.outcome.kind == "hung"
        self.effects.append(len(fired))
        self.own.append(len({token for mark in fired for token in mark.tokens}))
        self.told.append(len(set(observation.told)))
        self.replies.update(racer.outcome.kind for racer in observation.racers)


def unserved(cells: Sequence[Cell]) -> int:
    """The races in which nothing fired, so that nothing is proved by them."""
    return sum(not count for cell in cells for count in cell.effects)


def broken(over: Over, cells: Sequence[Cell]) -> dict[str, str]:
    """What the cells show to be violated: a code of docs/CONTRACT.md, and the words for it."""
    found = {}
    most = max((count for cell in cells for count in cell.effects), default=0)
    told = max((count for cell in cells for count in cell.told), default=0)
    if over == "forks":
        if any(fired != own for cell in cells for fired, own in zip(cell.effects, cell.own, strict=True)):
            found["FD"] = "a fork's effect fired with an answer that was not its own"
        return found
    if most > 1:
        code = "CO-e" if over == "answers" else "EO"
        found[code] = f"the effect behind one question fired up to {most} times"
    if told > 1:
        found["CO-c"] = f"up to {told} racers were told that their answer was consumed"
    return found


def run_table(
    target: Target,
    executor: Executor,
    racers: Sequence[int],
    doses: Sequence[tuple[float, float]],
    times: int,
    seed: int,
    over: Over = "answers",
    unit: Unit = "processes",
    listen: Callable[[Cell], None] = lambda _: None,
) -> Iterator[Cell]:
    """Each cell when it is done; `listen` hears of every repetition. `executor` is for `WORKLOAD`.

    Raises Unsupported where the target has no store that other processes can see.
    """
    rng = random.Random(f"{seed}/{target.adapter.name}/race")
    for count in racers:
        for dose in (None, *doses):
            cell = Cell(count, *(dose or (None, None)))
            for _ in range(times):
                cell.add(_once(target, executor, cell, over, unit, rng))
                listen(cell)
            yield cell


def _once(target: Target, executor: Executor, cell: Cell, over: Over, unit: Unit, rng: random.Random) -> Observation:
    question = Question(GATE, 1)
    first = Command("resume", Token(question, 99))
    before = {
        "answers": [Command("start")],
        "recovery": [Command("start"), Command("resume", first.token, crash=CrashPoint(f"effect.after:{GATE}"))],
        "forks": [Command("start"), first],
    }[over]
    op, count = _RACE[over], cell.racers
    contenders = tuple(Command(op, Token(question, n) if op != "recover" else None) for n in range(1, count + 1))
    gate = f"effect.before:{GATE}"
    turns = tuple(Turn(i, gate) for i in range(count)) if cell.held else ()
    folder = executor.folder / "race"
    session = open_session(target, executor.workload, folder, "forked", zygotes=executor.zygotes)
    assert isinstance(session, ForkedSession | RemoteSession)
    try:
        with session:
            for command in before:
                session.execute(command)
            if cell.dwell is not None and cell.jitter is not None:
                session.at_pace(Dose(gate, cell.dwell, tuple(rng.uniform(0, cell.jitter) for _ in range(count))))
            return session.execute(Command("race", racers=contenders, turns=turns, unit=unit))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
