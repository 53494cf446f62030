"""Racers take their turns, hook by hook, and each has its own ledger entries."""

import asyncio
import contextlib
import selectors
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.observation import Entry, Frontier, Outcome
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.calls import Call
from fuzzresume.harness.crew import Coroutines, Threads
from fuzzresume.harness.env import Env
from fuzzresume.harness.ledger import MemoryLedger
from fuzzresume.harness.line import SharedLine
from fuzzresume.harness.racing import Dose, Lane, Racer, observed, race
from fuzzresume.harness.worker import call_to_wire, outcome_from_wire, receive, send

A, B = Token(Question(2, 1), 1), Token(Question(2, 1), 2)


class Scripted:
    """A life that passes the hooks read, effect, write; the effect is in the shared log once it is behind it."""

    hooks = ("read", "effect", "write")

    def __init__(self, log, name, outcome):
        self.log, self.name, self.outcome, self.at = log, name, outcome, 0

    def converse(self, wire, call):
        assert call.op == "resume" and ("go" in wire) == bool(self.at)
        if self.at == 2:
            self.log.append(Entry("effect", 2, (self.name,)))
        stops = wire.get("go", True)
        while self.at < len(self.hooks):
            self.at += 1
            if stops:
                return self.hooks[self.at - 1]
            if self.at == 2:
                self.log.append(Entry("effect", 2, (self.name,)))
        return self.outcome

    def close(self):
        pass


@pytest.fixture
def racers():
    log = []

    def take():
        found = tuple(log)
        log.clear()
        return found

    outcomes = (Outcome("completed", marks=(Mark(2, (A.text,)),)), Outcome("refused"))
    made = [Racer(Scripted(log, f"r{i}", outcome), Call("resume")) for i, outcome in enumerate(outcomes)]
    return made, take


def names(entries):
    return [entry.tokens[0] for entry in entries]


@pytest.mark.parametrize(
    ("turns", "order"),
    [
        ((), ["r0", "r1"]),
        ((Turn(0, "read"),), ["r1", "r0"]),
        ((Turn(1, "write"),), ["r1", "r0"]),
        ((Turn(0, "effect"), Turn(1, "write"), Turn(0)), ["r1", "r0"]),
        ((Turn(0, "never"),), ["r0", "r1"]),
        ((Turn(0, "read", 2),), ["r0", "r1"]),
    ],
)
def test_turns_decide_who_is_first(racers, turns, order):
    made, take = racers
    entries = race(made, turns, take)
    assert names(entries) == order
    assert [names(racer.entries) for racer in made] == [["r0"], ["r1"]]
    assert all(racer.hooks == ["read", "effect", "write"] for racer in made)


def test_released_racers_all_end(racers):
    made, take = racers
    assert sorted(names(Dose("effect", 0, (0, 0))(made, (), take))) == ["r0", "r1"]
    assert [racer.outcome.kind for racer in made] == ["completed", "refused"]


def test_a_race_says_what_each_showed_and_who_was_told(racers):
    made, take = racers
    command = Command("race", racers=(Command("resume", A), Command("resume", B)))
    seen = observed(command, Frontier((1,)), Frontier((1, 2)), made, race(made, (), take))
    assert seen.outcome.kind == "raced" and seen.told == (A.text,)
    assert [shown.outcome.kind for shown in seen.racers] == ["completed", "refused"]
    assert [len(shown.entries) for shown in seen.racers] == [1, 1]


def test_a_racer_that_hangs_makes_the_race_hang(racers):
    made, take = racers
    made[1].host.outcome = Outcome("hung", seconds=1.0)
    command = Command("race", racers=(Command("resume", A), Command("resume", B)))
    assert observed(command, Frontier(()), Frontier(()), made, race(made, (), take)).outcome.kind == "hung"


class Piped:
    """The controller's side of a crew in this process."""

    def __init__(self, line):
        self.line = line

    def converse(self, wire, call):
        reply = self.line.exchange(wire)
        return reply["at"] if "at" in reply else outcome_from_wire(reply["outcome"])

    def close(self):
        pass


