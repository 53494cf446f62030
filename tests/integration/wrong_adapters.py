"""Adapters that translate wrongly: each is the in-tree engine's adapter with one slip, which the conformance kit must see.

`WRONG` holds (adapter, the check that rejects it, words of the reason). The names are adapters, not classes, so that
workers find them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from fuzzresume.adapters.durable.alone import Alone
from fuzzresume.adapters.durable.engine import Engine, Refused
from fuzzresume.adapters.durable.faults import Faults
from fuzzresume.adapters.durable.log import Log, Row
from fuzzresume.adapters.reference import DurableAdapter
from fuzzresume.contract.observation import Asked, Frontier, Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import TaskFailure, Unsupported

WRONG: list[tuple[DurableAdapter, str, str]] = []


def wrong(check: str, words: str) -> Callable[[type[DurableAdapter]], DurableAdapter]:
    """An adapter of this class is rejected by that check, with these words."""

    def register(cls: type[DurableAdapter]) -> DurableAdapter:
        adapter = cls()
        WRONG.append((adapter, check, words))
        return adapter

    return register


class Bare(DurableAdapter):
    """The right adapter, without options; `Life` is what a subclass gets wrong."""

    options: Mapping[str, tuple[str, ...]] = {}
    Life = Alone

    @property
    def name(self):
        return type(self).__name__

    def life(self, env):
        return self.Life(Engine(env, Faults()))


class Retold(Alone):
    """Every outcome goes through `told`."""

    def told(self, outcome: Outcome) -> Outcome:
        return outcome

    def start(self):
        return self.told(super().start())

    def restart(self):
        return self.told(super().restart())

    def recover(self, *, branch):
        return self.told(super().recover(branch=branch))

    def resume(self, question, answer, *, address, branch):
        return self.told(super().resume(question, answer, address=address, branch=branch))

    def fork(self, question, answer, *, address):
        return self.told(super().fork(question, answer, address=address))


@wrong("options", "the defaults are not valid together")
class BadDefaults(Bare):
    options: Mapping[str, tuple[str, ...]] = {"speed": ("slow", "fast")}

    def valid(self, options):
        return options["speed"] == "fast"


@wrong("options", "speed=fast is valid: refused (Refused: not so fast)")
class BrokenValue(Bare):
    options: Mapping[str, tuple[str, ...]] = {"speed": ("slow", "fast")}

    class Life(Alone):
        def start(self):
            if self._engine.env.options["speed"] == "fast":
                raise Refused("not so fast")
            return super().start()


@wrong("options", "valid raises KeyError: 'weather'")
class Crossed(Bare):
    options: Mapping[str, tuple[str, ...]] = {"speed": ("slow", "fast"), "size": ("small", "large")}

    def valid(self, options):
        return options["speed"] == "slow" or options["size"] == "small" or options["weather"] == "fine"


@wrong("options", "other_schedule names an option or a value that there is not")
class NoSuchSchedule(Bare):
    def capabilities(self, options):
        return replace(super().capabilities(options), other_schedule={"executor": "queue"})


@wrong("options", "'RunsTwice' is no switch")
class UnknownSwitch(Bare):
    def capabilities(self, options):
        from fuzzresume.harness.adapter import Documented

        return replace(super().capabilities(options), documented=(Documented("RunsTwice", "often", "page 1", "1.0"),))


@wrong("outcomes", "completed without marks")
class Unmarked(Bare):
    class Life(Retold):
        def told(self, outcome):
            return replace(outcome, marks=None) if outcome.kind == "completed" else outcome


@wrong("outcomes", "the address 7 of a question is no text")
class NumberedQuestions(Bare):
    class Life(Retold):
        def told(self, outcome):
            return replace(outcome, asked=tuple(Asked(one.question, 7) for one in outcome.asked))


@wrong("outcomes", "slipped in recover: AttributeError: 'Life' object has no attribute 'nope' (wrong_adapters.py:")
class Slipping(Bare):
    class Life(Alone):
        def recover(self, *, branch):
            return self.nope()


@wrong("run", "asks question 2.2 instead of question 2.1")
class AsksTheLast(Bare):
    class Life(Retold):
        def told(self, outcome):
            last = self._engine.env.workload.questions
            return replace(outcome, asked=tuple(Asked(last(q.task)[-1], address) for q, address in pairs(outcome)))


def pairs(outcome):
    return [(one.question, one.address) for one in outcome.asked]


SERVED: dict[Question, str] = {}


@wrong("run", "the state shows 2:2.1#1=yes, which no task has added")
class KeepsAnswers(Bare):
    """The first answer that any run gave to a question is every run's."""

    class Life(Alone):
        def resume(self, question, answer, *, address, branch):
            return super().resume(question, SERVED.setdefault(question, answer), address=address, branch=branch)


