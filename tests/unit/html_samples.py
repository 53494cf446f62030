"""The page of the sample reports, with everything that a page can hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from report_samples import HOSTILE, TARGET, conforming, interrupted, whole

from fuzzresume.campaign.coverage import OPEN, Coverage, Unreached
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.graph import Graph
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.words import say_state
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.run import scope_of
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.html_history import Night
from fuzzresume.report.html_page import html_page

DATE = "30 November 2026"


def covering(report: TargetReport, every: int) -> TargetReport:
    """The report with a coverage of the graph itself, in which one pair in `every` was not reached."""
    graph = _graph()
    missing = tuple(
        Unreached(say_state(state), item.text, "this target goes another legal way" if n % 2 else OPEN)
        for n, (state, item) in enumerate(graph.ordered)
        if n % every == every - 1
    )
    pairs = len(graph.pairs)
    reached = pairs - len(missing)
    return replace(report, coverage=Coverage((100, len(graph.states)), (reached, pairs), missing, reached))


@cache
def _graph() -> Graph:
    return Graph.of(Reference(Workload.linear()), scope_of(TARGET.capabilities))


def night(number: int, **verdicts: str) -> Night:
    """A night in which the target's properties hold, but for some."""
    judged = {name: "holds" for name in PROPERTIES} | verdicts
    return Night(f"night {number}", f"2026-11-{number:02}", {TARGET.label: judged})  # type: ignore[dict-item]


NIGHTS = [
    night(1, FD="violated", EO="documented", CV="inapplicable"),
    replace(night(2, FD="violated", CV="inapplicable", PC="unexercised"), new=("EO-449951 several tasks in doubt",)),
    replace(night(3, CV="inapplicable"), gone=("FD-79e629 a fork was not served", HOSTILE)),
]


def account(*reports: TargetReport) -> Account:
    """What a command ended with."""
    return Account(7, reports, Exit.VIOLATED, unusable=[f"crewai: {HOSTILE}"], base=Path("/work"))


@cache
def page() -> str:
    """One page of it all."""
    reports = covering(whole(Path("/somewhere/out")), 3), interrupted(), conforming()
    return html_page(account(*reports), DATE, NIGHTS)
