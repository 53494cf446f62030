"""Three ways to die, one meaning: at every hook of start, resume and recover the three modes must agree."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.forked import ForkedSession, Zygotes
from fuzzresume.harness.images import ImageSession
from fuzzresume.harness.session import Session, crash_points
from fuzzresume.harness.sessions import MODES, Mode, open_session
from fuzzresume.harness.target import AdapterSlip, MissingExtra, Target, parse_target

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import harness_fake

A, B = Token(Question(2, 1), 1), Token(Question(2, 2), 2)
TRACE = (Command("start"), Command("resume", A), Command("resume", B))
WORKLOAD = Workload.linear()

TARGETS: dict[str, tuple[str, dict[str, str]]] = {
    "reference": ("reference", {}),
    "langgraph-graph": ("langgraph", {"api": "graph", "saver": "sqlite", "executor": "inline"}),
    "langgraph-functional": ("langgraph", {"api": "functional", "saver": "sqlite", "executor": "inline"}),
}


@pytest.fixture(params=["fake", *TARGETS])
def target(request: pytest.FixtureRequest) -> Target:
    if request.param == "fake":
        return Target(harness_fake.ADAPTER)
    name, options = TARGETS[request.param]
    try:
        return parse_target(name, options)
    except MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("raced", [False, True])
def test_a_slip_of_the_adapter_is_no_outcome(mode: Mode, raced: bool, tmp_path: Path, zygotes: Zygotes) -> None:
    if raced and mode != "forked":
        pytest.skip("racers are processes")
    command = Command("fork", Token(Question(2, 1), 9))
    target = Target(harness_fake.ADAPTER, {"trouble": "slip"})
    with open_session(target, WORKLOAD, tmp_path / "run", mode, zygotes=zygotes) as session:
        session.execute(TRACE[0])
        sent = Command("race", racers=(command, TRACE[1])) if raced else command
        says = r"slipped in fork: AttributeError: 'Life' object has no attribute 'no_such_method' \(harness_fake.py:\d+\)"
        with pytest.raises(AdapterSlip, match=says):
            session.execute(sent)
        assert session.execute(TRACE[1]).outcome.kind == "parked", "the next life goes on"


def meaning(observation: Observation) -> tuple[object, ...]:
    """What the modes must agree on: outcome, questions and marks, ledger, frontier, hooks. Addresses are drawn per run."""
    outcome = observation.outcome
    asked = tuple(a.question for a in outcome.asked)
    return (
        (outcome.kind, asked, outcome.marks, outcome.task, outcome.error),
        observation.entries,
        (observation.before.done, observation.after.done),
        observation.hooks,
    )


def scenarios(target: Target, folder: Path) -> list[tuple[tuple[Command, ...], Command]]:
    """Every (prefix, command that dies): at each hook of each command of the trace, and of a recovery from in doubt."""
    found: list[tuple[tuple[Command, ...], Command]] = []
    doubt = replace(TRACE[2], crash=CrashPoint("effect.after:2"))
    for at, commands in enumerate([TRACE[:1], TRACE[:2], TRACE[:3], (*TRACE[:2], doubt, Command("recover"))]):
        *prefix, last = commands
        with open_session(target, WORKLOAD, folder / f"hooks-{at}") as session:
            for command in prefix:
                session.execute(command)
            points = [point for point in crash_points(session.execute(last).hooks) if point.by == "kill"]
        found += [((*prefix,), replace(last, crash=point)) for point in points]
    return found


def play(session: Session, prefix: tuple[Command, ...], dies: Command) -> list[tuple[object, ...]]:
    with session:
        return [meaning(session.execute(command)) for command in (*prefix, dies, Command("recover"))]


def test_every_mode_agrees_at_every_hook(target: Target, tmp_path: Path, zygotes: Zygotes) -> None:
    can = target.capabilities
    assert can.durable and can.images and can.in_process
    all_scenarios = scenarios(target, tmp_path)
    assert len(all_scenarios) > 20
    every_way_agrees(target, all_scenarios, tmp_path, zygotes)


def every_way_agrees(
    target: Target, cases: list[tuple[tuple[Command, ...], Command]], place: Path, zygotes: Zygotes
) -> None:
    """Each scenario shows the same, whichever way it dies."""
    for number, (prefix, dies) in enumerate(cases):
        seen = {
            mode: play(open_session(target, WORKLOAD, place / f"{mode}-{number}", mode, zygotes=zygotes), prefix, dies)
            for mode in MODES
        }
        assert seen["forked"][-2][0] == ("crashed", (), None, None, "")
        assert seen["in-process"] == seen["forked"], f"in process, at {dies.crash}"
        assert seen["images"] == seen["forked"], f"from images, at {dies.crash}"


def test_a_sweep_agrees_with_sigkill(target: Target, tmp_path: Path, zygotes: Zygotes) -> None:
    with ImageSession(target, WORKLOAD, tmp_path / "swept") as session:
        for command in TRACE[:2]:
            session.execute(command)
        images = session.sweep(TRACE[2]).images
        for number, image in enumerate(images):
            with session.session_at(image, tmp_path / f"on-{number}") as went_on:
                recovered = meaning(went_on.execute(Command("recover")))
            with ForkedSession(target, WORKLOAD, tmp_path / f"real-{number}", zygotes=zygotes) as real:
                died = [meaning(real.execute(c)) for c in (*TRACE[:2], replace(TRACE[2], crash=image.points[0]))][-1]
                assert died == meaning(image.observation)
                assert meaning(real.execute(Command("recover"))) == recovered
                assert real.deaths[0] == "SIGKILL"


@pytest.mark.parametrize("mode", MODES)
def test_live_equals_reloaded(target: Target, tmp_path: Path, zygotes: Zygotes, mode: Mode) -> None:
    """A life that was dropped and rebuilt at every pause shows what one life shows, hooks aside."""
    live, reloaded = [], []
    with open_session(target, WORKLOAD, tmp_path / "live", mode, zygotes=zygotes) as session:
        live = [meaning(session.execute(command))[:-1] for command in TRACE]
    with open_session(target, WORKLOAD, tmp_path / "reloaded", mode, zygotes=zygotes) as session:
        for command in TRACE:
            reloaded.append(meaning(session.execute(command))[:-1])
            session.execute(Command("reload"))
    assert live == reloaded and live[-1][0][0] == "completed"  # type: ignore[index]
