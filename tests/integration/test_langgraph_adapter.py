"""The LangGraph adapter on the real framework: calls, crash points, frontier, determinism. What LangGraph gets wrong is
not asserted here; a case stands where both a right and a wrong engine would have to behave the same way."""

from __future__ import annotations

import copy
import itertools
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")

from fuzzresume.adapters._langgraph_store import database, reading
from fuzzresume.adapters.langgraph import ADAPTER
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Outcome
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Crash, Env, TaskFailure, Unsupported
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.ledger import LedgerReader, LedgerWriter
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target

WORKLOAD = Workload.linear()
DEFAULTS = {name: values[0] for name, values in ADAPTER.options.items()}
COMBINATIONS = [
    options
    for values in itertools.product(*ADAPTER.options.values())
    if ADAPTER.valid(options := dict(zip(ADAPTER.options, values, strict=True)))
]
APIS = ADAPTER.options["api"]

Call = Callable[[Any], Outcome]


def token(question: str, delivery: int) -> str:
    return Token(Question.parse(question), delivery).text


def start(life: Any) -> Outcome:
    return life.start()


def recover(life: Any) -> Outcome:
    return life.recover(branch=None)


def restart(life: Any) -> Outcome:
    return life.restart()


def inspect(life: Any) -> Outcome:
    return life.inspect(branch=None)


def resume(question: str, delivery: int, address: str | None = None) -> Call:
    answer = token(question, delivery)
    return lambda life: life.resume(Question.parse(question), answer, address=address, branch=None)


def fork(question: str, delivery: int, address: str) -> Call:
    return lambda life: life.fork(Question.parse(question), token(question, delivery), address=address)


TRACE = (start, resume("2.1", 1), resume("2.2", 2))
WHOLE = ("1", "2:2.1#1=yes,2.2#2=yes", "3")


class Run:
    """One run and its present life; `reload` drops the life, a crash does so too."""

    def __init__(self, folder: Path, workload: Workload = WORKLOAD, **options: str) -> None:
        folder.mkdir(parents=True)
        (folder / "store").mkdir()
        self.ledger = LedgerReader(folder / "ledger")
        self.entries: list[Entry] = []
        self.passed: list[str] = []
        self._folder, self._workload = folder, workload
        self._options = DEFAULTS | options
        self._memory: dict[str, Any] = {}
        self._life: Any = None
        self.env = self._new_env()

    def _new_env(self) -> Env:
        writer = LedgerWriter(self._folder / "ledger")
        return Env(self._folder / "store", self._options, self._workload, self._memory, ledger=writer)

    def __call__(self, call: Call, crash: CrashPoint | None = None, poison: int | None = None) -> Outcome:
        self.env.arm(crash, poison)
        try:
            self._life = self._life or ADAPTER.life(self.env)
            return call(self._life)
        finally:
            self.passed = list(self.env.passed)
            self.entries += self.ledger.take()

    def dies(self, call: Call, crash: CrashPoint) -> None:
        with pytest.raises(Crash):
            self(call, crash)
        assert self.env.dead
        self.reload()

    def reload(self) -> None:
        self._memory = copy.deepcopy(self._memory)
        life, self._life = self._life, None
        if life is not None:
            life.close()
        self.env.dead = True
        self.env.ledger.close()
        self.env = self._new_env()

    @property
    def frontier(self) -> Frontier:
        return ADAPTER.frontier(self.env, None)

    @property
    def fired(self) -> list[int]:
        return [entry.task for entry in self.entries if entry.kind == "effect"]

    def finish(self) -> Outcome:
        """Recover, send the input when nothing is durable, answer whatever is asked."""
        try:
            outcome = self(recover)
        except Exception as error:
            assert type(error).__name__ == "EmptyInputError", error
            outcome = self(start)
        for delivery in range(10, 14):
            if outcome.kind != "parked":
                break
            outcome = self(resume(outcome.asked[0].question.text, delivery))
        return outcome


@pytest.fixture
def new_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def make(workload: Workload = WORKLOAD, **options: str) -> Run:
        runs.append(Run(tmp_path / f"run-{len(runs)}", workload, **options))
        return runs[-1]

    yield make
    for run in runs:
        run.reload()


