"""(b) Runs to find a bug and executions to shrink it: a default campaign beside a plain Hypothesis machine.

The bugs are those of the mutants, one for each fault switch of one process, and LangGraph's fork that gets the trunk's
answer. All in process. A campaign is over with the finding that the bug explains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import NamedTuple

from bench.apart import apart
from bench.place import place
from bench.plain import PlainMachine, play
from bench.results import Row, Target, middle
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.events import Event, FindingFound
from fuzzresume.campaign.execute import Executed, Executor
from fuzzresume.campaign.findings import diagnose
from fuzzresume.contract.explain import Explanation
from fuzzresume.contract.faults import FAULTS, SEQUENTIAL
from fuzzresume.contract.monitor import Violation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter
from fuzzresume.machines.linear import Violated

WORKLOAD = Workload.linear()
MOST, MOST_PLAIN = 1000, 500
"""Runs in which a bug must be found: by a campaign, and by Hypothesis, whose runs take long."""

ON = 120
"""The runs of a mutant's campaign, which goes on behind the finding: one fault is one finding, however long the search."""


class Bug(NamedTuple):
    """A bug of a target: the switch that explains it, and the options that plant it."""

    adapter: str
    fault: str

    @property
    def pinned(self) -> dict[str, str]:
        """The options that a campaign pins."""
        return {"fault": self.fault} if self.adapter == "mutant" else {}

    def explains(self, explanation: Explanation, property_: str) -> bool:
        """Whether a violation shows this bug; a mutant has no other."""
        named = any(self.fault in names for names in explanation)
        return self.adapter == "mutant" or (named and property_ == FAULTS[self.fault].properties[0])


BUGS = (*(Bug("mutant", fault) for fault in SEQUENTIAL), Bug("langgraph", "ForkIgnore"))


@dataclass(frozen=True)
class Found:
    """Runs until the first that shows the bug, executions to shrink it, and the commands it ends with. Infinite: not found.

    `all_executions` are also those that a campaign spends on the finding beside the minimiser's, `findings` all that it made
    until its end.
    """

    runs: float = inf
    executions: float = inf
    all_executions: float = inf
    commands: float = inf
    findings: float = inf


class CountingExecutor(Executor):
    """Counts the traces that it executes: whatever is not a run of a phase."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.executed = [0]

    def execute(self, *arguments: object, **named: object) -> Executed:
        """Execute a trace."""
        self.executed[0] += 1
        return super().execute(*arguments, **named)  # type: ignore[arg-type]


def campaign(bug: Bug, seed: int) -> Found:
    """A default campaign, which draws the options that nothing pins. On LangGraph it ends with the finding."""
    found = Found()
    with place() as folder:
        executor = CountingExecutor(_reference(), folder)
        subject = Subject(load_adapter(bug.adapter), bug.pinned)
        search = Campaign(subject, bug.pinned, executor, seed, Budget(None, MOST))

        class Watch:
            """Notes the finding, and when the campaign is over from then on."""

            before = 0

            def handle(self, event: Event) -> None:
                """Look at a finding; what was executed since the last one was for this one."""
                nonlocal found
                if isinstance(event, FindingFound):
                    one, spent, self.before = event.finding, executor.executed[0] - self.before, executor.executed[0]
                    if bug.explains(one.explained_by, one.property_name) and found.runs == inf:
                        found = Found(event.progress.runs, one.executions, spent, len(one.commands))
                        search.budget = Budget(None, ON if bug.adapter == "mutant" else 1)

        search.handlers.append(Watch())
        report = search.run()
    return replace(found, findings=len(report.findings))


def hypothesis(bug: Bug, seed: int) -> Found:
    """A plain Hypothesis machine under the default options, which fails for this bug only."""
    subject = Subject(load_adapter(bug.adapter), bug.pinned)
    profile = profile_of(subject.capabilities)
    with place() as folder:

        class Machine(PlainMachine):
            adapter = bug.adapter
            options = subject.options
            workload = WORKLOAD
            executor = Executor(_reference(), folder)
            most = MOST_PLAIN

            def report(self, violation: Violation) -> None:
                """Fail, or let another violation be the end of the run."""
                if bug.adapter != "mutant":
                    diagnosis = diagnose(self.executor.reference, violation, profile, subject)
                    if not bug.explains(diagnosis.explanation, diagnosis.anomaly.property):
                        return
                cls = type(self)
                cls.failed_in = cls.failed_in or cls.runs
                super().report(violation)

        try:
            play(Machine, seed, shrink=True)
        except Violated as error:
            assert Machine.failed_in is not None
            shrinking = Machine.runs - Machine.failed_in
            return Found(Machine.failed_in, shrinking, shrinking, len(error.violation.exchanges))
    return Found()


@cache
def _reference() -> Reference:
    return Reference(WORKLOAD)


WAYS = {"campaign": campaign, "hypothesis": hypothesis}


def search(way: str, bug: Bug, seed: int) -> Found:
    """One way to look for a bug, under one seed."""
    return WAYS[way](bug, seed)


def benchmark(quick: bool) -> list[Row]:
    """The rows of (b)."""
    seeds = {"campaign": 5, "hypothesis": 1} if quick else {"campaign": 20, "hypothesis": 3}
    bugs = BUGS[::9] if quick else BUGS
    asked = [(way, bug, seed) for bug in bugs for way in reversed(WAYS) for seed in range(seeds[way])]
    done = dict(zip(asked, apart(search, asked), strict=True))
    rows: list[Row] = []
    for bug in bugs:
        ours, plain = ([done[way, bug, seed] for seed in range(seeds[way])] for way in WAYS)
        rows += _rows(bug, ours, plain)
    return rows


def _rows(bug: Bug, ours: list[Found], plain: list[Found]) -> list[Row]:
    subject = bug.fault if bug.adapter == "mutant" else f"{bug.adapter}, {bug.fault}"
    other = f"plain Hypothesis ({len(plain)} x {MOST_PLAIN} runs)"
    runs, executions = (
        (Target("<=", 49), Target("<=", 30)) if bug.adapter == "mutant" else (Target("<=", 10), Target("<=", 15))
    )

    def row(name: str, unit: str, figure: Callable[[Found], float], target: Target | None) -> Row:
        value, theirs = middle(map(figure, ours)), middle(map(figure, plain))
        return Row("b", f"{subject}: {name}", value, unit, len(ours), target, other, theirs)

    rows = [
        row("runs to find", "runs", lambda one: one.runs, runs),
        row("executions to shrink", "executions", lambda one: one.executions, executions),
        row("the same with run again and told apart", "executions", lambda one: one.all_executions, None),
        row("what is left", "commands", lambda one: one.commands, None),
    ]
    if bug.adapter == "mutant":
        most = max(one.findings for one in ours)
        rows.append(
            Row("b", f"{subject}: findings in {ON} runs, the most of any seed", most, "findings", len(ours), Target("<=", 1))
        )
    return rows
