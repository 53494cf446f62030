"""The pydantic-graph adapter on the real framework: calls, crash points, damage, determinism. What pydantic-graph gets wrong
is not asserted here; a case stands where both a right and a wrong engine would have to behave the same way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("pydantic_graph.persistence.file", exc_type=ImportError)

from campaigns import campaign
from pydantic_graph_lives import (
    DEFAULTS,
    INSPECT,
    MARKS,
    RECIPES,
    RECOVER,
    RELOAD,
    RESTART,
    START,
    WHOLE,
    Run,
    asked,
    resume,
    texts,
)

from fuzzresume.adapters.pydantic_graph import ADAPTER
from fuzzresume.campaign.sweep.compare import differences
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli import app
from fuzzresume.cli_run import workspace
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.session import crash_points
from fuzzresume.harness.sessions import MODES, Mode
from fuzzresume.harness.target import Target
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.sentence import sentence

SMALL = Workload.linear(2, {2: 1})


@pytest.fixture
def new_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def make(*args: object, **options: object) -> Run:
        runs.append(Run(tmp_path / f"run-{len(runs)}", *args, **options))  # type: ignore[arg-type]
        return runs[-1]

    yield make
    for run in runs:
        run.session.close()


@pytest.mark.parametrize("recipe", RECIPES)
def test_park_resume_complete(new_run: Callable[..., Run], recipe: str) -> None:
    run = new_run(recipe=recipe)
    assert asked(run(START)) == ["2.1"] and run.done == (1,)
    run(RELOAD)
    assert asked(run(WHOLE[1])) == ["2.2"] and run.done == (1,)
    done = run(WHOLE[2])
    assert (done.outcome.kind, texts(done)) == ("completed", MARKS)
    assert run.fired == list(MARKS) and run.done == (1, 2, 3)
    reads = [[mark.text for mark in entry.reads] for seen in run.seen for entry in seen.entries if entry.kind == "effect"]
    assert reads == [[], ["1"], list(MARKS[:2])]
    stored = run.bytes
    seen = run(INSPECT)
    assert (seen.outcome.kind, texts(seen)) == ("inert", MARKS)
    assert run.bytes == stored and not run.locked
    assert threading.active_count() == 1


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_first_and_the_last_task_may_ask(new_run: Callable[..., Run], recipe: str) -> None:
    run = new_run(Workload.linear(3, {1: 1, 3: 2}), recipe=recipe)
    assert asked(run(START)) == ["1.1"] and run.done == ()
    assert asked(run(resume("1.1", 1))) == ["3.1"] and run.done == (1, 2)
    assert asked(run(RELOAD, resume("3.1", 2))) == ["3.2"]
    assert texts(run(resume("3.2", 3))) == ("1:1.1#1=yes", "2", "3:3.1#2=yes,3.2#3=yes")


def test_a_parked_run_that_is_recovered_asks_again_and_takes_its_answer(new_run: Callable[..., Run]) -> None:
    for recipe in RECIPES:
        run = new_run(recipe=recipe)
        run(START)
        assert asked(run(RECOVER)) == asked(run(RECOVER)) == ["2.1"]
        assert asked(run(WHOLE[1])) == ["2.2"]
        assert texts(run(WHOLE[2])) == MARKS


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_answer_is_stored_with_the_node_that_takes_it(new_run: Callable[..., Run], recipe: str) -> None:
    run = new_run(recipe=recipe)
    run(*WHOLE[:2], resume("2.2", 2, CrashPoint("effect.before:2")))
    newest = run.stored[-1]
    assert (newest["status"], newest["node"]["answers"]) == ("running", ["2.1#1=yes", "2.2#2=yes"])
    assert run.done == (1,) and not run.locked


def test_the_recipes_resume_by_calls_of_their_own(new_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzresume.adapters._pydantic_graph_program import GRAPH

    sent: list[object] = []
    for name in ("iter", "iter_from_persistence"):
        stock = getattr(GRAPH, name)

        def recording(*args: object, name: str = name, stock: Callable[..., object] = stock, **more: object) -> object:
            sent.append((name, getattr(more["deps"], "answer", None)))
            return stock(*args, **more)

        monkeypatch.setattr(GRAPH, name, recording, raising=False)
    for recipe, calls in (
        ("docs", [("iter", None)]),
        ("node", [("iter_from_persistence", None)]),
        ("deps", [("iter_from_persistence", "2.1#1=yes")]),
    ):
        run = new_run(recipe=recipe)
        run(START)
        sent.clear()
        run(WHOLE[1])
        assert sent == calls


def test_what_the_api_cannot_say_is_unsupported(new_run: Callable[..., Run]) -> None:
    can = ADAPTER.capabilities(DEFAULTS)
    assert can.fork is None and not (can.addressed or can.trunk or can.names_question or can.claims_exactly_once)
    run = new_run()
    run(START)
    token = Token(Question(2, 1), 1)
    addressed, forged = Command("resume", token, at="question"), Command("tamper", kind="forged-progress")
    for command in (Command("fork", token), addressed, forged):
        with pytest.raises(Unsupported):
            run(command)
    with pytest.raises(Unsupported):
        ADAPTER.life(run.session._host.env).fork(Question(2, 1), token.text, address="x")
    assert asked(run(WHOLE[1])) == ["2.2"]


def test_a_task_that_fails_comes_out_as_itself(new_run: Callable[..., Run]) -> None:
    for recipe in RECIPES:
        run = new_run(recipe=recipe)
        run(*WHOLE[:2])
        failed = run(resume("2.2", 2, CrashPoint("effect.after:2", by="exception")))
        assert (failed.outcome.kind, failed.outcome.task) == ("failed", 2)
        assert run.stored[-1]["status"] == "error" and run.done == (1,) and not run.locked
        assert ADAPTER.capabilities(DEFAULTS).retry and run(Command("retry")).outcome.kind in ("refused", "completed")


@pytest.mark.parametrize(
    ("recipe", "workload", "modes"),
    [*((recipe, SMALL, MODES[:2]) for recipe in RECIPES), ("deps", Workload.linear(1, {1: 1}), MODES)],
)
def test_the_ways_to_die_agree_at_every_point(recipe: str, workload: Workload, modes: tuple[Mode, ...]) -> None:
    assert MODES == ("in-process", "images", "forked")
    target = Target(ADAPTER, {"recipe": recipe})
    with workspace(workload) as executor:
        sweeps = [Sweeper(target, executor, mode).run() for mode in modes]
    assert all(one.troubles == [] for one in sweeps)
    assert len({one.points for one in sweeps}) == 1 and sweeps[0].points > 60
    assert differences(sweeps) == []
    assert {"W1", "W2"} <= {state.window for section in sweeps[0].sections for state in section.states}


@pytest.mark.parametrize(
    ("hook", "locked", "readable"),
    [
        ("lock.before", False, True),
        ("lock.after", True, True),
        ("save.before", True, True),
        ("save.truncated", True, False),
        ("save.half", True, False),
        ("save.after", True, True),
        ("unlock.before", True, True),
        ("unlock.after", False, True),
    ],
)
def test_a_death_at_a_hook_leaves_what_its_name_says(
    new_run: Callable[..., Run], zygotes: Zygotes, hook: str, locked: bool, readable: bool
) -> None:
    for mode in MODES:
        run = new_run(mode=mode, zygotes=zygotes)
        run(START)
        assert run(resume("2.1", 1, CrashPoint(hook, 2))).outcome.kind == "crashed"
        assert run.locked == locked
        frontier = ADAPTER.frontier(run.session.store, None)
        assert (frontier.done == (1,)) == readable and (frontier.done is None) != readable and bool(frontier.why) != readable


def test_a_lock_that_nobody_will_release_is_refused_as_by_the_stock_timeout(new_run: Callable[..., Run]) -> None:
    seen = []
    for lock in ("at-once", "stock"):
        run = new_run(lock=lock)
        run(START, resume("2.1", 1, CrashPoint("lock.after")))
        assert run.locked
        seen.append(run(RECOVER))
    assert seen[0] == seen[1] and seen[0].outcome.error == "TimeoutError"


def test_a_run_goes_on_where_there_is_a_node_to_run_and_a_lock_to_take(new_run: Callable[..., Run]) -> None:
    probe, went_on = new_run(), 0
    probe(*WHOLE)
    for point in crash_points(probe.seen[-1].hooks):
        run = new_run()
        before = run(*WHOLE[:2], resume("2.2", 2, point))
        waiting = run.done is not None and any(one.get("status") == "created" for one in run.stored)
        if point.by == "exception" or run.locked or not waiting:
            continue
        done = run(RECOVER)
        if done.outcome.kind == "parked":  # the answer was not stored yet
            done = run(WHOLE[2])
        assert (done.outcome.kind, texts(done)) == ("completed", MARKS), point
        assert run.fired == list(MARKS), point
        went_on += bool(before.effects)
    assert went_on >= 2


def test_what_a_node_left_is_in_the_frontier_once_its_success_is_stored(new_run: Callable[..., Run]) -> None:
    """Its state is stored one write later."""
    deaths = [Command("start", crash=CrashPoint("save.after", nth)) for nth in range(1, 8)]
    frontiers = [new_run(Workload.linear(2, {}))(death).after.done for death in deaths]
    assert frontiers == [(), (), (1,), (1,), (1,), (1, 2), (1, 2)]


@pytest.mark.parametrize("kind", ADAPTER.capabilities(DEFAULTS).tamper)
def test_damage_is_what_its_kind_says(new_run: Callable[..., Run], kind: str) -> None:
    run = new_run()
    run(START)
    before = run.stored
    run(Command("tamper", kind=kind))
    if kind in ("truncated", "half-written", "empty"):
        assert run.done is None
        return
    assert run.done == (1,) and run.stored[:-1] == before[:-1]
    state = {"dropped-field": {}, "wrong-type": {"note": 18}, "extra-field": {"note": "ok", "undeclared": True}}[kind]
    assert run.stored[-1] == {**before[-1], "state": {"marks": ["1"], **state}}


def test_damage_that_makes_no_sense_is_unsupported(new_run: Callable[..., Run]) -> None:
    run = new_run()
    with pytest.raises(Unsupported, match="nothing is stored"):
        run(Command("tamper", kind="empty"))
    run(START, resume("2.1", 1, CrashPoint("save.half")))
    with pytest.raises(Unsupported, match="unreadable"):
        run(Command("tamper", kind="wrong-type"))
    with pytest.raises(Unsupported, match="forged-progress"):
        ADAPTER.tamper(run.session.store, "forged-progress")


def test_a_file_that_is_no_list_of_snapshots_is_unknown_not_empty(new_run: Callable[..., Run]) -> None:
    run = new_run()
    assert ADAPTER.frontier(run.session.store, None) == Frontier(())
    for content in (b"{}", b"17", b'[{"id": "x"}]'):
        (run.session.store.folder / "run-1.json").write_bytes(content)
        assert run.done is None


def test_one_trace_leaves_the_same_bytes_in_every_way_to_run_it(new_run: Callable[..., Run], zygotes: Zygotes) -> None:
    trace = (*WHOLE[:2], resume("2.2", 2, CrashPoint("effect.after:2")), RECOVER, RESTART, RELOAD, RESTART)
    for recipe in RECIPES:
        runs = [new_run(recipe=recipe, mode=mode, zygotes=zygotes) for mode in (*MODES, "forked")]
        for run in runs:
            run(*trace)
        assert len({run.bytes for run in runs}) == 1
        assert all(run.seen == runs[0].seen for run in runs)
        identifiers = [snapshot["id"] for snapshot in runs[0].stored]
        assert len(set(identifiers)) == len(identifiers)


def test_interleaved_lives_stay_apart(new_run: Callable[..., Run]) -> None:
    alone, mixed = new_run(), [new_run(), new_run(recipe="deps")]
    alone(*WHOLE)
    for command in WHOLE:
        for run in mixed:
            run(command)
    assert mixed[0].bytes == alone.bytes and texts(mixed[1].seen[-1]) == MARKS


def test_outside_a_life_pydantic_graph_keeps_its_own_threads_and_identifiers(new_run: Callable[..., Run]) -> None:
    import anyio
    from pydantic_graph import basenode
    from pydantic_graph.persistence import _utils

    new_run()(START)
    assert basenode.generate_snapshot_id("x") != basenode.generate_snapshot_id("x")
    assert _utils.now_utc().year > 2020
    assert anyio.run(anyio.to_thread.run_sync, threading.current_thread) is not threading.current_thread()


def test_version_2_has_nothing_to_resume_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "2.3.0")
    report, _ = campaign("pydantic-graph", {}, seed=0, runs=5)
    assert {verdict.verdict for verdict in report.verdicts.values()} == {"inapplicable"}
    assert all("removed state persistence" in verdict.why for verdict in report.verdicts.values())
    assert report.progress.runs == 0 and not report.vacuous and exit_code([report]) == Exit.OK
    assert sentence(report).endswith("removed state persistence, so there is nothing to resume. Nothing was run.")
    for command in ("sweep", "race"):
        refused = CliRunner().invoke(app, [command, "pydantic-graph"])
        assert refused.exit_code == Exit.USAGE and "nothing to resume" in refused.stderr
