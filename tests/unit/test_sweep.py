"""Sweeps of the in-tree engine: what it keeps at every crash state, and what each class of fault looks like there."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from fuzzresume.adapters.durable.engine import Engine
from fuzzresume.adapters.durable.faults import FAULTS, Faults, ReexecLast, Step
from fuzzresume.adapters.durable.run import Branch
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.sweep.compare import barred, cheapest, differences
from fuzzresume.campaign.sweep.result import CrashState, Section, Swept
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_run import workspace
from fuzzresume.cli_sweep import exit_of
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.sweep_json import SweepFile, sweep_json
from fuzzresume.report.sweep_terminal import closing, row


def sweep(name: str, mode: Mode = "images", *, second: bool = False, **options: str) -> Swept:
    with workspace() as executor:
        swept = Sweeper(parse_target(name, options), executor, mode).run(second=second)
    assert swept.troubles == [] and not swept.interrupted
    return swept


def after_a_death(section: Section) -> bool:
    return "killed" in section.after or "exception" in section.after


def states(swept: Swept) -> list[CrashState]:
    return [state for section in (*swept.sections, *swept.second) for state in section.states]


@pytest.fixture(scope="module")
def reference() -> Swept:
    return sweep("reference", second=True)


def test_every_command_that_runs_tasks_is_swept(reference: Swept) -> None:
    swept = {section.command.partition("(")[0] for section in reference.sections}
    assert swept == {"start", "resume", "fork", "restart", "recover"}
    assert {point.by for state in states(reference) for point in state.points} == {"kill", "exception"}
    assert len(reference.second) == sum(len(s.states) for s in reference.sections if not after_a_death(s))


def test_the_branch_of_a_fork_is_swept_and_a_restart_wherever_the_run_stands(reference: Swept) -> None:
    led = [(section.command, section.after) for section in reference.sections if not after_a_death(section)]
    assert led == [
        ("start", ""),
        ("resume(a, gate 2 question 1)", ""),
        ("resume(b, gate 2 question 2)", ""),
        ("fork(c, gate 2 question 1)", ""),
        ("resume(d, gate 2 question 2)", "fork(c, gate 2 question 1)"),
        ("fork(c, gate 2 question 2)", ""),
        ("restart", "start"),
        ("restart", "resume(a, gate 2 question 1)"),
        ("restart", "resume(b, gate 2 question 2)"),
    ]
    assert all(section.states for section in reference.sections if not after_a_death(section))
    died = {section.after.partition(", killed")[0] for section in reference.sections if section.command == "restart"}
    assert {"start", "resume(b, gate 2 question 2)", "fork(c, gate 2 question 2)"} < died
    assert "fork(c, gate 2 question 1), then resume(d, gate 2 question 2)" in died
    recovered = {section.after.partition(", killed")[0] for section in reference.sections if section.command == "recover"}
    assert {f"{where}, then restart" for command, where in led if command == "restart"} < recovered
    headings = [(section.command, section.after) for section in reference.sections]
    assert len(set(headings)) == len(headings)


def test_the_reference_refires_the_one_task_in_doubt_and_nothing_else(reference: Swept) -> None:
    for state in states(reference):
        assert state.again == ({"EO-b": state.in_doubt} if state.window == "W2" else {}), state
        assert state.window in ("W1", "W2", "W3") and len(state.in_doubt) == (state.window == "W2"), state
        assert (state.lost, state.ended, state.broken) == ((), "completed", ()), state
    assert {state.window for state in states(reference)} == {"W1", "W2", "W3"}
    assert exit_of([reference], []) == Exit.OK


def test_a_torn_record_is_a_crash_state_of_its_own(reference: Swept) -> None:
    start = reference.sections[0].states
    (torn,) = [state for state in start if CrashPoint("commit.half", 2) in state.points]
    assert torn.points == (CrashPoint("commit.half", 2),)
    assert (torn.window, torn.frontier, torn.again) == ("W2", (), {"EO-b": (1,)})


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("refuse", {"refused"}),
        ("inert", {"inert"}),
        ("continue", {"continues", "inert"}),  # a run that is complete or parked has nothing to continue
        ("new-empty", {"new epoch, empty state"}),
        ("new-accumulated", {"new epoch, accumulated state"}),
    ],
)
def test_a_restart_is_what_the_policy_says(choice: str, words: set[str]) -> None:
    swept = sweep("reference", restart=choice)
    assert {state.restarted for state in states(swept) if state.frontier} == words
    assert not swept.violated


@pytest.mark.parametrize(
    "options",
    [
        {"recover_parked": "refuse", "empty_recover": "refuse", "recover_completed": "refuse"},
        {"latest": "trunk"},
        {"latest": "moved", "doubt": "refuse"},
        {"fork": "refuse", "answer": "with-record"},
        {"record": "journal", "park": "derived"},
    ],
)
def test_legal_choices_lose_nothing_and_never_get_stuck(options: dict[str, str]) -> None:
    swept = sweep("reference", second=True, **options)
    assert [state for state in states(swept) if state.lost or state.stuck or state.broken] == []
    assert {name for state in states(swept) for name in state.again} == {"EO-b"}


@pytest.mark.parametrize("mode", ["images", "in-process"])
@pytest.mark.parametrize(
    ("fault", "sign", "properties"),
    [
        ("ReexecLast", lambda state: "EO-a" in state.again, {"EO"}),
        ("LateRecord", lambda state: state.window == "several" and "EO-c" in state.again, {"EO"}),
        ("SkipTask", lambda state: state.lost and not state.stuck, {"PC"}),
        ("RefuseRecovery", lambda state: state.ended == "stuck: refused (Refused)", {"LV"}),
        # Recovered from a death in a restart that a death led to, the mix looks like a prefix that is not continued.
        ("RestartMix", lambda state: state.restarted == "breaks RR-RS", {"RS", "PC"}),
    ],
)
def test_a_planted_fault_shows_in_its_class(mode: Mode, fault: str, sign, properties: set[str]) -> None:
    swept = sweep("mutant", mode, fault=fault)
    struck = [state for state in states(swept) if sign(state)]
    assert struck
    assert {broken.property_name for state in struck for broken in state.broken} == properties
    assert any((fault,) in broken.explained_by for state in struck for broken in state.broken)
    assert exit_of([swept], []) == Exit.VIOLATED


class OnceAnsweredOnAFork(ReexecLast):
    """Only where a fork's branch took an answer after the fork."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        trunk, *forks = engine.run.branches.values()
        own = len({question for question, token in branch.answers.items() if trunk.answers.get(question) != token})
        return super().plan(engine, branch, recovering=recovering and branch in forks and own > 1)


