"""The LangGraph adapter on the real framework: crash points, damage, frontier, determinism. What LangGraph gets wrong is
not asserted here; a case stands where both a right and a wrong engine would have to behave the same way."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("langgraph")

from langgraph_lives import APIS, DEFAULTS, Run, rows
from lives import TRACE, WORKLOAD, asked, inspect, points, recover, restart, resume, start

from fuzzresume.adapters._langgraph_store import database, reading
from fuzzresume.adapters.langgraph import ADAPTER
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Crash, Env, TaskFailure, Unsupported
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target


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
            found = reader.values(head or "", ("marks", "note"))
        assert {name: found.get(name, "gone") for name in ("marks", "note")} == {
            "marks": ["1"],
            "note": {"dropped-field": "gone", "wrong-type": 18}[kind],
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


@pytest.mark.parametrize("api", APIS)
def test_a_second_recovery_has_another_schedule_and_number_of_workers(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is recovered by the threads of a pool, then the original by this one; what they decide is compared."""
    where: list[bool] = []
    main, hook = threading.main_thread(), Env.hook

    def seen_from(env: Env, name: str) -> None:
        where.append(threading.current_thread() is main)
        hook(env, name)

    monkeypatch.setattr(Env, "hook", seen_from)
    target = Target(ADAPTER, {"api": api, "executor": "queue"})
    with open_session(target, Workload.linear(2), tmp_path / "run") as session:
        session.execute(Command("start"))
        where.clear()
        seen = session.execute(Command("recover2"))
    assert (seen.outcome.kind, seen.twin and seen.twin.outcome.kind) == ("parked", "parked")
    assert False in where and where[-1]
    assert threading.active_count() == 1


def test_no_schedule_is_one_that_the_saver_cannot_have() -> None:
    other = {
        (saver, executor): ADAPTER.capabilities({**DEFAULTS, "saver": saver, "executor": executor}).other_schedule
        for saver in ("sqlite", "async-sqlite", "postgres")
        for executor in ("inline", "queue")
    }
    assert other["sqlite", "queue"] == other["async-sqlite", "queue"] == {"executor": "threads"}
    assert other["postgres", "queue"] == {"executor": "inline"} and other["postgres", "inline"] == {"executor": "queue"}