def texts(outcome: Outcome) -> tuple[str, ...]:
    assert outcome.marks is not None
    return tuple(mark.text for mark in outcome.marks)


def asked(outcome: Outcome) -> list[str]:
    assert outcome.kind == "parked" and outcome.announced
    return [one.question.text for one in outcome.asked]


def rows(run: Run) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database(run.env))) as connection:
        return [row for table in ("checkpoints", "writes") for row in connection.execute(f"SELECT * FROM {table}")]


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(options.values()))
def test_park_resume_complete(new_run: Callable[..., Run], options: dict[str, str]) -> None:
    run = new_run(**options)
    assert asked(run(start)) == ["2.1"]
    assert run.frontier.done == (1,)
    run.reload()
    assert asked(run(TRACE[1])) == ["2.2"]
    done = run(TRACE[2])
    assert (done.kind, texts(done)) == ("completed", WHOLE)
    assert run.fired == [1, 2, 3]
    reads = [[mark.text for mark in entry.reads] for entry in run.entries if entry.kind == "effect"]
    assert reads == [[], ["1"], list(WHOLE[:2])]
    before = run.frontier
    assert before.done == (1, 2, 3)
    seen = run(inspect)
    assert (seen.kind, texts(seen)) == ("inert", WHOLE)
    assert run.frontier == before and run.fired == [1, 2, 3]
    assert threading.active_count() == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("saver", ADAPTER.options["saver"])
def test_gates_of_one_question_are_served_their_own_answers(new_run: Callable[..., Run], api: str, saver: str) -> None:
    run = new_run(Workload.linear(3, {1: 1, 3: 1}), api=api, saver=saver)
    assert asked(run(start)) == ["1.1"]
    assert asked(run(resume("1.1", 1))) == ["3.1"]
    assert run.frontier.done == (1, 2)
    assert texts(run(resume("3.1", 2))) == ("1:1.1#1=yes", "2", "3:3.1#2=yes")