@wrong("ledger", "reads nothing instead of 1")
class ReadsNothing(Bare):
    def life(self, env):
        body = env.body
        env.body = lambda task, tokens=(), reads=(): body(task, tokens)
        return super().life(env)


@wrong("ledger", "fires before the task is entered")
class NeverEnters(Bare):
    def life(self, env):
        env.enter = lambda task: None
        return super().life(env)


@wrong("frontier", "{}, while the ledger says {1}")
class OneBehind(Bare):
    def frontier(self, store, branch):
        found = super().frontier(store, branch)
        return replace(found, done=found.done and found.done[:-1])


@wrong("frontier", "unreadable: nothing was written yet")
class UnreadableAtFirst(Bare):
    def frontier(self, store, branch):
        found = super().frontier(store, branch)
        return found if found.head else Frontier(None, "nothing was written yet")


LIVES: list[int] = []


@wrong("deterministic", "hooks: ")
class EveryThirdLife(Bare):
    def life(self, env):
        LIVES.append(1)
        if len(LIVES) % 3 == 0:
            env.hook("third")
        return super().life(env)


@wrong("epochs", "the frontier is [1, 2, 3] while the new epoch has run [1]")
class EveryEpoch(Bare):
    def frontier(self, store, branch):
        found = super().frontier(store, branch)
        if found.done is None:
            return found
        log = Log(store.folder)
        recorded = [row.body["task"] for _, row in log.read() if row.kind == "record"]
        log.close()
        return replace(found, done=tuple(dict.fromkeys(recorded)))


@wrong("inspect", "nothing ran, and yet")
class LooksAndWrites(Bare):
    class Life(Alone):
        def inspect(self, *, branch):
            told = super().inspect(branch=branch)
            self._engine.commit(parked_rows(self._engine))
            return told


def parked_rows(engine):
    """The newest park once more, if the run is parked."""
    latest = engine.run.latest
    if latest is None or latest.parked_at is None:
        return []
    return [Row("park", latest.name, {"question": latest.parked_at.text})]


KNOWN: set[str] = set()


@wrong("outcomes", "the adapter slipped in inspect: AttributeError: 'Life' object has no attribute 'inspect'")
class CannotLook(Bare):
    class Life:
        """Everything but `inspect`."""

        def __init__(self, engine):
            life = Alone(engine)
            self.start, self.restart, self.recover = life.start, life.restart, life.recover
            self.resume, self.fork, self.close = life.resume, life.fork, life.close


@wrong("reload", "a copy of the store goes on in another way")
class RemembersElsewhere(Bare):
    """What a store was started for is kept by this process, not by the store."""

    class Life(Alone):
        def start(self):
            KNOWN.add(str(self._engine.env.folder))
            return super().start()

        def resume(self, question, answer, *, address, branch):
            if str(self._engine.env.folder) not in KNOWN:
                raise Refused("nobody has started this run")
            return super().resume(question, answer, address=address, branch=branch)


@wrong("reload", "written by close")
class ClosesAndWrites(Bare):
    class Life(Alone):
        def close(self):
            if self._engine.parked_here:
                self._engine.commit(parked_rows(self._engine))
            super().close()


@wrong("addresses", "outcome: parked, or refused UnknownBranch")
class Shouts(Bare):
    class Life(Alone):
        def resume(self, question, answer, *, address, branch):
            return super().resume(question, answer, address=address and address.upper(), branch=branch)


@wrong("fork", "raises Unsupported: not today")
class CannotFork(Bare):
    class Life(Alone):
        def fork(self, question, answer, *, address):
            raise Unsupported("not today")


@wrong("fork", "no capability declares a fork, and yet it is completed and not refused as Unsupported")
class ForksUnasked(Bare):
    def capabilities(self, options):
        return replace(super().capabilities(options), fork=None, trunk=False)

    class Life(Alone):
        def fork(self, question, answer, *, address):
            return Outcome("completed", marks=())


@wrong("outcomes", "the adapter slipped in fork: AttributeError")
class SlipsInForks(Bare):
    class Life(Alone):
        def fork(self, question, answer, *, address):
            return self.no_such_method()


@wrong("fork", "no address was announced")
class HidesAddresses(Bare):
    def capabilities(self, options):
        return replace(super().capabilities(options), addressed=False)

    class Life(Retold):
        def told(self, outcome):
            return replace(outcome, asked=tuple(Asked(question) for question, _ in pairs(outcome)))


@wrong("trunk", "the trunk's frontier was (1, 2, 3), and is (1,) beside the fork")
class OneBranch(Bare):
    def frontier(self, store, branch):
        return super().frontier(store, None)