class OnceRestarted(ReexecLast):
    """Only in an epoch that a restart began."""

    def plan(self, engine: Engine, branch: Branch, *, recovering: bool) -> list[Step]:
        first = next(iter(engine.run.branches))
        return super().plan(engine, branch, recovering=recovering and first != "b0")


@pytest.mark.parametrize(
    ("fault", "led"),
    [
        (OnceAnsweredOnAFork, lambda section: "resume(d, gate 2 question 2)" in section.command + section.after),
        (OnceRestarted, lambda section: "restart" in section.command + section.after),
    ],
)
def test_a_fault_that_needs_a_death_on_a_branch_or_in_a_restart(
    fault: type[Faults], led, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No death in another command shows it."""
    monkeypatch.setitem(FAULTS, "ReexecLast", fault)
    swept = sweep("mutant", fault="ReexecLast")
    broken = [section for section in swept.sections if any(state.broken for state in section.states)]
    assert all(led(section) for section in broken)
    struck = [state for section in broken if not after_a_death(section) for state in section.states if state.broken]
    assert struck and all("EO-a" in state.again for state in struck)
    assert {one.property_name for state in struck for one in state.broken} == {"EO"}


def test_a_branch_that_no_answer_reaches_is_swept_no_further() -> None:
    swept = sweep("reference", latest="trunk")
    assert [
        section.command for section in swept.sections if section.after.startswith("fork") and "resume" in section.command
    ] == []
    assert swept.notes == ["after fork(c, gate 2 question 1) an answer goes to the trunk, so the branch is swept no further"]


def test_a_branch_that_breaks_the_contract_is_swept_no_further() -> None:
    swept = sweep("mutant", fault="ForkIgnore")
    (resumed,) = [section for section in swept.sections if section.after == "fork(c, gate 2 question 1)"]
    assert [broken.property_name for broken in resumed.broken] == ["FD"]
    assert not any(section.command == "restart" and section.after.startswith("fork") for section in swept.sections)


def test_a_target_without_a_restart_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def restart(engine: Engine) -> None:
        raise Unsupported("the input is sent once")

    monkeypatch.setattr(Engine, "restart", restart)
    swept = sweep("reference")
    assert swept.notes == ["restart: the input is sent once"]
    assert all("restart" not in section.command + section.after for section in swept.sections)
    assert {state.restarted for state in states(swept)} == {"inapplicable: the input is sent once"}


def test_a_run_that_breaks_the_contract_without_a_death_is_swept_no_further() -> None:
    swept = sweep("mutant", fault="ParkLost")
    assert [bool(section.broken) for section in swept.sections] == [False, True]
    assert "no further" in swept.notes[0] and swept.violated


def test_the_same_sweep_gives_the_same_list(reference: Swept) -> None:
    again = sweep("reference", second=True)
    assert (again.sections, again.second) == (reference.sections, reference.second)


def test_ways_to_die_that_agree_and_one_that_does_not(reference: Swept) -> None:
    assert differences([reference, sweep("reference", "in-process", second=True)]) == []
    other = dataclasses.replace(reference, mode="forked", sections=list(reference.sections))
    first, *rest = other.sections[0].states
    odd = dataclasses.replace(first, window="W3"), *rest[:-1]
    other.sections[0] = dataclasses.replace(other.sections[0], states=odd)
    one, gone = differences([reference, other])
    assert one == "start, killed at commit.before: window is W1 images but W3 forked"
    assert gone == "start, exception at effect.after:1: a death images only"
    assert exit_of([reference, other], [one, gone]) == Exit.UNDETERMINED


def test_a_way_to_die_that_is_none_of_the_target() -> None:
    target = parse_target("reference")
    assert cheapest(target) == "images" and not barred(target, "forked")


def test_a_harness_that_breaks_is_undetermined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = parse_target("reference")

    def broken(store, branch):
        raise ZeroDivisionError("the reader is broken")

    monkeypatch.setattr(type(target.adapter), "frontier", lambda self, store, branch: broken(store, branch))
    swept = Sweeper(target, Executor(Reference(Workload.linear()), tmp_path), "images").run()
    assert swept.troubles == ["harness error: ZeroDivisionError: the reader is broken"]
    assert exit_of([swept], []) == Exit.UNDETERMINED and list(tmp_path.iterdir()) == []


def test_a_stuck_run_is_a_violation_even_where_each_refusal_alone_is_legal() -> None:
    swept = sweep("mutant", fault="RefuseRecovery")
    assert any(state.stuck and not state.broken for state in states(swept))
    silent = [
        dataclasses.replace(section, states=tuple(s for s in section.states if s.stuck and not s.broken))
        for section in swept.sections
    ]
    assert dataclasses.replace(swept, sections=silent).violated


def test_an_interrupt_keeps_what_was_swept(tmp_path: Path) -> None:
    def stop(swept: Swept) -> None:
        if len(swept.sections) == 2:
            raise KeyboardInterrupt

    swept = Sweeper(parse_target("reference"), Executor(Reference(Workload.linear()), tmp_path), "images", stop).run()
    assert swept.interrupted and len(swept.sections) == 2 and exit_of([swept], []) == Exit.INTERRUPTED


def test_a_state_in_a_line(reference: Swept) -> None:
    (state,) = [s for s in reference.sections[0].states if s.window == "W2" and len(s.points) > 1]
    restart = "runs from the start, for nothing was durable"
    cells = ("killed at effect.after:1 +1", "W2", "{}", "{1}", "{1} EO-b", "-", "completed", restart, "-")
    assert row(state) == cells
    assert "EO-b" in closing(reference) and "lost" not in closing(reference)


def test_the_file_reads_back_as_it_was_written(reference: Swept) -> None:
    document = sweep_json([reference], ["a difference"], 3)
    read = msgspec.json.decode(document, type=SweepFile)
    assert (read.schema, read.target, read.exit_code) == ("fuzzresume.sweep/1", reference.target.label, 3)
    assert read.sweeps[0].sections == reference.sections and read.differences == ["a difference"]