@pytest.mark.parametrize("api", APIS)
def test_an_addressed_resume_is_keyed_by_the_interrupt(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(api=api)
    address = run(start).asked[0].address
    assert address is not None
    checkpoint, _, interrupt = address.partition("/")
    assert checkpoint == run.frontier.head and len(interrupt) == 32
    assert asked(run(resume("2.1", 1, address))) == ["2.2"]


@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_an_answer_is_keyed_only_when_the_framework_demands_it(new_run: Callable[..., Run], executor: str) -> None:
    """With `durability=exit` the functional API keeps the interrupts of the epoch before and then wants to know which."""
    run = new_run(api="functional", durability="exit", executor=executor)
    run(start)
    assert asked(run(restart)) == ["2.1"]
    run.reload()
    with pytest.raises(RuntimeError, match="interrupt id"):
        run(resume("2.2", 1))
    assert run.fired == [1, 1] and run.frontier.done == (1,)
    assert asked(run(resume("2.1", 2))) == ["2.2"]
    done = run(resume("2.2", 3))
    assert (done.kind, texts(done)) == ("completed", ("1", "2:2.1#2=yes,2.2#3=yes", "3"))


def test_a_fork_is_keyed_too_when_the_framework_demands_it(new_run: Callable[..., Run]) -> None:
    run = new_run(Workload.linear(3, {2: 1}), api="functional", durability="exit")
    run(start)
    address = run(restart).asked[0].address
    assert address is not None
    assert run(fork("2.1", 1, address)).kind == "completed"
    assert run.fired[-2:] == [2, 3]


@pytest.mark.parametrize(("api", "durability"), [*itertools.product(APIS, ADAPTER.options["durability"])])
def test_nothing_but_the_answer_is_on_the_wire_unless_demanded(
    new_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, api: str, durability: str
) -> None:
    run, sent = new_run(api=api, durability=durability), []
    run(start)
    invoke = run._life._app.invoke

    def recording(payload: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(payload)
        return invoke(payload, *args, **kwargs)

    monkeypatch.setattr(run._life._app, "invoke", recording)
    run(resume("2.1", 1))
    assert [command.resume for command in sent] == [token("2.1", 1)]


@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_not_sent_again_for_another_runtime_error(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(api=api)
    run(start)
    run(resume("2.1", 1))
    with pytest.raises(TaskFailure):
        run(resume("2.2", 2), CrashPoint("effect.after:2", by="exception"))
    assert run.fired == [1, 2]


@pytest.mark.parametrize("executor", ["inline", "queue"])
@pytest.mark.parametrize(("api", "saver"), [*itertools.product(APIS, ADAPTER.options["saver"])])
def test_checkpoint_ids_grow_across_lives(new_run: Callable[..., Run], api: str, saver: str, executor: str) -> None:
    """No identifier is drawn twice, also after a death that left a write without its checkpoint."""
    heads: list[list[str]] = []
    for _ in range(2):
        run, heads_of_run = new_run(api=api, saver=saver, executor=executor), []
        for call, hook in (
            (start, None),
            (restart, "put_writes.after"),
            (recover, None),
            (restart, "put.before"),
            (restart, None),
            (resume("2.1", 1), None),
            (resume("2.2", 2), None),
            (restart, None),
        ):
            if hook is None:
                run(call)
                run.reload()
            else:
                run.dies(call, CrashPoint(hook))
            head = run.frontier.head
            assert head is not None
            heads_of_run.append(head)
        heads.append(heads_of_run)
    assert heads[0] == heads[1]
    assert heads[0] == sorted(heads[0]) and len(set(heads[0])) >= 4


@pytest.mark.parametrize("api", APIS)
def test_a_fork_continues_from_the_checkpoint_and_moves_the_head(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(Workload.linear(3, {2: 1}), api=api)
    address = run(start).asked[0].address
    assert address is not None
    run(resume("2.1", 1))
    trunk = run.frontier.head
    forked = run(fork("2.1", 2, address))
    assert forked.kind == "completed"
    assert run.frontier.done == (1, 2, 3)
    assert run.frontier.head is not None and trunk is not None and run.frontier.head > trunk
    assert ADAPTER.frontier(run.env, trunk).done == (1, 2, 3)


@pytest.mark.parametrize(("api", "saver"), [*itertools.product(APIS, ADAPTER.options["saver"])])
@pytest.mark.parametrize("durability", ADAPTER.options["durability"])
def test_a_restart_is_a_new_epoch(new_run: Callable[..., Run], api: str, saver: str, durability: str) -> None:
    """Marks of earlier epochs stay in the state, and never count in the present frontier."""
    run = new_run(Workload.linear(3, {1: 1, 3: 1}), api=api, saver=saver, durability=durability)
    run(start)
    run(resume("1.1", 1))
    run(resume("3.1", 2))
    assert run.frontier.done == (1, 2, 3)
    assert asked(run(restart)) == ["1.1"]
    assert run.frontier.done == ()
    run.reload()
    assert asked(run(resume("1.1", 3))) == ["3.1"]
    assert run.frontier.done == (1, 2)
    done = run(resume("3.1", 4))
    assert texts(done) == ("1:1.1#1=yes", "2", "3:3.1#2=yes", "1:1.1#3=yes", "2", "3:3.1#4=yes")
    assert run.frontier.done == (1, 2, 3)


@pytest.mark.parametrize("api", APIS)
def test_a_crash_in_a_restart_leaves_one_epoch_or_the_other(new_run: Callable[..., Run], api: str) -> None:
    workload = Workload.linear(2, {})
    probe = new_run(workload, api=api)
    probe(start)
    probe(restart)
    seen = set()
    for point in points(probe.passed):
        run = new_run(workload, api=api)
        run(start)
        run.dies(restart, point)
        assert run.frontier.done is not None
        seen.add(run.frontier.done)
        fired_again = run.fired[2:]
        assert run.frontier.done == (1, 2) or set(run.frontier.done) <= set(fired_again)
    assert seen >= {(1, 2), (), (1,)}


def points(passed: list[str]) -> list[CrashPoint]:
    counted: Counter[str] = Counter()
    found = []
    for hook in passed:
        counted[hook] += 1
        found.append(CrashPoint(hook, counted[hook]))
    return found


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("executor", "saver"), [("inline", "sqlite"), ("queue", "sqlite"), ("inline", "memory")])
def test_a_death_at_every_hook(new_run: Callable[..., Run], api: str, executor: str, saver: str) -> None:
    """No task is in the frontier whose effect is absent, no later call of the dead life counts, a fresh life completes."""
    options = {"api": api, "executor": executor, "saver": saver}
    for at, call in enumerate(TRACE):
        probe = new_run(**options)
        for earlier in TRACE[:at]:
            probe(earlier)
        probe(call)
        for point in points(probe.passed):
            run = new_run(**options)
            for earlier in TRACE[:at]:
                run(earlier)
            run.dies(call, point)
            done = run.frontier.done
            assert done is not None and set(done) <= set(run.fired), point
            assert done == WORKLOAD.order[: len(done)], point
            if executor == "inline":
                assert len(set(run.fired) - set(done)) <= 1, point
            outcome = run.finish()
            assert outcome.kind == "completed", point
            assert [mark.task for mark in outcome.marks or ()] == [1, 2, 3], point


@pytest.mark.parametrize(("api", "durability"), [*itertools.product(APIS, ADAPTER.options["durability"])])
def test_the_stock_pool_dies_by_copies_of_its_store(tmp_path: Path, api: str, durability: str) -> None:
    """Photographs taken while other threads go on are stores that recover, and record no effect that has not fired."""
    target = Target(ADAPTER, {"api": api, "durability": durability, "executor": "threads"})
    assert target.capabilities.images and not target.capabilities.in_process
    commands = [Command("start"), *(Command("resume", Token(Question(2, i), i)) for i in (1, 2))]
    with ImageSession(target, WORKLOAD, tmp_path / "swept") as session:
        fired: set[int] = set()
        for command in commands:
            sweep = session.sweep(command)
            for image in sweep.images:
                done = image.observation.after.done
                assert done is not None, image.points
                assert set(done) <= fired | {mark.task for mark in image.observation.effects}, image.points
            assert sweep.images
            last = sweep.images[-1]
            fired |= {mark.task for mark in sweep.observation.effects}
        assert sweep.observation.outcome.kind == "completed" and fired == {1, 2, 3}
        with session.session_at(last, tmp_path / "on") as went_on:
            assert went_on.execute(Command("recover")).outcome.kind == "completed"


def test_the_stock_pool_has_no_death_in_process(tmp_path: Path) -> None:
    target = Target(ADAPTER, {"executor": "threads"})
    with open_session(target, WORKLOAD, tmp_path / "run") as session, pytest.raises(Unsupported):
        session.execute(Command("start", crash=CrashPoint("put_writes.before")))


@pytest.mark.parametrize("saver", ADAPTER.options["saver"])
def test_every_call_of_a_dead_life_raises_and_writes_nothing(new_run: Callable[..., Run], saver: str) -> None:
    run = new_run(saver=saver)
    run(start)
    before = run.frontier
    with pytest.raises(Crash):
        run(resume("2.1", 1), CrashPoint("get_tuple.after"))
    for call in (recover, restart, resume("2.1", 1), inspect):
        with pytest.raises(Crash):
            run(call)
    assert run.frontier == before and run.fired == [1]


def test_the_deferring_executor_loses_what_nobody_awaited(new_run: Callable[..., Run]) -> None:
    """With `durability=async` a step runs while the record of the step before is still on its way."""
    workload = Workload.linear(3, {})
    for executor, lost in (("inline", {2}), ("queue", {1, 2})):
        run = new_run(workload, durability="async", executor=executor)
        run.dies(start, CrashPoint("effect.after:2"))
        assert set(run.fired) - set(run.frontier.done or ()) == lost


@pytest.mark.parametrize("api", APIS)
def test_an_exception_of_the_task_comes_out_and_can_be_retried(new_run: Callable[..., Run], api: str) -> None:
    run = new_run(api=api)
    with pytest.raises(TaskFailure):
        run(start, CrashPoint("effect.before:1", by="exception"))
    assert run.frontier.done == ()
    assert asked(run(recover)) == ["2.1"]
    assert run.fired == [1]


def test_a_hook_stands_before_and_after_every_read_record_and_effect(new_run: Callable[..., Run]) -> None:
    run = new_run(Workload.linear(1, {}), api="functional")
    run(start)
    calls = ["get_tuple", "put", "effect", "put_writes", "put_writes", "put", "get_tuple"]
    assert [hook.partition(":")[0] for hook in run.passed] == [
        f"{call}.{when}" for call in calls for when in ("before", "after")
    ]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_five_executions_pass_the_same_hooks_and_leave_the_same_rows(
    new_run: Callable[..., Run], api: str, executor: str
) -> None:
    seen = set()
    for _ in range(5):
        run, hooks = new_run(api=api, executor=executor), []
        for call in TRACE:
            run(call)
            hooks += run.passed
            run.reload()
        seen.add((tuple(hooks), tuple(rows(run))))
    assert len(seen) == 1


def test_interleaved_runs_do_not_share_clock_or_executor(new_run: Callable[..., Run]) -> None:
    alone = [new_run(api=api, executor=executor) for api, executor in zip(APIS, ("inline", "queue"), strict=True)]
    mixed = [new_run(api=api, executor=executor) for api, executor in zip(APIS, ("inline", "queue"), strict=True)]
    for run in alone:
        for call in TRACE:
            run(call)
    for call in TRACE:
        for run in mixed:
            run(call)
    assert [rows(run) for run in mixed] == [rows(run) for run in alone]


def test_outside_a_life_langgraph_keeps_its_own_clock_and_pool(new_run: Callable[..., Run]) -> None:
    from langgraph.pregel import _checkpoint, _executor

    new_run()(start)
    assert _checkpoint.empty_checkpoint()["id"] != _checkpoint.empty_checkpoint()["id"]
    with _executor.get_executor_for_config({}) as pool:
        assert pool.submit(threading.current_thread).result() is not threading.current_thread()


@pytest.mark.parametrize("api", APIS)
def test_damage_is_what_its_kind_says(new_run: Callable[..., Run], api: str) -> None:
    for kind in ADAPTER.capabilities(DEFAULTS | {"api": api}).tamper:
        run = new_run(api=api)
        run(start)
        head = run.frontier.head
        before = rows(run)
        run.reload()
        ADAPTER.tamper(run.env, kind)
        if kind == "empty":
            assert database(run.env).read_bytes() == b"" and run.frontier == Frontier(())
            continue
        assert len([row for row in rows(run) if row not in before]) == 1
        if kind == "truncated":
            assert run.frontier.done is None and run.frontier.why and run.frontier.head == head
            with pytest.raises(ValueError):
                run(recover)
            continue
        assert run.frontier == Frontier((1,), head=head)
        with reading(run.env) as reader:
            record = reader.record(head or "")
        assert record is not None
        assert {name: record.values.get(name, "gone") for name in ("marks", "note")} == {
            "marks": ["1"],
            "note": {"dropped-field": "gone", "wrong-type": 17}[kind],
        }


def test_damage_that_makes_no_sense_is_unsupported(new_run: Callable[..., Run]) -> None:
    assert ADAPTER.capabilities(DEFAULTS | {"saver": "memory"}).tamper == ()
    cases: list[tuple[dict[str, str], str]] = [
        ({"saver": "memory"}, "empty"),
        ({"api": "functional"}, "wrong-type"),
        ({}, "extra-field"),
    ]
    for options, kind in cases:
        run = new_run(**options)
        run(start)
        with pytest.raises(Unsupported):
            ADAPTER.tamper(run.env, kind)


def test_a_file_that_is_no_database_is_unknown_not_empty(new_run: Callable[..., Run]) -> None:
    run = new_run()
    database(run.env).write_bytes(b"this is no database at all" * 100)
    assert run.frontier.done is None and "not a database" in run.frontier.why


def test_capabilities_follow_the_options() -> None:
    sync, late = ADAPTER.capabilities(DEFAULTS), ADAPTER.capabilities(DEFAULTS | {"durability": "exit", "saver": "memory"})
    assert sync.records and not sync.documented and sync.durable and sync.schema and sync.deterministic
    assert not late.records and [rule.switch for rule in late.documented] == ["LateRecord"] and not late.durable
    assert not ADAPTER.capabilities(DEFAULTS | {"api": "functional"}).schema
    assert not ADAPTER.capabilities(DEFAULTS | {"executor": "threads"}).deterministic
    assert sync.in_process and not ADAPTER.capabilities(DEFAULTS | {"executor": "threads"}).in_process
    assert not ADAPTER.valid(DEFAULTS | {"api": "functional", "schema": "pydantic"})
