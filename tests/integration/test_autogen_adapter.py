"""The AutoGen adapter on the real framework: translation, deaths, damage, frontier, determinism, findings."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("autogen_agentchat")

from autogen_lives import COMBINATIONS, DEFAULTS, PROGRAMS, Run
from campaigns import campaign
from lives import TRACE, WHOLE, WORKLOAD, asked, inspect, points, recover, restart, resume, start, texts

from fuzzresume.adapters._autogen_store import state_file, thread_of
from fuzzresume.adapters.autogen import ADAPTER
from fuzzresume.campaign.sweep.compare import differences
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_run import workspace
from fuzzresume.contract.commands import TAMPER_KINDS, Command, CrashPoint
from fuzzresume.contract.observation import Frontier, Outcome
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Crash, Unsupported
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.sessions import MODES, open_session
from fuzzresume.harness.target import Target, parse_target

ONE_QUESTION = Workload.linear(3, {2: 1})
SMALL = Workload.linear(2, {2: 1})
NewRun = Callable[..., Run]

PINS = ("0.7.5", "0.7.5")
pinned = pytest.mark.skipif(
    tuple(parse_target("autogen").packages.values()) != PINS, reason="other AutoGen packages than the pinned ones"
)


def named(options: dict[str, str]) -> str:
    return "-".join(options.values())


@pytest.fixture
def new_run(tmp_path: Path) -> Iterator[NewRun]:
    """Opens runs, each in a folder of its own, and ends them."""
    runs: list[Run] = []

    def make(workload: Workload = WORKLOAD, **options: str) -> Run:
        runs.append(Run(tmp_path / f"run-{len(runs)}", workload, **options))
        return runs[-1]

    yield make
    for run in runs:
        run.reload()


def finish(run: Run) -> Outcome:
    """Answer what the store asks, else recover; send the input when nothing is stored."""
    path = state_file(run.env)
    if not path.exists():
        outcome = run(start)
    elif thread_of(json.loads(path.read_bytes()), run.env.options["team"])[-1]["content"] == "2.1":
        outcome = run(resume("2.1", 10))
    else:
        outcome = run(recover)
    return run(resume("2.1", 11)) if outcome.kind == "parked" else outcome


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
def test_a_run_parks_takes_its_answers_and_completes(new_run: NewRun, options: dict[str, str]) -> None:
    run = new_run(**options)
    assert run.frontier == Frontier(())
    assert [asked(run(call)) for call in TRACE[:2]] == [["2.1"], ["2.2"]]
    assert run.frontier.done == (1,)
    outcome = run(TRACE[2])
    assert (outcome.kind, texts(outcome), run.frontier.done, run.fired) == ("completed", WHOLE, (1, 2, 3), [1, 2, 3])
    effects = [entry for entry in run.entries if entry.kind == "effect"]
    assert [[mark.text for mark in entry.reads] for entry in effects] == [list(WHOLE[:n]) for n in range(3)]


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
def test_a_reload_changes_nothing_of_a_run(new_run: NewRun, options: dict[str, str]) -> None:
    seen = []
    for reloads in (False, True):
        run = new_run(ONE_QUESTION, **options)
        for call in (start, inspect, resume("2.1", 1)):
            outcome = run(call)
            if reloads:
                run.reload()
        seen.append((texts(outcome), outcome.kind, run.fired, run.frontier))
    assert seen[0] == seen[1] and seen[0][:3] == (("1", "2:2.1#1=yes", "3"), "completed", [1, 2, 3])


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
@pytest.mark.parametrize("gates", [{1: 1}, {3: 1}, {1: 1, 2: 2, 3: 1}], ids=str)
def test_any_task_can_be_a_gate(new_run: NewRun, options: dict[str, str], gates: dict[int, int]) -> None:
    workload = Workload.linear(3, gates)
    run = new_run(workload, **options)
    outcome = run(start)
    for delivery, question in enumerate(workload.questions(), 1):
        assert asked(outcome) == [question.text]
        outcome = run(resume(question.text, delivery))
    assert outcome.kind == "completed" and run.fired == [1, 2, 3] and run.frontier.done == (1, 2, 3)


@pinned
def test_a_graph_loses_what_started_its_node_when_it_is_loaded(new_run: NewRun) -> None:
    """microsoft/autogen issue 7043: a node that asks twice is not started again, and the run is told complete."""
    live, reloaded = new_run(team="graphflow"), new_run(team="graphflow")
    for call in TRACE:
        outcome = live(call)
    assert outcome.kind == "completed" and live.fired == [1, 2, 3]
    reloaded(start)
    reloaded.reload()
    outcome = reloaded(TRACE[1])
    assert outcome.kind == "completed" and texts(outcome) == ("1",) and reloaded.fired == [1]


@pinned
@pytest.mark.parametrize("team", ADAPTER.options["team"])
def test_a_team_that_raised_does_not_go_on_in_its_process(new_run: NewRun, team: str) -> None:
    """Its manager still waits for the answer of the agent that raised."""
    run = new_run(team=team)
    with pytest.raises(RuntimeError, match="planted this exception in task 1"):
        run(start, CrashPoint("effect.before:1", by="exception"))
    assert run.frontier == Frontier(())
    outcome = run(recover)
    assert outcome.kind == "idle" and run.fired == ([] if team == "graphflow" else [1])


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
def test_an_exception_of_the_task_comes_out_and_a_new_process_goes_on(tmp_path: Path, options: dict[str, str]) -> None:
    target = Target(ADAPTER, options)
    question = Question(2, 1)
    with open_session(target, ONE_QUESTION, tmp_path / "run") as session:
        assert session.execute(Command("start")).outcome.kind == "parked"
        died = CrashPoint("effect.after:2", by="exception")
        failed = session.execute(Command("resume", Token(question, 1), crash=died)).outcome
        assert (failed.kind, failed.task) == ("failed", 2)
        outcome = session.execute(Command("recover")).outcome
        if outcome.kind != "completed":
            # Nothing of the answer is durable: it is asked for again, or a Swarm refuses to go on without it.
            assert outcome.kind == ("refused" if options["team"] == "swarm" else "parked")
            outcome = session.execute(Command("resume", Token(question, 2))).outcome
        assert outcome.kind == "completed"


@pytest.mark.parametrize("options", [o for o in PROGRAMS if o["agent"] == "plain"], ids=named)
def test_an_update_against_the_schema_is_refused_and_not_kept(new_run: NewRun, options: dict[str, str]) -> None:
    run = new_run(ONE_QUESTION, **options)
    run(start)
    with pytest.raises(RuntimeError, match="Input should be a valid string"):
        run(resume("2.1", 1), poison=2)
    assert run.fired == [1, 2] and run.frontier == Frontier((1,))


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
def test_a_death_at_every_hook(new_run: NewRun, options: dict[str, str]) -> None:
    """No task is in the frontier whose effect is absent, no more is in doubt than the policy says, a new life completes."""
    trace = (start, resume("2.1", 1))
    for at, call in enumerate(trace):
        probe = new_run(ONE_QUESTION, **options)
        for earlier in trace[: at + 1]:
            probe(earlier)
        for point in points(probe.passed):
            run = new_run(ONE_QUESTION, **options)
            for earlier in trace[:at]:
                run(earlier)
            run.dies(call, point)
            done = run.frontier.done
            assert done is not None and done == (1, 2, 3)[: len(done)] and set(done) <= set(run.fired), point
            assert options["policy"] == "park" or len(set(run.fired) - set(done)) <= 1, point
            outcome = finish(run)
            assert outcome.kind == "completed" and {mark.task for mark in outcome.marks or ()} == {1, 2, 3}, point


@pytest.mark.parametrize(
    "options",
    [{}, {"policy": "step"}, {"team": "graphflow"}, {"team": "roundrobin", "agent": "tool"}],
    ids=lambda options: named(options) or "default",
)
def test_the_ways_to_die_agree_at_every_point(options: dict[str, str]) -> None:
    target = Target(ADAPTER, options)
    with workspace(SMALL) as executor:
        sweeps = [Sweeper(target, executor, mode).run() for mode in MODES]
    assert [one.troubles for one in sweeps] == [[], [], []]
    assert len({one.points for one in sweeps}) == 1 and sweeps[0].points > 20
    assert differences(sweeps) == []


@pytest.mark.parametrize("team", ADAPTER.options["team"])
def test_every_call_of_a_dead_life_raises_and_writes_nothing(new_run: NewRun, team: str) -> None:
    run = new_run(team=team)
    run(start)
    before = state_file(run.env).read_bytes()
    with pytest.raises(Crash):
        run(resume("2.1", 1), CrashPoint("save.before"))
    for call in (restart, resume("2.1", 1)):
        with pytest.raises((Crash, ValueError)):
            run(call)
    assert state_file(run.env).read_bytes() == before and run.fired == [1]


def test_hooks_stand_around_reading_and_writing(new_run: NewRun) -> None:
    run = new_run(Workload.linear(1, {}))
    run(start)
    saved = ["save.before", "save.half", "save.rename", "save.after"]
    assert run.passed == ["effect.before:1", "effect.after:1", *saved]
    run.reload()
    run(inspect)
    assert run.passed == ["load.before", "load.after"]


@pytest.mark.parametrize("options", PROGRAMS, ids=named)
def test_executions_pass_the_same_hooks_and_leave_the_same_bytes(new_run: NewRun, options: dict[str, str]) -> None:
    seen = set()
    for _ in range(2):
        run, hooks = new_run(**options), []
        for call in TRACE:
            run(call)
            hooks += run.passed
        seen.add((tuple(hooks), state_file(run.env).read_bytes()))
    assert len(seen) == 1


def test_outside_a_life_autogen_keeps_its_own_identifiers(new_run: NewRun) -> None:
    from autogen_agentchat.messages import TextMessage

    new_run()(start)
    one, other = (TextMessage(source="a", content="b") for _ in range(2))
    assert one.id != other.id and one.created_at.year > 2020


def test_no_thread_is_left_and_nothing_is_said(tmp_path: Path) -> None:
    code = (
        "import sys, threading; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from lives import *; from autogen_lives import Run\n"
        "run = Run(Path(sys.argv[2]), agent='tool')\n"
        "run(start)\n"
        "run.dies(resume('2.1', 1), CrashPoint('save.half'))\n"
        "try: run(recover)\n"
        "except ValueError: pass\n"
        "run.reload()\n"
        "print(threading.active_count())"
    )
    beside = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", code, beside, str(tmp_path / "run")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("1", "") and threading.active_count() >= 1


def test_both_recoveries_of_a_copy_decide_the_same(tmp_path: Path, zygotes: Zygotes) -> None:
    with open_session(Target(ADAPTER, {"policy": "step"}), SMALL, tmp_path / "run", "forked", zygotes=zygotes) as run:
        run.execute(Command("start"))
        died = CrashPoint("save.after", 1)
        run.execute(Command("resume", Token(Question(2, 1), 1), crash=died))
        seen = run.execute(Command("recover2"))
        assert seen.twin is not None and seen.twin.outcome == seen.outcome and seen.twin.effects == seen.effects


@pytest.mark.parametrize("options", [o for o in PROGRAMS if o["policy"] == "park"], ids=named)
def test_damage_is_what_its_kind_says(new_run: NewRun, options: dict[str, str]) -> None:
    assert set(ADAPTER.capabilities(options).tamper) < set(TAMPER_KINDS)
    for kind in ADAPTER.capabilities(options).tamper:
        run = new_run(**options)
        run(start)
        whole = state_file(run.env).read_bytes()
        run.reload()
        ADAPTER.tamper(run.env, kind)
        damaged = state_file(run.env).read_bytes()
        assert damaged != whole
        if kind in ("truncated", "half-written", "empty"):
            assert run.frontier.done is None and run.frontier.why
            with pytest.raises(json.JSONDecodeError):
                run(resume("2.1", 1))
        elif kind == "wrong-type":
            with pytest.raises(ValueError, match=r"Invalid state format|should be a valid string"):
                run(resume("2.1", 1))
        assert kind in ("dropped-field", "extra-field") or run.fired == [1]


@pinned
def test_a_state_without_its_conversation_is_gone_on_from(new_run: NewRun) -> None:
    """Except by a graph, which reads the field and misses it."""
    for team, fired in (("swarm", [1, 2, 3]), ("roundrobin", [1, 2, 3]), ("graphflow", [1])):
        run = new_run(ONE_QUESTION, team=team)
        run(start)
        run.reload()
        ADAPTER.tamper(run.env, "dropped-field")
        if team == "graphflow":
            with pytest.raises(KeyError):
                run(resume("2.1", 1))
        else:
            assert run(resume("2.1", 1)).kind == "completed"
        assert run.fired == fired


def test_damage_without_a_store_and_of_other_kinds_is_unsupported(new_run: NewRun) -> None:
    run = new_run()
    with pytest.raises(Unsupported, match="nothing is stored"):
        ADAPTER.tamper(run.env, "empty")
    run(start)
    with pytest.raises(Unsupported, match="forged-progress"):
        ADAPTER.tamper(run.env, "forged-progress")


def test_looking_at_a_run_that_nobody_started_starts_nothing(new_run: NewRun) -> None:
    run = new_run()
    assert texts(run(inspect)) == () and not state_file(run.env).exists()
    for call in (recover, resume("2.1", 1)):
        with pytest.raises(FileNotFoundError):
            run(call)
    assert run.entries == []


def test_a_file_written_in_place_can_be_lost(new_run: NewRun) -> None:
    for write, done in (("rename", (1,)), ("in-place", None)):
        run = new_run(ONE_QUESTION, write=write)
        run(start)
        run.dies(resume("2.1", 1), CrashPoint("save.half"))
        assert run.frontier.done == done


def test_the_input_again_after_a_reset_begins_anew(new_run: NewRun) -> None:
    for options in COMBINATIONS:
        if options["restart"] == "reset" and options["policy"] == "park":
            run = new_run(ONE_QUESTION, **options)
            run(start)
            run(resume("2.1", 1))
            assert asked(run(restart)) == ["2.1"] and run.frontier.done == (1,)
            assert texts(run(resume("2.1", 2))) == ("1", "2:2.1#2=yes", "3") and run.fired == [1, 2, 3, 1, 2, 3]


def test_what_the_api_cannot_say_is_unsupported(tmp_path: Path, new_run: NewRun) -> None:
    with open_session(Target(ADAPTER), ONE_QUESTION, tmp_path / "plain") as session:
        session.execute(Command("start"))
        token = Token(Question(2, 1), 1)
        for command in (Command("fork", token), Command("resume", token, at="question")):
            with pytest.raises(Unsupported):
                session.execute(command)
    tool = Target(ADAPTER, {"agent": "tool"})
    with open_session(tool, ONE_QUESTION, tmp_path / "tool") as session, pytest.raises(Unsupported, match="no state schema"):
        session.execute(Command("start", poison=1))
    with pytest.raises(Unsupported):
        new_run()(lambda life: life.fork(Question(2, 1), "2.1#1=yes", address=""))


def test_capabilities_follow_the_options() -> None:
    park, step = ADAPTER.capabilities(DEFAULTS), ADAPTER.capabilities(DEFAULTS | {"policy": "step"})
    assert not park.records and "LateRecord" in {rule.switch for rule in park.documented}
    assert step.records and "LateRecord" not in {rule.switch for rule in step.documented}
    assert park.schema and not ADAPTER.capabilities(DEFAULTS | {"agent": "tool"}).schema
    assert park.fork is None and not park.addressed and park.durable and park.in_process and park.images
    assert not ADAPTER.valid(DEFAULTS | {"team": "graphflow", "agent": "tool"})


@pinned
def test_what_a_campaign_finds() -> None:
    report, _ = campaign("autogen", {}, seed=9, runs=80)
    verdicts = {name: verdict.verdict for name, verdict in report.verdicts.items()}
    assert {name: verdicts[name] for name in ("PC", "RD", "IN")} == dict.fromkeys(("PC", "RD", "IN"), "holds")
    assert verdicts["FD"] == verdicts["FI"] == "inapplicable"
    assert verdicts["CV"] == verdicts["CO"] == verdicts["LV"] == verdicts["EO"] == "violated"
    assert verdicts["RS"] == "documented"
    explained = {(f.verdict, f.options["team"], *names) for f in report.findings for names in f.explained_by}
    assert explained == {
        ("documented", "swarm", "ReexecLast"),
        ("documented", "swarm", "LateRecord"),
        ("documented", "swarm", "RestartMix"),
        ("violated", "swarm", "DoubleConsume"),
        ("violated", "swarm", "Misroute"),
        ("violated", "swarm", "TamperAccept"),
        ("violated", "graphflow", "Replay"),
        ("violated", "graphflow", "ParkLost"),
    }
    assert all(f.words[-1] == "retry" for f in report.findings if not f.explained_by)
    assert any(f.limit == "FI" for f in (f.diagnosis.anomaly for f in report.findings))


@pinned
def test_a_single_agent_that_remembers_is_safe_where_teams_are_not() -> None:
    report, _ = campaign("autogen", {"team": "roundrobin"}, seed=0, runs=30)
    verdicts = {name: verdict.verdict for name, verdict in report.verdicts.items()}
    assert verdicts["PC"] == verdicts["RS"] == verdicts["RD"] == "holds" and verdicts["EO"] == "documented"
    assert {names for f in report.findings for names in f.explained_by} == {
        ("LateRecord",),
        ("Misroute",),
        ("TamperAccept",),
    }
