"""Telling apart the mechanisms that explain one finding: the shortest further trace that only some of them can make fail.

A trace that shows the finding is explained by every mechanism that may have done it. Where those are several, other commands
are tried on which they differ; what fails there too narrows the explanation. What does not fail says nothing, for a
mechanism may strike and need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose
from fuzzresume.campaign.witness import candidates
from fuzzresume.contract.commands import Command
from fuzzresume.contract.explain import Explanation, intersect
from fuzzresume.contract.foresight import can_violate
from fuzzresume.contract.workload import Token
from fuzzresume.harness.run import scope_of

BUDGET = 16
"""Executions that one finding may take."""


def tell_apart(executor: Executor, finding: Finding, late: Callable[[], bool] = lambda: False) -> None:
    """Narrow `finding.explained_by`, until `late` says that the time is over; `finding.telling` is the trace that did it."""
    if len(finding.explained_by) < 2:
        return
    left = BUDGET
    for commands in chain(_later_deaths(executor, finding), _differing(executor, finding, finding.explained_by)):
        if len(finding.explained_by) < 2 or not left or late():
            return
        left -= 1
        done = executor.execute(finding.target, commands, profile=finding.profile, steered=True)
        if done.violation is None:
            continue
        found = diagnose(executor.reference, done.violation, finding.profile, finding.target)
        narrowed = intersect([finding.explained_by, found.explanation])
        if found.same_as(finding.diagnosis) and narrowed and len(narrowed) < len(finding.explained_by):
            finding.explained_by, finding.telling = narrowed, commands[: done.violation.index + 1]


def _later_deaths(executor: Executor, finding: Finding) -> Iterator[tuple[Command, ...]]:
    """The same recovery after later deaths: the longer the durable prefix, the more replaying mechanisms differ."""
    died = [i for i, sent in enumerate(finding.commands) if sent.crash is not None]
    questions = executor.workload.questions()
    if not died or not questions:
        return
    answers = [Command("resume", Token(question, n)) for n, question in enumerate(questions, 1)]
    for point in reversed(executor.crash_points(finding.target).get("resume", ())):
        yield (Command("start"), *answers[:-1], replace(answers[-1], crash=point), *finding.commands[died[-1] + 1 :])


def _differing(executor: Executor, finding: Finding, explained_by: Explanation) -> Iterator[tuple[Command, ...]]:
    """The shortest commands on which some of the mechanisms can break the contract and others cannot."""
    reference, profile = executor.reference, finding.profile
    points, scope = executor.crash_points(finding.target), scope_of(finding.target.capabilities)
    for commands in candidates(reference, finding.commands, scope, points):
        can = [can_violate(reference, commands, profile, [frozenset(names)]) for names in explained_by]
        if any(can) and not all(can):
            yield commands
