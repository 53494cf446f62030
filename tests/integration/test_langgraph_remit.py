"""LangGraph's savers under REMIT 0.1.2: what it claims to repair, what it adds of its own, and where its rows lie."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("remit", reason="remit-contract is not installed: pip install 'fuzzresume[langgraph,remit]'")

import remit
from langgraph_lives import APIS, DEFAULTS, Run
from lives import inspect, resume, start
from test_sessions import every_way_agrees, scenarios

from fuzzresume.adapters import _langgraph_store
from fuzzresume.adapters.langgraph import ADAPTER
from fuzzresume.campaign.execute import Executed, Executor
from fuzzresume.campaign.findings import Diagnosis, diagnose
from fuzzresume.campaign.race_phase import behind
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import plans
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Branch
from fuzzresume.contract.trace import Found, Trace, dumps, loads
from fuzzresume.contract.words import say_violation
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import BadOption, MissingExtra, Target, parse_target

pytestmark = pytest.mark.skipif(remit.__version__ != "0.1.2", reason="another REMIT than 0.1.2")

ONE = Workload.linear(3, {2: 1})
TWO = Workload.linear(3, {2: 2})
GATES = Workload.linear(3, {1: 1, 2: 1})
FIRST, SECOND = Question(2, 1), Question(2, 2)
START, RECOVER, RELOAD, INSPECT = (Command(op) for op in ("start", "recover", "reload", "inspect"))  # type: ignore[arg-type]


def answer(question: Question, number: int, **more: object) -> Command:
    return Command("resume", Token(question, number), **more)  # type: ignore[arg-type]


def fork(question: Question, number: int) -> Command:
    return Command("fork", Token(question, number))


@pytest.fixture
def execute(tmp_path: Path, zygotes: Zygotes) -> Callable[..., Executed]:
    """Sends commands, for real where the store is a file, and returns what came of it."""

    def send(workload: Workload, commands: list[Command], **options: str) -> Executed:
        target = Target(ADAPTER, options)
        mode = "forked" if target.capabilities.durable else "in-process"
        return Executor(Reference(workload), tmp_path, zygotes).execute(target, commands, mode, profile=NONE)

    return send


def shown(done: Executed) -> list[Observation]:
    return [seen for _, seen in done.exchanges]


def diagnosed(done: Executed, workload: Workload, options: dict[str, str]) -> Diagnosis:
    assert done.violation is not None
    return diagnose(Reference(workload), done.violation, NONE, Target(ADAPTER, options))


# What it needs, and where it stands.


def test_it_is_used_on_request_only_and_says_how_to_get_it(without_package: Callable[[str], None]) -> None:
    assert parse_target("langgraph").options["wrap"] == "none" and ADAPTER.options["wrap"] == ("none",)
    assert "remit-contract" in parse_target("langgraph", {"wrap": "remit"}).packages
    without_package("remit-contract")
    with pytest.raises(MissingExtra, match=r"wrap=remit needs remit-contract: pip install 'fuzzresume\[langgraph,remit\]'"):
        parse_target("langgraph", {"wrap": "remit"})


@pytest.mark.parametrize(
    ("wrap", "saver"), [("remit", "async-sqlite"), ("remit-gate", "memory"), ("remit-gate", "postgres")]
)
def test_savers_that_it_is_not_put_around(wrap: str, saver: str) -> None:
    with pytest.raises(BadOption, match="cannot combine"):
        Target(ADAPTER, {"wrap": wrap, "saver": saver})


def test_a_claim_is_a_record_with_hooks_around_it(new_run: Callable[..., Run]) -> None:
    run = new_run(ONE, wrap="remit-gate")
    run(start)
    run.reload()
    run(inspect)
    assert "claim.before" not in run.passed, "a read that says so takes no claim"
    run.reload()
    run(resume("2.1", 1))
    table, claim = (["claims_table.before", "claims_table.after"], ["claim.before", "claim.after"])
    assert run.passed[:6] == ["get_tuple.before", *table, *claim, "get_tuple.after"]
    with closing(sqlite3.connect(_langgraph_store.database(run.env))) as connection:
        assert len(list(connection.execute(f"SELECT * FROM {remit.CLAIMS_TABLE}"))) == 1


@pytest.mark.parametrize("api", APIS)
def test_every_death_agrees_at_every_hook(tmp_path: Path, zygotes: Zygotes, api: str) -> None:
    target = Target(ADAPTER, {"wrap": "remit-gate", "api": api})
    cases = scenarios(target, tmp_path)
    assert {"claim.before", "claim.after", "claims_table.after"} <= {dies.crash.hook for _, dies in cases if dies.crash}
    every_way_agrees(target, cases, tmp_path, zygotes)


# What it claims to repair.


@pytest.mark.parametrize("saver", ["sqlite", "memory"])
def test_a_fork_in_one_call_gets_its_own_answer(execute: Callable[..., Executed], saver: str) -> None:
    commands = [START, answer(FIRST, 1), fork(FIRST, 2)]
    assert execute(ONE, commands, saver=saver).violation is not None
    for wrap in ("remit", *(["remit-gate"] if saver == "sqlite" else [])):
        done = execute(ONE, commands, saver=saver, wrap=wrap)
        assert done.violation is None
        assert shown(done)[-1].effects == (Mark(2, (Token(FIRST, 2).text,)), Mark(3))


def test_exactly_one_process_answers_a_question(execute: Callable[..., Executed]) -> None:
    """At every interleaving that switches once the answer is one; the second racer is refused while the run is parked."""
    race = Command("race", racers=(answer(FIRST, 1), answer(FIRST, 2)))
    hooks = shown(execute(ONE, [START, race], wrap="remit-gate"))[-1].racers[0].hooks
    ways: dict[str, set[int]] = {}
    for turn in behind(0, hooks):
        done = execute(ONE, [START, Command("race", racers=race.racers, turns=(turn,)), RECOVER], wrap="remit-gate")
        seen = shown(done)[1]
        fired = [mark.task for mark in seen.effects]
        assert fired.count(2) <= 1 and len(seen.told) <= 1, turn
        second = seen.racers[1].outcome
        if second.kind == "refused":
            assert done.violation is None and shown(done)[2].outcome.kind == "completed", turn
        ways.setdefault(second.error if second.kind == "refused" else second.kind, set()).add(fired.count(3))
    assert ways == {"RemitConsumeConflict": {1}, "completed": {1, 2}}


def test_without_its_gate_they_all_do_and_that_is_documented(execute: Callable[..., Executed]) -> None:
    race = Command("race", racers=(answer(FIRST, 1), answer(FIRST, 2)), turns=(Turn(0, "effect.after:2"),))
    options = {"wrap": "remit"}
    found = diagnosed(execute(ONE, [START, race], **options), ONE, options)
    documented = ADAPTER.capabilities(DEFAULTS | options).documented
    assert {name for names in found.explanation for name in names} <= {rule.switch for rule in documented}
    assert not ADAPTER.capabilities(DEFAULTS | {"wrap": "remit-gate"}).documented


def test_a_flagged_read_of_another_process_changes_nothing(execute: Callable[..., Executed]) -> None:
    commands = [START, RELOAD, INSPECT, RELOAD, answer(FIRST, 1), RELOAD, INSPECT]
    done = execute(ONE, commands, wrap="remit-gate")
    assert done.violation is None and done.sent == len(commands)
    assert shown(done)[4].outcome.kind == "completed"


# What it does not repair, or breaks.

DIES = CrashPoint("put.before")
BETWEEN = Turn(0, "effect.after:3")
FOUND = {
    "the claim of a process that died keeps every recovery out": (
        "remit-gate", ONE, [START, answer(FIRST, 1, crash=DIES), RECOVER], "LV", "RefuseRecovery",
    ),
    "a recovery takes the claim, and nobody can answer": (
        "remit-gate", ONE, [START, RECOVER, RELOAD, answer(FIRST, 1)], "LV", "ParkLost",
    ),
    "another process cannot answer a gate's second question": (
        "remit-gate", TWO, [START, answer(FIRST, 1), RELOAD, answer(SECOND, 2)], "LV", "ParkLost",
    ),
    "who comes after the answer runs the rest a second time": (
        "remit-gate", ONE, [START, Command("race", racers=(answer(FIRST, 1), answer(FIRST, 2)), turns=(BETWEEN,))],
        "CO", "RaceEffect",
    ),
    "a fork at a gate's second question answers the first": (
        "remit", TWO, [START, answer(FIRST, 1), fork(SECOND, 2)], "FD", "ForkIgnore",
    ),
    "an invalid update is refused and durable": (
        "remit", ONE, [Command("start", poison=1)], "CV", "InvalidPersist",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_reproduces_three_times(tmp_path: Path, zygotes: Zygotes, name: str) -> None:
    wrap, workload, commands, code, switch = FOUND[name]
    target = Target(ADAPTER, {"wrap": wrap})
    executor = Executor(Reference(workload), tmp_path, zygotes)
    done = executor.execute(target, commands, "forked", profile=NONE)
    found = diagnosed(done, workload, {"wrap": wrap})
    assert (found.anomaly.property, found.explanation) == (code, ((switch,),))
    assert done.violation is not None
    what = Found(name, code, found.anomaly.cls, *say_violation(done.violation), [[switch]])
    trace = loads(dumps(Trace("langgraph", dict(target.options), workload, tuple(commands), target.packages, found=what)))
    assert [replay_trace(executor, trace).outcome for _ in range(2)] == ["reproduces"] * 2


@pytest.mark.parametrize("name", [name for name, (_, _, _, code, _) in FOUND.items() if code in ("LV", "FD")])
def test_the_stock_saver_does_not_do_it(execute: Callable[..., Executed], name: str) -> None:
    _, workload, commands, *_ = FOUND[name]
    assert execute(workload, commands).violation is None


@pytest.mark.parametrize("api", APIS)
def test_only_a_fork_gets_past_a_dead_claim(execute: Callable[..., Executed], api: str) -> None:
    """And the restart, which LangGraph takes for a new run, is refused too."""
    dies = answer(FIRST, 1, crash=CrashPoint("effect.after:2"))
    dead = [START, dies]
    for command in (RECOVER, answer(FIRST, 2), Command("restart")):
        kinds = [seen.outcome for seen in shown(execute(ONE, [*dead, command, command], wrap="remit-gate", api=api))[2:]]
        assert [outcome.error for outcome in kinds] == ["RemitConsumeConflict"] * 2, command.op
    served = shown(execute(ONE, [*dead, fork(FIRST, 2)], wrap="remit-gate", api=api))[-1]
    assert served.outcome.kind == "completed" and Mark(2, (Token(FIRST, 2).text,)) in served.effects


def test_the_gates_of_a_functional_run_share_one_claim(execute: Callable[..., Executed]) -> None:
    commands = [START, answer(Question(1, 1), 1), RELOAD, answer(FIRST, 2)]
    done = execute(GATES, commands, wrap="remit-gate", api="functional")
    assert done.violation is not None and shown(done)[-1].outcome.error == "RemitConsumeConflict"
    assert execute(GATES, commands, wrap="remit-gate").violation is None, "in a graph each gate has a checkpoint"


def test_the_refusal_of_an_invalid_update_is_loud_but_not_before_it_is_stored(new_run: Callable[..., Run]) -> None:
    run = new_run(ONE, wrap="remit")
    with pytest.raises(remit.RemitValidityError, match="nothing persisted"):
        run(start, poison=1)
    with _langgraph_store.reading(run.env) as reader:
        head = run.frontier.head or ""
        assert ("note", 17) in reader.writes(head) and reader.values(head, ("note",)) == {"note": "go"}


# Its verified recovery function beside ours.


@pytest.mark.parametrize("done", [done for n in range(5) for done in itertools.combinations((1, 2, 3, 4), n)])
def test_its_recovery_function_agrees_on_prefixes_and_skips_what_a_hole_lacks(done: tuple[int, ...]) -> None:
    workload = Workload.linear(4, {})
    (plan,) = plans(workload, Branch(done=done), NONE, recovering=True)
    ours = plan[0].task if plan else 5
    logs = [list(zip(order, range(len(order)), strict=True)) for order in itertools.permutations(done)]
    theirs = {remit.recover_from_log(log) for log in (*logs, [*logs[0], *logs[0]])}
    assert theirs == {max(done, default=0) + 1}, "of no order, and what is logged twice counts once"
    assert (theirs == {ours}) == (done == workload.order[: len(done)])


@pytest.mark.parametrize("api", APIS)
def test_langgraphs_recovery_goes_on_where_its_recovery_function_says(new_run: Callable[..., Run], api: str) -> None:
    workload = Workload.linear(3, {})
    probe = new_run(workload, wrap="remit", api=api)
    probe(start)
    points = [CrashPoint(hook, probe.passed[: i + 1].count(hook)) for i, hook in enumerate(probe.passed)]
    seen = set()
    for point in points:
        run = new_run(workload, wrap="remit", api=api)
        run.dies(start, point)
        log = list(zip(run.frontier.done or (), itertools.count()))
        before = len(run.entries)
        assert run.finish().kind == "completed"
        entered = [entry.task for entry in run.entries[before:] if entry.kind == "enter"]
        assert (entered or [4])[0] == remit.recover_from_log(log), point
        seen.add(len(log))
    assert seen == {0, 1, 2, 3}
