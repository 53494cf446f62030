"""A sweep: every crash state of a run, recovered from and judged (docs/DESIGN.md, *Sweeping*).

A fault-free run is executed command by command, forked at each question and restarted wherever it stands; each state that
a death can leave on the way is recovered from and, apart from that, restarted. The monitor judges every continuation; what a
state is in words is read from ledgers and frontiers.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.sweep.deaths import Death, Deaths
from fuzzresume.campaign.sweep.facts import Effects, hidden_doubt, lost, present_epoch, say_before, say_point, window
from fuzzresume.campaign.sweep.onward import Onward, recover, restart
from fuzzresume.campaign.sweep.result import Broken, CrashState, Section, Swept, merged
from fuzzresume.campaign.sweep.verdicts import Verdicts
from fuzzresume.contract.commands import DELIVERIES, Command
from fuzzresume.contract.monitor import Exchange
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Token
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import AnySession, Mode, open_session
from fuzzresume.harness.target import Target

RECOVER, RESTART = Command("recover"), Command("restart")

BROKEN_ALREADY = "without a death breaks the contract already, so it is swept no further"

First = tuple[tuple[Exchange, ...], Command, Death]
"""A first death: what was sent before, the command that died, the state it left."""

Stand = tuple[AnySession, tuple[Exchange, ...]]
"""Where the run without a death stood: a session that goes on from there, and what was sent before."""


class Sweeper:
    """Sweeps one target by one way to die. All files are in the executor's folder.

    `listen` hears of every crash state that was dealt with.
    """

    def __init__(
        self, target: Target, executor: Executor, mode: Mode, listen: Callable[[Swept], None] = lambda _: None
    ) -> None:
        self.swept = Swept(target, mode)
        self._executor, self._target, self._listen = executor, target, listen
        self._workload = executor.workload
        self._place = executor.folder / f"sweep-{mode}"
        self._deaths = Deaths(self._place)
        self._verdicts = Verdicts(executor.reference, target)
        self._onwards: dict[Hashable, Onward] = {}
        self._firsts: list[First] = []
        self._restartable = True
        self._started = time.monotonic()

    def run(self, *, second: bool = False) -> Swept:
        """Sweep everything; an interrupt ends it with what was swept until then."""
        self._place.mkdir()
        try:
            self._warm()
            for section in self._first_deaths():
                self.swept.sections.append(section)
            if second:
                for section in self._second_deaths(self._firsts, RECOVER, restarts=False):
                    self.swept.second.append(section)
        except KeyboardInterrupt:
            self.swept.interrupted = True
        except Exception as error:
            # What was swept before it is not lost: a broken target or harness is told, and the sweep is undetermined.
            self.swept.troubles.append(f"harness error: {type(error).__name__}: {error}")
        finally:
            self._count()
            shutil.rmtree(self._place, ignore_errors=True)
        self.swept.troubles += self._deaths.troubles
        return self.swept

    def _warm(self) -> None:
        """The first life imports the framework, which is no part of a sweep's time."""
        with self._open() as session:
            session.execute(Command("start"))
        self._started = time.monotonic()

    def _open(self) -> AnySession:
        place, zygotes = self._deaths.new_folder(), self._executor.zygotes
        return open_session(self._target, self._workload, place, self.swept.mode, zygotes=zygotes)

    def _first_deaths(self) -> Iterator[Section]:
        with self._open() as session:
            told: tuple[Exchange, ...] = ()
            stands: list[Stand] = []
            command: Command | None = Command("start")
            while command is not None:
                section, seen = self._section(session, told, command)
                yield section
                told = (*told, (command, seen))
                if section.broken:
                    self.swept.notes.append(f"the run {BROKEN_ALREADY}")
                    return
                stands.append((session.copied(self._deaths.new_folder()), told))
                command = _next_answer(told)
            yield from self._forks(session, told)
            yield from self._restarts(stands)
            in_doubt = list(self._one_in_doubt_each())
            yield from self._second_deaths(in_doubt, RECOVER, restarts=True)
            if self._restartable:
                begun = [first for first in in_doubt if first[1] != RESTART and self._judged_so_far(first)]
                yield from self._second_deaths(begun, RESTART, restarts=True)

    def _judged_so_far(self, first: First) -> bool:
        """Whether the contract holds up to this death: of what comes after one that breaks it nothing could be said."""
        told, command, death = first
        return self._verdicts.watch((*told, (replace(command, crash=death.points[0]), death.observation)))[1] is None

    def _forks(self, session: AnySession, told: tuple[Exchange, ...]) -> Iterator[Section]:
        for question in self._workload.questions():
            with session.copied(self._deaths.new_folder()) as forking:
                try:
                    yield from self._branch(forking, told, Command("fork", Token(question, len(told))))
                except Unsupported as reason:
                    self.swept.notes.append(f"fork at question {question.text}: {reason}")

    def _branch(self, session: AnySession, told: tuple[Exchange, ...], fork: Command) -> Iterator[Section]:
        """A fork, then the answers on its branch until it is complete. None reaches it where `latest` means the trunk."""
        (name,) = say_commands(self._workload, [*(sent for sent, _ in told), fork])[len(told) :]
        command: Command | None = fork
        while command is not None:
            seen, deaths = self._deaths.of(session, command)
            told_now = (*told, (command, seen))
            monitor, broken = self._verdicts.watch(told_now)
            if command is not fork and broken is None and monitor.policy.get("latest") == "trunk":
                self.swept.notes.append(f"after {name} an answer goes to the trunk, so the branch is swept no further")
                return
            yield self._kept(told, command, seen, deaths)
            told, command = told_now, _next_answer(told_now)
            if broken is not None:
                if command is not None:
                    self.swept.notes.append(f"the branch of {name} {BROKEN_ALREADY}")
                return

    def _restarts(self, stands: Sequence[Stand]) -> Iterator[Section]:
        """A restart of the run at rest, wherever it stood."""
        for session, told in stands:
            with session:
                try:
                    yield self._section(session, told, RESTART)[0]
                except Unsupported as reason:
                    self._restartable = False
                    self.swept.notes.append(f"restart: {reason}")
                    return

    def _one_in_doubt_each(self) -> Iterator[First]:
        """For each command the first state that leaves one task in doubt: its recovery has something to spoil."""
        found: set[tuple[Command, ...]] = set()
        for told, command, death in self._firsts:
            sent = (*(earlier for earlier, _ in told), command)
            if sent not in found and len(self._in_doubt(told, command, death)) == 1:
                found.add(sent)
                yield told, command, death

    def _second_deaths(self, firsts: Sequence[First], second: Command, *, restarts: bool) -> Iterator[Section]:
        """The crash states of `second` after each of these deaths; those that left one store are swept together."""
        reached: dict[Hashable, tuple[Observation, list[Death]]] = {}
        for told, command, death in firsts:
            if death.store not in reached:
                with death.at(self._deaths.new_folder()) as session:
                    reached[death.store] = self._deaths.of(session, second)
            died = Command(command.op, command.token, crash=death.points[0])
            before = (*told, (died, death.observation))
            yield self._judged(before, second, *reached[death.store], restarts=restarts)

    def _section(self, session: AnySession, told: tuple[Exchange, ...], command: Command) -> tuple[Section, Observation]:
        """Sweep a command of a run without a death before it; `session` is left after it."""
        seen, deaths = self._deaths.of(session, command)
        return self._kept(told, command, seen, deaths), seen

    def _kept(self, told: tuple[Exchange, ...], command: Command, seen: Observation, deaths: Sequence[Death]) -> Section:
        """The section of a command without a death before it, whose crash states can be died from once more."""
        self._firsts += [(told, command, death) for death in deaths]
        return self._judged(told, command, seen, deaths, restarts=True)

    def _judged(
        self, told: tuple[Exchange, ...], command: Command, seen: Observation, deaths: Sequence[Death], *, restarts: bool
    ) -> Section:
        broken = self._verdicts.watch((*told, (command, seen)))[1]
        words = say_commands(self._workload, [*(sent for sent, _ in told), command])[-1]
        after = say_before(self._workload, told, command)
        states = []
        for death in deaths:
            states.append(self._state(told, command, death, restarts=restarts))
            self._count()
            self._listen(self.swept)
        if not self._target.capabilities.durable:
            states = merged(states)
        return Section(words, after, tuple(states), (broken,) if broken else ())

    def _state(self, told: tuple[Exchange, ...], command: Command, death: Death, *, restarts: bool) -> CrashState:
        died: Exchange = (Command(command.op, command.token, crash=death.points[0]), death.observation)
        before = (*told, died)
        doubt = self._in_doubt(told, command, death)
        effects = Effects.of(before).from_here()
        answered = any(sent.op in DELIVERIES for sent, _ in present_epoch(before))
        onward = self._onward(death, ("recover", answered), lambda session: recover(session, answered))
        for sent, seen in onward.exchanges:
            effects.take(sent, seen)
        found = [self._verdicts.watch((*before, *onward.exchanges))[1]]
        restarted = ""
        if restarts:
            restarted, violation = self._restarted(before, death)
            found.append(violation)
        if not onward.ended.startswith(("completed", "stuck")):
            self.swept.troubles.append(f"{died[0].op}, {say_point(death.points[0])}, then recovering: {onward.ended}")
        return CrashState(
            death.points,
            window(death.observation, doubt),
            death.observation.after.done,
            doubt,
            {name: tuple(tasks) for name, tasks in effects.again.items() if tasks},
            lost(self._workload, effects.fired, onward.last) if onward.ended == "completed" else (),
            onward.ended,
            restarted,
            tuple(dict.fromkeys(broken for broken in found if broken is not None)),
        )

    def _restarted(self, before: tuple[Exchange, ...], death: Death) -> tuple[str, Broken | None]:
        """What a restart was at this state, and what it violated."""
        try:
            onward = self._onward(death, ("restart",), restart)
        except Unsupported as reason:
            return f"inapplicable: {reason}", None
        return self._verdicts.restarted(before, onward.exchanges)

    def _in_doubt(self, told: tuple[Exchange, ...], command: Command, death: Death) -> tuple[int, ...]:
        hidden = hidden_doubt(command, death.observation, death.forked)
        if hidden is not None:
            return hidden
        return tuple(sorted(Effects.of((*told, (command, death.observation))).in_doubt))

    def _onward(self, death: Death, way: tuple[object, ...], go: Callable[[AnySession], Onward]) -> Onward:
        """Go on from a death; once from each store, for a fresh life sees nothing else."""
        key = (death.store, *way)
        if key not in self._onwards:
            folder = self._deaths.new_folder()
            with death.at(folder) as session:
                self._onwards[key] = go(session)
            shutil.rmtree(folder, ignore_errors=True)
            self._deaths.executions += len(self._onwards[key].exchanges)
        return self._onwards[key]

    def _count(self) -> None:
        self.swept.executions, self.swept.seconds = self._deaths.executions, time.monotonic() - self._started


def _next_answer(told: tuple[Exchange, ...]) -> Command | None:
    """The answer to what the last command asks, if it asks."""
    asked = told[-1][1].outcome.asked
    return Command("resume", Token(asked[0].question, len(told))) if asked else None
