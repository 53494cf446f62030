"""The CrewAI adapter on the real framework, in an environment of its own: translation, deaths, damage, and what the fuzzer
must find in CrewAI 1.15.2 by itself."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from campaigns import campaign
from crewai_runs import (
    RECOVER,
    RESTART,
    START,
    TRACE,
    VERSION,
    WHOLE,
    answer,
    asked,
    fired,
    killed,
    marks,
    run,
    send,
    target,
)

from fuzzresume.contract.commands import ELSEWHERE, Command, CrashPoint, Turn
from fuzzresume.contract.monitor import Monitor, reduce
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import MODES, open_session
from fuzzresume.harness.target import BadOption

PLANES = ("persist", "checkpoint")
COMBINATIONS = [
    {"plane": "persist"},
    {"plane": "persist", "state": "unstructured", "recover": "call"},
    {"plane": "checkpoint"},
    {"plane": "checkpoint", "state": "unstructured", "executor": "queue"},
    {"plane": "checkpoint", "answer": "provider"},
]
UNGATED = Workload.linear(3, {})


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(options.values()))
def test_a_run_parks_takes_its_answers_and_completes(tmp_path: Path, options: dict[str, str]) -> None:
    with run(tmp_path, **options) as session:
        seen = session.execute(START)
        assert asked(seen) == ["2.1"] and fired(seen) == ["1"] and marks(seen) == ("1",) and seen.after.done == (1,)
        seen = session.execute(TRACE[1])
        assert asked(seen) == ["2.2"] and seen.after.done == (1,)
        if options.get("answer") != "provider":
            assert fired(seen) == []
            seen = session.execute(TRACE[2])
            assert seen.outcome.kind == "completed" and marks(seen) == WHOLE and seen.after.done == (1, 2, 3)
            assert fired(seen) == list(WHOLE[1:])
            (effect,) = [entry for entry in seen.entries if entry.kind == "effect" and entry.task == 3]
            assert [mark.text for mark in effect.reads] == list(WHOLE[:2])


@pytest.mark.parametrize("plane", PLANES)
def test_any_task_can_be_a_gate(tmp_path: Path, plane: str) -> None:
    with run(tmp_path, Workload.linear(3, {1: 2, 3: 1}), plane=plane) as session:
        assert asked(session.execute(START)) == ["1.1"]
        assert asked(session.execute(answer("1.1", 1))) == ["1.2"]
        seen = session.execute(answer("1.2", 2))
        assert asked(seen) == ["3.1"] and fired(seen) == ["1:1.1#1=yes,1.2#2=yes", "2"] and seen.after.done == (1, 2)
        assert marks(session.execute(answer("3.1", 3))) == ("1:1.1#1=yes,1.2#2=yes", "2", "3:3.1#3=yes")


@pytest.mark.parametrize("plane", PLANES)
def test_reloads_and_looks_change_nothing(tmp_path: Path, plane: str) -> None:
    with run(tmp_path, plane=plane) as plain, run(tmp_path, plane=plane) as disturbed:
        for command in TRACE:
            expected = plain.execute(command)
            seen = disturbed.execute(command)
            assert (seen.outcome, seen.hooks, reduce(seen)) == (expected.outcome, expected.hooks, reduce(expected))
            for between in (Command("inspect"), Command("reload"), Command("inspect"), Command("inspect", kind=ELSEWHERE)):
                looked = disturbed.execute(between)
                assert looked.outcome.kind == "inert" and not looked.entries and looked.after == seen.after


def test_an_answer_to_nobody_is_refused(tmp_path: Path) -> None:
    for options in COMBINATIONS[:4]:
        with run(tmp_path, **options) as session:
            seen = send(session, [*TRACE, answer("2.2", 3, "stray")])
            assert seen.outcome.kind == "refused" and "No pending feedback" in seen.outcome.message and not seen.entries


@pytest.mark.parametrize(("plane", "older"), [("persist", WHOLE), ("checkpoint", ())])
def test_a_restart_begins_an_epoch_of_its_own(tmp_path: Path, plane: str, older: tuple[str, ...]) -> None:
    with run(tmp_path, plane=plane) as session:
        seen = send(session, [*TRACE, RESTART])
        assert asked(seen) == ["2.1"] and marks(seen) == (*older, "1") and seen.after.done == (1,)
        seen = send(session, [answer("2.1", 3), answer("2.2", 4)])
        assert marks(seen) == (*older, "1", "2:2.1#3=yes,2.2#4=yes", "3") and seen.after.done == (1, 2, 3)


def test_a_fork_is_a_branch_and_the_trunk_stays_within_reach(tmp_path: Path) -> None:
    workload = Workload.linear(3, {2: 1})
    for provided in ("pending", "provider"):
        with run(tmp_path, workload, plane="checkpoint", answer=provided) as session:
            seen = send(session, [START, answer("2.1", 1, "fork")])
            assert seen.outcome.kind == "completed" and fired(seen) == ["2:2.1#1=yes", "3"] and seen.before.done == (1,)
            if provided == "pending":
                seen = session.execute(answer("2.1", 2, branch="trunk"))
                assert fired(seen) == ["2:2.1#2=yes", "3"] and seen.before.done == (1,) and seen.after.done == (1, 2, 3)
    with run(tmp_path, workload, plane="persist") as session, pytest.raises(Unsupported):
        send(session, [START, answer("2.1", 1, "fork")])


def test_what_a_task_raises_comes_out(tmp_path: Path) -> None:
    for plane in PLANES:
        with run(tmp_path, plane=plane) as session:
            seen = session.execute(Command("start", crash=CrashPoint("effect.before:1", by="exception")))
            assert seen.outcome.kind == "failed" and seen.outcome.task == 1 and seen.after.done == ()
            assert session.execute(Command("retry")).outcome.kind == ("parked" if plane == "persist" else "refused")


@pytest.mark.parametrize(
    "options", [{"plane": "persist"}, {"plane": "checkpoint"}, {"plane": "checkpoint", "executor": "queue"}]
)
def test_every_way_to_die_agrees_at_every_hook(tmp_path: Path, options: dict[str, str]) -> None:
    """Outcome, effects, entries and frontier of the death, and of the recovery that follows it."""
    workload = Workload.linear(2, {2: 1})
    with run(tmp_path, workload, **options) as session:
        hooks = [session.execute(command).hooks for command in (START, answer("2.1", 1))]
    for at, command in enumerate((START, answer("2.1", 1))):
        counted: Counter[str] = Counter()
        for hook in hooks[at]:
            counted[hook] += 1
            deaths = []
            for mode in MODES:
                with run(tmp_path, workload, mode, **options) as session:
                    if at:
                        session.execute(START)
                    died = session.execute(killed(command, hook, counted[hook]))
                    recovered = session.execute(RECOVER)
                    assert died.outcome.kind == "crashed", (mode, hook)
                    deaths.append((died.hooks, reduce(died), died.after.done, reduce(recovered), recovered.after.done))
            assert deaths[0] == deaths[1] == deaths[2], (command.op, hook, counted[hook])


def test_five_executions_pass_the_same_hooks(tmp_path: Path) -> None:
    for options in COMBINATIONS:
        seen = set()
        for _ in range(5):
            with run(tmp_path, **options) as session:
                seen.add(tuple((o.hooks, o.outcome, reduce(o)) for o in map(session.execute, (*TRACE, RECOVER, RESTART))))
        assert len(seen) == 1, options


def test_the_hooks_stand_around_every_write_and_read(tmp_path: Path) -> None:
    def calls(plane: str) -> list[str]:
        with run(tmp_path, Workload.linear(1, {1: 1}), plane=plane) as session:
            hooks = itertools.chain.from_iterable(session.execute(command).hooks for command in (START, answer("1.1", 1)))
            return [hook for hook in hooks if not hook.endswith(".after")]

    assert calls("persist") == [
        "load_state.before", "save_pending.before",
        "load_pending.before", "save_state.before", "clear_pending.before", "effect.before:1", "effect.after:1",
        "save_state.before",
    ]  # fmt: skip
    file = ["checkpoint.before", "checkpoint.opened", "checkpoint.half"]
    assert calls("checkpoint") == [
        "save_pending.before", *file,
        "load_pending.before", "clear_pending.before", *file, "effect.before:1", "effect.after:1", *file,
    ]  # fmt: skip


@pytest.mark.parametrize("plane", PLANES)
def test_damage_is_refused(tmp_path: Path, plane: str) -> None:
    kinds = target(plane=plane).capabilities.tamper
    assert set(kinds) == {"truncated", "wrong-type"} | ({"empty"} if plane == "checkpoint" else set())
    for kind in kinds:
        with run(tmp_path, plane=plane) as session:
            seen = send(session, [START, Command("tamper", kind=kind), RECOVER])
            assert seen.outcome.kind == "refused" and not seen.effects, (kind, seen.outcome)
            assert (seen.before.done is None) == (kind != "wrong-type")


def test_what_cannot_be_damaged_is_unsupported(tmp_path: Path) -> None:
    assert "wrong-type" not in target(state="unstructured").capabilities.tamper
    for options, kind in (({"state": "unstructured"}, "wrong-type"), ({"plane": "persist"}, "empty")):
        with run(tmp_path, **options) as session, pytest.raises(Unsupported):
            send(session, [START, Command("tamper", kind=kind)])


def test_capabilities_follow_the_options() -> None:
    checkpoint, persist = (target(plane=plane).capabilities for plane in ("checkpoint", "persist"))
    assert checkpoint.fork and checkpoint.trunk and not checkpoint.records and not checkpoint.addressed
    assert persist.fork is None and not persist.trunk and persist.records and not persist.documented
    assert [rule.switch for rule in checkpoint.documented] == ["LateRecord"] and not checkpoint.names_question
    assert checkpoint.in_process and checkpoint.deterministic and checkpoint.schema
    assert not target(state="unstructured").capabilities.schema
    threads = target(executor="threads").capabilities
    assert not threads.in_process and not threads.deterministic and threads.images
    for nonsense in ({"plane": "persist", "executor": "queue"}, {"plane": "checkpoint", "recover": "call"}):
        with pytest.raises(BadOption):
            target(**nonsense)


def test_the_bus_own_pool_runs_and_dies_by_copies_only(tmp_path: Path) -> None:
    with run(tmp_path, executor="threads") as session:
        assert asked(session.execute(START)) == ["2.1"]
    with run(tmp_path, executor="threads") as session, pytest.raises(Unsupported):
        session.execute(killed(START, "effect.before:1"))


def test_checkpoints_that_are_put_off_leave_several_tasks_in_doubt(tmp_path: Path) -> None:
    """Documented: checkpoint writes are best-effort."""
    for executor, done in (("inline", (1, 2)), ("queue", ())):
        with run(tmp_path, UNGATED, plane="checkpoint", executor=executor) as session:
            died = session.execute(killed(START, "effect.after:3"))
            assert fired(died) == ["1", "2", "3"] and died.after.done == done


def test_the_known_report_task_1_runs_twice(tmp_path: Path) -> None:
    """`@persist`, three tasks, an exception in task 2, recovery by id."""
    failing = Command("start", crash=CrashPoint("effect.before:2", by="exception"))
    with run(tmp_path, UNGATED, plane="persist") as session:
        died = session.execute(failing)
        assert died.outcome.kind == "failed" and died.after.done == (1,)
        seen = session.execute(RECOVER)
        assert seen.outcome.kind == "completed" and marks(seen) == ("1", "1", "2", "3")
    with run(tmp_path, UNGATED, plane="checkpoint") as session:
        seen = send(session, [failing, RECOVER])
        assert seen.outcome.kind == "completed" and marks(seen) == ("1", "2", "3") and fired(seen) == ["2", "3"]


def test_a_checkpoint_after_a_restore_is_restored_from_the_wrong_flow(tmp_path: Path) -> None:
    with run(tmp_path, UNGATED, plane="checkpoint") as session:
        first = session.execute(killed(START, "effect.before:2"))
        assert first.after.done == (1,)
        second = session.execute(killed(RECOVER, "effect.before:3"))
        assert fired(second) == ["2"] and second.after.done == (1, 2)
        assert fired(session.execute(RECOVER)) == ["1", "2", "3"]


def test_an_answer_makes_checkpoints_forget_what_came_before(tmp_path: Path) -> None:
    with run(tmp_path, Workload.linear(3, {2: 1}), plane="checkpoint") as session:
        seen = send(session, [START, killed(answer("2.1", 1), "effect.before:3"), RECOVER])
        assert fired(seen) == ["1", "3"] and seen.before.done == (1, 2)


@pytest.mark.parametrize("mode", ("in-process", "forked"))
def test_a_half_written_checkpoint_refuses_recovery_for_ever(tmp_path: Path, mode: str) -> None:
    workload, monitor = UNGATED, Monitor(Reference(UNGATED))
    with open_session(target(plane="checkpoint"), workload, tmp_path / mode, mode) as session:  # type: ignore[arg-type]
        commands = [killed(START, "checkpoint.half", 2), RECOVER, RECOVER]
        seen = [session.execute(command) for command in commands]
        assert [one.outcome.kind for one in seen] == ["crashed", "refused", "refused"] and seen[0].after.done is None
        assert any(monitor.observe(*exchange) for exchange in zip(commands[:2], seen, strict=False))


def test_the_twins_of_a_recovery_have_other_schedules_and_agree(tmp_path: Path) -> None:
    for options in COMBINATIONS[::2]:
        with run(tmp_path, UNGATED, "forked", **options) as session:
            seen = send(session, [killed(START, "effect.before:2"), Command("recover2")])
            assert seen.twin is not None and reduce(seen.twin) == reduce(seen)._replace(expect=reduce(seen.twin).expect)
            assert fired(seen.twin) == fired(seen)


def test_processes_that_answer_one_question_are_all_served(tmp_path: Path) -> None:
    turns = (Turn(0, "save_state.before"), Turn(1))
    race = Command("race", racers=(answer("2.1", 1), answer("2.1", 2)), turns=turns)
    with run(tmp_path, Workload.linear(2, {2: 1}), "forked", plane="persist") as session:
        session.execute(START)
        assert sorted(fired(session.execute(race))) == ["2:2.1#1=yes", "2:2.1#2=yes"]


@pytest.fixture(scope="module")
def report():  # type: ignore[no-untyped-def]
    return campaign(target(), {}, seed=0, runs=60)[0]


def test_a_campaign_finds_what_is_known(report) -> None:  # type: ignore[no-untyped-def]
    verdicts = {name: verdict.verdict for name, verdict in report.verdicts.items()}
    assert {name for name, verdict in verdicts.items() if verdict == "violated"} >= {"EO", "CV", "CO"}
    assert any(f.explained_by == (("InvalidPersist",),) for f in report.findings)
    assert any(f.explained_by == (("Misroute",),) for f in report.findings)
    assert verdicts["IN"] == "holds" and report.target.label == VERSION
