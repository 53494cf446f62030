"""What the durable engine owes under its legal choices, and what each planted fault costs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from fuzzresume.adapters import mutant, reference
from fuzzresume.adapters.durable.faults import FAULTS
from fuzzresume.adapters.durable.log import DATABASE, Log
from fuzzresume.adapters.durable.policy import OPTIONS, sensible
from fuzzresume.contract.commands import TAMPER_KINDS, Command, CrashPoint
from fuzzresume.contract.explain import explain
from fuzzresume.contract.monitor import Violation
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.run import Run, scope_of
from fuzzresume.harness.session import crash_points
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target

WORKLOAD = Workload.linear()
REFERENCE = Reference(WORKLOAD)
Q1, Q2 = Question(2, 1), Question(2, 2)
A, B, C, D = Token(Q1, 1), Token(Q2, 2), Token(Q1, 3), Token(Q2, 4)
START, FIRST, SECOND, RECOVER = Command("start"), Command("resume", A), Command("resume", B), Command("recover")
MARKS = (Mark(1), Mark(2, (A.text, B.text)), Mark(3))
SINGLES = [(name, value) for name, values in OPTIONS.items() for value in values]


def killed(token: Token, hook: str, nth: int = 1) -> Command:
    return Command("resume", token, crash=CrashPoint(hook, nth))


def play(adapter: Adapter, *commands: Command, **options: str) -> tuple[list[Observation], Violation | None]:
    """The observations of a run in a private folder, up to the first violation, and that violation."""
    target = Target(adapter, {**{name: values[0] for name, values in adapter.options.items()}, **options})
    with tempfile.TemporaryDirectory() as folder, open_session(target, WORKLOAD, Path(folder) / "run") as session:
        run = Run(session, REFERENCE, scope_of(target.capabilities, crashes=9, specials=9))
        seen = [run.send(command) for command in commands if not run.over]
        return seen, run.violation


def honest(*commands: Command, **options: str) -> list[Observation]:
    seen, violation = play(reference.ADAPTER, *commands, **options)
    assert violation is None, violation
    return seen


def last(*commands: Command, **options: str) -> Observation:
    return honest(*commands, **options)[-1]


def asked(observation: Observation) -> list[Question]:
    return [item.question for item in observation.outcome.asked]


def test_a_run_without_trouble_and_its_hooks() -> None:
    start, first, second = honest(START, FIRST, SECOND)
    commit, effect = ("commit.before", "commit.half", "commit.after"), "effect.before:{0} effect.after:{0}"
    assert start.hooks == (*commit, *effect.format(1).split(), *commit, *commit)
    assert first.hooks == (*commit, *commit)
    assert second.hooks == (*commit, *effect.format(2).split(), *commit, *effect.format(3).split(), *commit)
    assert (asked(start), asked(first), second.outcome.marks) == ([Q1], [Q2], MARKS)
    assert second.after.done == (1, 2, 3)
    assert [e.reads for e in second.entries if e.kind == "effect"] == [MARKS[:1], MARKS[:2]]


@pytest.mark.parametrize(("name", "value"), SINGLES)
def test_every_choice_survives_a_kill_at_every_hook(name: str, value: str) -> None:
    options = {name: value}
    assert sensible(options)
    plain = [START, FIRST, SECOND]
    for i, observation in enumerate(honest(*plain, **options)):
        for point in crash_points(observation.hooks):
            dying = Command(plain[i].op, plain[i].token, crash=point)
            seen = honest(
                *plain[:i], dying, RECOVER, Command("restart"), Command("resume", C), Command("resume", D), **options
            )
            assert seen[i].outcome.kind in ("crashed", "failed")


def test_nothing_is_written_after_a_death(tmp_path: Path) -> None:
    target = Target(reference.ADAPTER, {})
    with open_session(target, WORKLOAD, tmp_path / "run") as session:
        session.execute(START)
        before = (session.store.folder / DATABASE).read_bytes()
        assert session.execute(killed(A, "commit.before")).outcome.kind == "crashed"
        assert (session.store.folder / DATABASE).read_bytes() == before


@pytest.mark.parametrize(
    ("doubt", "kind", "token"), [("old", "parked", A), ("new", "parked", C), ("refuse", "refused", None)]
)
def test_an_answer_in_doubt(doubt: str, kind: str, token: Token | None) -> None:
    dying = killed(A, "commit.after")
    *_, served, end = honest(START, dying, Command("resume", C), SECOND, doubt=doubt)
    assert served.outcome.kind == kind
    if token is not None:
        assert end.effects[0] == Mark(2, (token.text, B.text))


@pytest.mark.parametrize(("doubt", "kind"), [("old", "completed"), ("new", "completed"), ("refuse", "refused")])
def test_only_the_record_acknowledges_an_answer_not_the_journal(doubt: str, kind: str) -> None:
    """The journal settles the task, so another answer cannot replace the old one, but nobody was told so yet."""
    dying = killed(B, "commit.after", 2)
    *_, crashed, end = honest(START, FIRST, dying, Command("resume", D), doubt=doubt, record="journal")
    assert crashed.after.done == (1,)
    assert end.outcome.kind == kind
    assert end.hooks.count("commit.after") == (3 if kind == "completed" else 0), "a row for an answer that cannot count"
    assert end.effects == ((Mark(3),) if kind == "completed" else ())


@pytest.mark.parametrize(("choice", "kind"), [("inert", "idle"), ("refuse", "refused"), ("recover", "parked")])
def test_the_very_answer_in_doubt_again(choice: str, kind: str) -> None:
    again = Command("redeliver", A)
    assert last(START, killed(A, "commit.after"), again, redeliver_crashed=choice).outcome.kind == kind


@pytest.mark.parametrize(("settled", "kind"), [("ignore", "parked"), ("refuse", "refused")])
def test_a_settled_answer_again(settled: str, kind: str) -> None:
    assert last(START, FIRST, Command("resume", C), settled=settled).outcome.kind == kind


@pytest.mark.parametrize("answer", OPTIONS["answer"])
def test_a_run_that_parks_again_after_a_refused_update_is_parked(answer: str) -> None:
    refused, recovered, inert = honest(
        START, FIRST, Command("resume", B, poison=2), RECOVER, Command("redeliver", A), answer=answer
    )[2:]
    assert refused.outcome.error == "InvalidUpdate" and refused.after.done == (1,)
    assert inert.outcome.kind == recovered.outcome.kind == ("completed" if answer == "first" else "parked")


def test_a_poisoned_run_may_be_refused_for_good() -> None:
    poisoned = Command("resume", B, poison=2)
    kinds = [o.outcome.kind for o in honest(START, FIRST, poisoned, RECOVER, RECOVER, poisoned="refuse")]
    assert kinds[2:] == ["refused"] * 3


@pytest.mark.parametrize(
    ("choice", "kind", "effects"),
    [
        ("new-empty", "parked", (Mark(1),)),
        ("new-accumulated", "parked", (Mark(1),)),
        ("refuse", "refused", ()),
        ("inert", "idle", ()),
        ("continue", "completed", (Mark(3),)),
    ],
)
def test_what_restart_means_after_a_crash(choice: str, kind: str, effects: tuple[Mark, ...]) -> None:
    end = last(START, FIRST, killed(B, "effect.before:3"), Command("restart"), restart=choice)
    assert (end.outcome.kind, end.effects) == (kind, effects)
    if kind == "parked":
        assert end.outcome.marks == ((*MARKS[:2], Mark(1)) if choice == "new-accumulated" else MARKS[:1])


@pytest.mark.parametrize("kind", TAMPER_KINDS)
@pytest.mark.parametrize("command", [RECOVER, SECOND, Command("restart"), Command("fork", C), Command("inspect")])
@pytest.mark.parametrize("prefix", [(START,), (START, FIRST)])
def test_a_damaged_store_is_refused_before_any_effect(kind: str, command: Command, prefix: tuple[Command, ...]) -> None:
    damage = Command("tamper", kind=kind)
    for choice in OPTIONS["extra_field"]:
        *_, damaged, end = honest(*prefix, damage, command, extra_field=choice)
        if kind == "extra-field" and choice == "ignore":
            assert damaged.after.done == (1,) and end.outcome.error in ("", "Refused")
        else:
            assert (end.outcome.kind, end.outcome.error, end.entries) == ("refused", "Damaged", ())
        if kind != "extra-field":
            assert damaged.after.done is None and damaged.after.why


def test_a_run_that_nobody_started_is_not_damaged(tmp_path: Path) -> None:
    assert Log(tmp_path).read() == ()
    assert list(tmp_path.iterdir()) == []


CRASHED = (START, FIRST, killed(B, "effect.before:3"))
STRIKES: dict[str, tuple[Command, ...]] = {
    "Replay": (*CRASHED, RECOVER),
    "PrefixReplay": (*CRASHED, RECOVER),
    "ReexecLast": (*CRASHED, RECOVER),
    "SkipTask": (*CRASHED, RECOVER),
    "NondetRecovery": (*CRASHED, Command("recover2")),
    "RefuseRecovery": (*CRASHED, RECOVER),
    "LateRecord": (START, FIRST, killed(B, "effect.after:3")),
    "ParkLost": (START, Command("reload"), FIRST),
    "AnswerLost": (START, FIRST, RECOVER),
    "ForkIgnore": (START, FIRST, SECOND, Command("fork", C), Command("resume", D)),
    "ForkLeak": (START, Command("fork", A), Command("recover", branch="trunk")),
    "DoubleConsume": (START, FIRST, SECOND, Command("redeliver", B)),
    "StrayPoisons": (START, FIRST, Command("redeliver", A), Command("restart")),
    "Misroute": (START, FIRST, Command("redeliver", A)),
    "InvalidPersist": (START, FIRST, Command("resume", B, poison=2)),
    "TamperAccept": (START, FIRST, Command("tamper", kind="wrong-type"), RECOVER),
    "InspectActs": (*CRASHED, Command("inspect")),
    "RestartMix": (START, FIRST, Command("restart")),
    "none-fits": (*CRASHED, RECOVER),
}
RACED = {"ConcurrentConsume", "RaceEffect"}
"""Faults that only several processes can show: tests/integration/test_races.py."""

REEXECUTIONS = {"Replay": (1, 2, 3), "PrefixReplay": (1, 3), "ReexecLast": (2, 3), "SkipTask": (), "none-fits": (3,)}


def test_every_fault_has_a_trace() -> None:
    assert STRIKES.keys() | RACED == FAULTS.keys() == set(mutant.ADAPTER.options["fault"])


@pytest.mark.parametrize("fault", STRIKES)
def test_a_fault_strikes_where_the_honest_engine_does_not(fault: str) -> None:
    honest(*STRIKES[fault])
    seen, violation = play(mutant.ADAPTER, *STRIKES[fault], fault=fault)
    assert violation is not None and violation.index == len(STRIKES[fault]) - 1
    causes = explain(REFERENCE, violation.sights)
    assert causes == () if fault == "none-fits" else (fault,) in causes
    if fault in REEXECUTIONS:
        assert tuple(mark.task for mark in seen[-1].effects) == REEXECUTIONS[fault]


@pytest.mark.parametrize("fault", [*REEXECUTIONS, "NondetRecovery", "RefuseRecovery", "LateRecord"])
def test_a_fault_of_recovery_needs_a_crash(fault: str) -> None:
    """An ordinary answer, a fork and a new epoch go on with nothing that died, also where the trunk did die."""
    for commands in (
        (START, FIRST, SECOND),
        (*CRASHED, Command("fork", C), Command("resume", D)),
        (*CRASHED, Command("restart")),
    ):
        if fault == "LateRecord" and commands[: len(CRASHED)] == CRASHED:
            continue
        assert play(mutant.ADAPTER, *commands, fault=fault)[1] is None


def test_a_reversed_state_is_in_the_store() -> None:
    target = Target(mutant.ADAPTER, {"fault": "none-fits"})
    with tempfile.TemporaryDirectory() as folder, open_session(target, WORKLOAD, Path(folder) / "run") as session:
        for command in CRASHED:
            session.execute(command)
        reply = session.execute(RECOVER)
        assert reply.outcome.marks == session.execute(Command("inspect")).outcome.marks == MARKS[::-1]