class Counter:
    """A shared counter that is read, shown to an effect and written: what comes between is lost."""

    def __init__(self, env):
        self.env, self.value, self.calls = env, 0, []
        self.awaited = self
        self.loop = None if env.options["unit"] == "threads" else asyncio.SelectorEventLoop(Noticing(env))

    def start(self):
        """As in a framework whose threads know nothing of who made them."""
        with ThreadPoolExecutor(1) as pool, contextlib.suppress(SystemExit):
            pool.submit(self.env.hook, "read.after").result()
        return Outcome("completed")

    def recover(self, *, branch):
        return self.count() if self.loop is None else self.awaited_count()

    def count(self):
        seen = self.value
        self.env.hook("read.after")
        self.value = seen + 1
        self.env.hook("write.after")
        return Outcome("completed", address=str(self.value))

    async def awaited_count(self):
        seen = self.value
        # A task of this racer's own, which reaches a hook of its own meanwhile.
        aside = asyncio.create_task(self.env.awaited_hook("aside.after"))
        await self.env.awaited_hook("read.after")
        self.value = seen + 1
        await aside
        await self.env.awaited_hook("write.after")
        return Outcome("completed", address=str(self.value))

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def close(self):
        if self.loop is not None:
            self.loop.close()


def broken(pipe, why):
    send(pipe, {"broken": why})
    raise SystemExit


class Noticing(selectors.DefaultSelector):
    def __init__(self, env):
        super().__init__()
        self.env = env

    def select(self, timeout=None):
        if timeout != 0 and not (ready := super().select(0)):
            self.env.on_idle()
        return ready if timeout != 0 and ready else super().select(timeout)


@pytest.fixture(params=["threads", "coroutines"])
def crew(request, tmp_path, monkeypatch):
    """(unit, controller's end of the pipe, the environment) of a crew that serves in a thread of this process."""
    monkeypatch.setattr("fuzzresume.harness.crew._give_up", broken)
    ours, theirs = socket.socketpair()
    adapter = SimpleNamespace(life=Counter)
    env = Env(tmp_path, {"unit": request.param}, Workload.linear(), ledger=MemoryLedger())
    made = Threads(theirs, adapter, env, True) if request.param == "threads" else Coroutines(theirs, adapter, env)
    serving = threading.Thread(target=made.serve)
    serving.start()
    yield request.param, ours, env
    ours.close()
    serving.join()
    theirs.close()


@pytest.mark.parametrize(
    ("turns", "values"),
    [
        ((), ("1", "2")),
        ((Turn(0, "read.after"),), ("1", "1")),
        ((Turn(0, "write.after"), Turn(1, "write.after")), ("2", "2")),
    ],
)
def test_racers_of_one_process_share_a_life_and_take_turns(crew, turns, values):
    unit, pipe, _ = crew
    host = Piped(SharedLine(pipe, 10))
    racers = [Racer(Lane(host, i), Call("recover")) for i in range(2)]
    race(racers, turns, tuple)
    assert tuple(racer.outcome.address for racer in racers) == values
    hooks = ("read.after", "write.after") if unit == "threads" else ("read.after", "aside.after", "write.after")
    assert all(tuple(racer.hooks) == hooks for racer in racers)


def test_each_racer_has_its_own_crash_point(crew):
    _, pipe, env = crew
    host = Piped(SharedLine(pipe, 10))
    calls = [Call("recover", crash=CrashPoint("write.after", 2)), Call("recover")]
    racers = [Racer(Lane(host, i), call) for i, call in enumerate(calls)]
    race(racers, (Turn(0, "write.after"), Turn(1, "write.after")), tuple)
    assert [racer.outcome.kind for racer in racers] == ["completed", "completed"], "each passed it once"
    assert not env.dead


@pytest.mark.parametrize("crew", ["threads"], indirect=True)
def test_a_hook_that_is_no_racers_is_a_fault_of_the_adapter(crew):
    _, pipe, _ = crew
    send(pipe, {**call_to_wire(Call("start", gated=True)), "racer": 0})
    assert "do not get their caller's context" in receive(pipe)["broken"]
    assert receive(pipe)["racer"] == 0


def test_what_is_said_to_another_racer_is_kept_for_it():
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as pool:
        line = SharedLine(ours, 10)
        first = pool.submit(line.exchange, {"racer": 0})
        assert receive(theirs) == {"racer": 0}
        second = {"at": "b", "racer": 1}
        send(theirs, second)
        assert line.exchange({"racer": 1}) == second
        send(theirs, {"at": "a", "racer": 0})
        assert first.result(10) == {"at": "a", "racer": 0}


def test_a_racer_that_makes_no_progress_is_given_up():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = SharedLine(ours, 0.01)
        with pytest.raises(TimeoutError):
            line.exchange({"racer": 0})
        assert line.exchange({"racer": 1}) is None, "its process is to be killed, and with it the others"
