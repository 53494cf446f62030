"""A sweep: every crash state of a run, recovered from and judged (docs/DESIGN.md, *Sweeping*).

A fault-free run is executed command by command; each state that a death can leave on the way is recovered from and, apart
from that, restarted. The monitor judges every continuation; what a state is in words is read from ledgers and frontiers.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import diagnose, excused
from fuzzresume.campaign.sweep_deaths import Death, Deaths
from fuzzresume.campaign.sweep_facts import Effects, hidden_doubt, lost, say_point, window
from fuzzresume.campaign.sweep_onward import Onward, recover, restart
from fuzzresume.campaign.sweep_result import Broken, CrashState, Section, Swept, merged
from fuzzresume.contract.commands import DELIVERIES, Command
from fuzzresume.contract.monitor import Exchange, Monitor, Sight, Violation
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Token
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.sessions import AnySession, Mode, open_session
from fuzzresume.harness.target import Target

RECOVER = Command("recover")


First = tuple[tuple[Exchange, ...], Command, Death]
"""A first death: what was sent before, the command that died, the state it left."""


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
        self._profile = profile_of(target.capabilities)
        self._onwards: dict[Hashable, Onward] = {}
        self._broken: dict[tuple[Sight, ...], Broken] = {}
        self._firsts: list[First] = []
        self._started = time.monotonic()

    def run(self, *, second: bool = False) -> Swept:
        """Sweep everything; an interrupt ends it with what was swept until then."""
        self._place.mkdir()
        try:
            self._warm()
            for section in self._first_deaths():
                self.swept.sections.append(section)
            if second:
                for section in self._second_deaths(self._firsts, restarts=False):
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
            command: Command | None = Command("start")
            while command is not None:
                section, seen = self._section(session, told, command)
                yield section
                told = (*told, (command, seen))
                if section.broken:
                    self.swept.notes.append("the run without a death breaks the contract already, so it is swept no further")
                    return
                asked = seen.outcome.asked
                command = Command("resume", Token(asked[0].question, len(told))) if asked else None
            yield from self._forks(session, told)
            yield from self._second_deaths(list(self._one_in_doubt_each()), restarts=True)

    def _forks(self, session: AnySession, told: tuple[Exchange, ...]) -> Iterator[Section]:
        for question in self._workload.questions():
            with session.copied(self._deaths.new_folder()) as forking:
                command = Command("fork", Token(question, len(told)))
                try:
                    yield self._section(forking, told, command)[0]
                except Unsupported as reason:
                    self.swept.notes.append(f"fork at question {question.text}: {reason}")

    def _one_in_doubt_each(self) -> Iterator[First]:
        """For each command the first state that leaves one task in doubt: its recovery has something to spoil."""
        found: set[Command] = set()
        for told, command, death in self._firsts:
            if command not in found and len(self._in_doubt(told, command, death)) == 1:
                found.add(command)
                yield told, command, death

    def _second_deaths(self, firsts: Sequence[First], *, restarts: bool) -> Iterator[Section]:
        """The crash states of `recover` after each of these deaths; those that left one store are swept together."""
        reached: dict[Hashable, tuple[Observation, list[Death]]] = {}
        for told, command, death in firsts:
            if death.store not in reached:
                with death.at(self._deaths.new_folder()) as session:
                    reached[death.store] = self._deaths.of(session, RECOVER)
            died = Command(command.op, command.token, crash=death.points[0])
            before = (*told, (died, death.observation))
            yield self._judged(before, RECOVER, *reached[death.store], restarts=restarts)

    def _section(self, session: AnySession, told: tuple[Exchange, ...], command: Command) -> tuple[Section, Observation]:
        """Sweep a command of a run without a death before it; `session` is left after it."""
        seen, deaths = self._deaths.of(session, command)
        self._firsts += [(told, command, death) for death in deaths]
        return self._judged(told, command, seen, deaths, restarts=True), seen

    def _judged(
        self, told: tuple[Exchange, ...], command: Command, seen: Observation, deaths: Sequence[Death], *, restarts: bool
    ) -> Section:
        broken = self._watch((*told, (command, seen)))[1]
        *earlier, words = say_commands(self._workload, [*(sent for sent, _ in told), command])
        after = earlier[-1] if told and told[-1][0].crash is not None else ""
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
        answered = any(sent.op in DELIVERIES for sent, _ in before)
        onward = self._onward(death, ("recover", answered), lambda session: recover(session, answered))
        for sent, seen in onward.exchanges:
            effects.take(sent, seen)
        found = [self._watch((*before, *onward.exchanges))[1]]
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
        """What a restart was at this state, by the choices of the worlds that are left, and what it violated."""
        try:
            onward = self._onward(death, ("restart",), restart)
        except Unsupported as reason:
            return f"inapplicable: {reason}", None
        monitor, broken = self._watch((*before, *onward.exchanges))
        if broken is not None:
            told = len(monitor.exchanges) <= len(before)
            return "not judged: the contract was broken before" if told else f"breaks RR-{broken.property_name}", broken
        choices = {value for world in monitor.worlds for choice, value in world.policy if choice.startswith("restart@")}
        if len(choices) == 1:
            return next(iter(choices)), None
        reply = onward.exchanges[0][1]
        if reply.outcome.kind == "refused":
            return "refused", None
        if before[-1][1].after.done == ():
            return "runs from the start, for nothing was durable", None
        return "continues" if reply.entries else "inert", None

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

    def _watch(self, exchanges: Sequence[Exchange]) -> tuple[Monitor, Broken | None]:
        """The monitor after these exchanges, and the first violation among them."""
        monitor = Monitor(self._executor.reference, self._profile)
        for command, observation in exchanges:
            if (violation := monitor.observe(command, observation)) is not None:
                return monitor, self._named(violation)
        return monitor, None

    def _named(self, violation: Violation) -> Broken:
        if violation.sights not in self._broken:
            found = diagnose(self._executor.reference, violation, self._profile, self._target)
            self._broken[violation.sights] = Broken(
                found.anomaly.property, found.anomaly.cls, found.explanation, excused(found, self._target)
            )
        return self._broken[violation.sights]

    def _count(self) -> None:
        self.swept.executions, self.swept.seconds = self._deaths.executions, time.monotonic() - self._started
