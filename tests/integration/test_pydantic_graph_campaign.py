"""What the fuzzer must find in pydantic-graph 1.107.1 by itself: a run whose process dies inside a node can never go on."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pydantic_graph.persistence.file", exc_type=ImportError)

from campaigns import campaign, without_one
from pydantic_graph_lives import DEFAULTS

from fuzzresume.adapters.pydantic_graph import ADAPTER
from fuzzresume.campaign.sweep.sweeper import Sweeper
from fuzzresume.cli_run import workspace
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.target import parse_target

pytestmark = pytest.mark.skipif(
    parse_target("pydantic-graph").label != "pydantic-graph@1.107.1", reason="another pydantic-graph than the pinned one"
)


@pytest.fixture(scope="module")
def reports() -> list[Any]:
    return [campaign("pydantic-graph", {"recipe": "deps"}, seed=seed, runs=80)[0] for seed in (0, 6)]


def test_what_is_found_is_what_is_there(reports: list[Any]) -> None:
    """Few of the deaths leave a frontier for which the contract asks more than a refusal, so not every seed comes to one."""
    for report in reports:
        verdicts = {name: verdict.verdict for name, verdict in report.verdicts.items()}
        assert {name for name, verdict in verdicts.items() if verdict == "violated"} - {"LV"} == {"CO", "CV"}
        assert {name for name, verdict in verdicts.items() if verdict == "inapplicable"} == {"FD", "FI"}
        assert all(verdicts[name] == "holds" for name in ("PC", "RD", "IN", "RS"))
    assert {finding.explained_by for report in reports for finding in report.findings} == {
        (("InvalidPersist",),),
        (("Misroute",),),
        (("RefuseRecovery",),),
    }


def test_the_traces_are_minimal_and_say_what_goes_wrong(reports: list[Any]) -> None:
    by_property = {finding.property_name: finding for report in reports for finding in report.findings}
    assert by_property["CV"].words == ["start, task 1 returns an invalid update"]
    assert by_property["CO"].diagnosis.anomaly.limit == "FI" and len(by_property["CO"].commands) == 3
    assert [command.op for command in by_property["LV"].commands] == ["start", "resume", "recover"]
    for finding in by_property.values():
        assert finding.minimal and without_one(finding) == [], finding.words


def test_the_documented_script_takes_a_delivery_for_a_new_run() -> None:
    report, _ = campaign("pydantic-graph", {"recipe": "docs"}, seed=0, runs=30)
    assert report.verdicts["CO"].verdict == "violated"
    begun = [finding for finding in report.findings if [command.op for command in finding.commands] == ["stray"]]
    assert begun and begun[0].explained_by == (("DoubleConsume",),)


def test_of_the_deaths_in_a_run_only_those_between_two_nodes_can_be_recovered_from() -> None:
    target = parse_target("pydantic-graph")
    with workspace(Workload.linear(2, {})) as executor:
        swept = Sweeper(target, executor, "images").run()
    start = swept.sections[0]
    ended = {(point.hook, point.nth): state.ended for state in start.states for point in state.points}
    assert ended["unlock.after", 4] == ended["lock.before", 5] == "completed"
    assert ended["lock.after", 5] == ended["save.truncated", 5] == "stuck: refused (TimeoutError)"
    inside = [state for state in start.states if any(point.hook == "effect.before:2" for point in state.points)]
    assert {(state.window, state.ended) for state in inside} == {("W1", "stuck: refused (GraphRuntimeError)")}


def test_another_input_to_the_same_file_is_what_the_docstring_advises_against() -> None:
    rules = ADAPTER.capabilities(DEFAULTS | {"restart": "same-file"}).documented
    assert [rule.switch for rule in rules] == ["RestartMix"] and not ADAPTER.capabilities(DEFAULTS).documented