@wrong("identifiers", "at the first question: completed; the same at the second: parked, its own effect fires")
class FalsyNumbers(Bare):
    """Questions are numbered from 0, and whoever gives no number means no fork."""

    class Life(Retold):
        def told(self, outcome):
            order = self._engine.env.workload.questions()
            return replace(outcome, asked=tuple(Asked(q, f"{order.index(q)}@{at}") for q, at in pairs(outcome)))

        def resume(self, question, answer, *, address, branch):
            return super().resume(question, answer, address=address and address.partition("@")[2], branch=branch)

        def fork(self, question, answer, *, address):
            number, _, at = address.partition("@")
            if not int(number):
                return self.resume(question, answer, address=None, branch=None)
            return super().fork(question, answer, address=at)


@wrong("retry", "raises Unsupported: tired")
class Tired(Bare):
    class Life(Alone):
        failed = False

        def start(self):
            try:
                return super().start()
            except TaskFailure:
                self.failed = True
                raise

        def recover(self, *, branch):
            if self.failed:
                raise Unsupported("tired")
            return super().recover(branch=branch)


@wrong("schema", "gave up")
class CannotPoison(Bare):
    def life(self, env):
        body = env.body

        def checked(task, tokens=(), reads=()):
            update = body(task, tokens, reads)
            if not isinstance(update.note, str):
                raise Unsupported("this state is all text")
            return update

        env.body = checked
        return super().life(env)


@wrong("tamper", "the store is what it was before")
class Gentle(Bare):
    def tamper(self, store, kind):
        if kind != "half-written":
            super().tamper(store, kind)


@wrong("tamper", "tamper accepts a kind of damage that there is not")
class Eager(Bare):
    def tamper(self, store, kind):
        super().tamper(store, kind if kind in self.capabilities({}).tamper else "empty")


@wrong("points", "what comes out is idle")
class Swallows(Bare):
    class Life(Alone):
        def start(self):
            try:
                return super().start()
            except TaskFailure:
                return Outcome("idle")


@wrong("points", "no hook was passed but those of the effects")
class Unhooked(Bare):
    def life(self, env):
        hook = env.hook
        env.hook = lambda name: hook(name) if name.startswith("effect.") else None
        return super().life(env)


@wrong("points", "behind the last hook")
class WritesBehind(Bare):
    """A call has no hook for what it makes durable but the first."""

    def life(self, env):
        hook = env.hook
        env.hook = lambda name: hook(name) if name.startswith("effect.") or not env.passed else None
        return super().life(env)


PRESENT: list[object] = []


@wrong("interleaved", "a run shows another thing while another run is alive")
class OneWorkload(Bare):
    """The program of the process is that of the run which began last."""

    class Life(Alone):
        def start(self):
            PRESENT[:] = [self._engine.env.workload]
            return super().start()

        def resume(self, question, answer, *, address, branch):
            if PRESENT and question not in PRESENT[0].questions():
                raise Refused("there is no such question")
            return super().resume(question, answer, address=address, branch=branch)


RESTARTED: list[object] = []


@wrong("order", "after other traces this one differs")
class Moody(Bare):
    """Once any run of the process was restarted, no answer may come twice."""

    class Life(Alone):
        last = ""

        def restart(self):
            RESTARTED.append(1)
            return super().restart()

        def resume(self, question, answer, *, address, branch):
            if RESTARTED and answer == self.last:
                raise Refused("not again")
            self.last = answer
            return super().resume(question, answer, address=address, branch=branch)


HELD: list[int] = []
OVER = threading.Event()


def release() -> None:
    """Give back what those hold that never do."""
    OVER.set()
    while HELD:
        os.close(HELD.pop())


@wrong("close", "descriptors were left")
class KeepsDescriptors(Bare):
    def life(self, env):
        HELD.append(os.open(os.devnull, os.O_RDONLY))
        return super().life(env)


@wrong("close", "threads were left")
class KeepsThreads(Bare):
    def life(self, env):
        threading.Thread(target=OVER.wait, daemon=True).start()
        return super().life(env)


BEFORE: list[object] = []


@wrong("cold", "a cold run and a warm one differ")
class FirstTime(Bare):
    def life(self, env):
        if not BEFORE:
            BEFORE.append(1)
            env.hook("warming up")
        return super().life(env)


@wrong("modes", "in-process and images differ")
class LeavesItsLock(Bare):
    """A lock file that unwinding removes and SIGKILL leaves, and yet an exception is said to be a faithful death."""

    class Life(Alone):
        def _alone(self, call, crowded=None):
            lock = self._engine.env.folder / "lock"
            if lock.exists():
                raise Refused("somebody is at it")
            lock.touch()
            try:
                return super()._alone(call, crowded)
            finally:
                lock.unlink()


@wrong("racers", "has lost a file to the other: FileNotFoundError")
class FixedName(Bare):
    """A note beside the store, written by way of a temporary file that has the same name in every process."""

    class Life(Alone):
        def resume(self, question, answer, *, address, branch):
            folder = self._engine.env.folder
            (folder / "note.tmp").write_text(answer)
            self._engine.env.hook("note.half")
            (folder / "note.tmp").rename(folder / "note")
            return super().resume(question, answer, address=address, branch=branch)
