"""The seed traces of public reports: each still shows what was reported, and an engine that does right passes it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph_lives import Run
from lives import recover, start, texts

from fuzzresume.adapters.langgraph import ADAPTER as LANGGRAPH
from fuzzresume.adapters.reference import ADAPTER as REFERENCE
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.gallery import reports
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.monitor import reduce
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import dumps, load
from fuzzresume.contract.words import say_commands, say_expect, wire_names
from fuzzresume.contract.workload import Question, Workload
from fuzzresume.harness.env import TaskFailure
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import BadOption, NoEnvironment, Target, recorded_target

FOLDER = Path(__file__).parents[2] / "corpus" / "reports"

PROPERTIES = {
    "crewai-persist": "EO",
    "langgraph-6491": "CV",
    "langgraph-6663": "FD",
    "langgraph-7034": "LV",
    "langgraph-8039": "EO",
    "langgraph-8764": "EO",
    "langgraph-8834": "LV",
    "langgraph-8837": "CO",
    "pydantic-graph-killed-node": "LV",
}

SAME_DEATH = {
    "langgraph-8039": CrashPoint("effect.after:2"),
    "langgraph-8834": CrashPoint("effect.before:2"),
}
"""Where another engine dies in the same way, for hooks that only LangGraph passes: the second task's effect has fired and
is not recorded; the first task is recorded and the second has not run."""


@pytest.fixture
def executor(zygotes: Zygotes) -> Iterator[Callable[[Workload], Executor]]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda workload: Executor(Reference(workload), Path(folder), zygotes)


def test_all_of_them_ship() -> None:
    assert [trace.found.id for trace in reports().values() if trace.found is not None] == sorted(PROPERTIES)
    assert [path.stem for path in sorted(FOLDER.iterdir())] == sorted(PROPERTIES)
    said = (FOLDER.parent / "README.md").read_text()
    assert [name for name in PROPERTIES if f"`{name}`" not in said] == []


@pytest.mark.parametrize("name", PROPERTIES)
def test_it_still_shows_what_was_reported(name: str, executor: Callable[[Workload], Executor]) -> None:
    trace = load(FOLDER / f"{name}.json")
    assert trace.found is not None and (trace.found.id, trace.found.property) == (name, PROPERTIES[name])
    assert list(trace.words) == say_commands(trace.workload, trace.commands)
    assert dumps(trace) == (FOLDER / f"{name}.json").read_bytes()
    try:
        target = recorded_target(trace.target, trace.packages, trace.options)
    except NoEnvironment as reason:
        pytest.skip(str(reason))
    if target.packages != trace.packages:
        pytest.skip("other package versions than the trace's")
    result = replay_trace(executor(trace.workload), trace)
    assert result.outcome == "reproduces", result.words
    assert result.trace.found is not None and result.trace.seen == trace.seen


@pytest.mark.parametrize("name", PROPERTIES)
def test_an_engine_that_does_right_does_what_it_expects(name: str, executor: Callable[[Workload], Executor]) -> None:
    trace = load(FOLDER / f"{name}.json")
    commands = [replace(one, crash=one.crash and SAME_DEATH.get(name, one.crash)) for one in trace.commands]
    done = executor(trace.workload).execute(Target(REFERENCE), commands, "in-process")
    assert done.violation is None and done.sent == len(commands), done.stopped
    died = [seen.outcome.kind in ("crashed", "failed") for _, seen in done.exchanges]
    assert died == [one.crash is not None for one in commands]
    assert trace.found is not None
    shown = say_expect(reduce(done.exchanges[-1][1]).expect, wire_names(done.exchanges))
    assert shown in trace.found.expected.split(" — or — ")


# What the LangGraph adapter does for them on request.


def test_what_they_need_is_never_drawn() -> None:
    assert "routed" not in LANGGRAPH.options["api"] and "late-writes" not in LANGGRAPH.options["executor"]
    with pytest.raises(BadOption, match="cannot combine"):
        Target(LANGGRAPH, {"saver": "async-sqlite", "executor": "late-writes"})


@pytest.mark.parametrize("saver", ["sqlite", "memory", "async-sqlite"])
def test_a_routing_function_fails_as_its_task_and_after_its_record(new_run: Callable[..., Run], saver: str) -> None:
    routed, plain = (new_run(Workload.linear(2, {}), saver=saver, api=api) for api in ("routed", "graph"))
    assert texts(routed(start)) == texts(plain(start)) == ("1", "2")
    assert [hook for hook in routed.passed if "route" not in hook] == plain.passed
    failing = new_run(Workload.linear(2, {}), saver=saver, api="routed")
    with pytest.raises(TaskFailure) as failure:
        failing(start, CrashPoint("effect.route:1", by="exception"))
    assert failure.value.task == 1 and failing.frontier.done == (1,) and failing.fired == [1]


@pytest.mark.parametrize(("executor", "recorded"), [("inline", (1, 2)), ("late-writes", ())])
def test_what_a_checkpoint_overtakes_is_lost_with_a_death(
    new_run: Callable[..., Run], executor: str, recorded: tuple[int, ...]
) -> None:
    run = new_run(Workload.linear(2, {}), api="functional", executor=executor)
    run.dies(start, CrashPoint("put.before", 2))
    assert (run.fired, run.frontier.done) == ([1, 2], recorded)
    assert texts(run(recover)) == ("1", "2") and run.frontier.done == (1, 2)
    assert run.fired == [1, 2, *(task for task in (1, 2) if task not in recorded)]


@pytest.mark.parametrize("options", [{}, {"api": "functional"}, {"saver": "async-sqlite"}], ids=str)
def test_null_arrives_as_none_and_counts_as_the_answer_that_was_sent(
    new_run: Callable[..., Run], options: dict[str, str]
) -> None:
    run = new_run(Workload.linear(2, {1: 1}), **options)
    (one,) = run(start).asked
    done = run(lambda life: life.resume(Question(1, 1), "1.1#1=null", address=one.address, branch=None))
    assert texts(done) == ("1:1.1#1=null", "2")
