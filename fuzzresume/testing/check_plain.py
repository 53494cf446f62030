"""What the run shows that nobody disturbs: the ground that all other checks stand on."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.testing.forms import complaints
from fuzzresume.testing.judged import Complaint, judged
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Fails, Inapplicable
from fuzzresume.testing.traces import DEFAULT, WORKLOADS, dying, plain
from fuzzresume.testing.views import difference


def check_outcomes(lab: Lab) -> str:
    """Outcomes and frontiers are well formed: a park names questions, completed carries marks, addresses are text."""
    seen = 0
    for trial in (*(lab.plain(workload, whole=False) for workload in WORKLOADS), *lab.tour()):
        damaged = False
        for index, (command, observation) in enumerate(zip(trial.sent, trial.seen, strict=False)):
            damaged |= command.op == "tamper"
            seen += 1
            for complaint in complaints(trial.workload, command, observation, damaged=damaged):
                raise trial.fails(complaint, index)
    return f"{seen} of them"


def check_run(lab: Lab) -> str:
    """A run parks at each question in turn, resumes with the answer and completes."""
    findings = []
    for workload in WORKLOADS:
        trial = lab.plain(workload)
        found = judged(trial)
        raise_first(trial, found.outcomes)
        findings += [f"; {found.finding}"] if found.finding else []
    return f"{len(WORKLOADS)} workloads{''.join(findings)}"


def check_ledger(lab: Lab) -> str:
    """The ledger is complete and ordered: entered, then fired, with the answers and the state that the task was given."""
    for workload in WORKLOADS:
        raise_first(lab.plain(workload), judged(lab.plain(workload)).ledger)
    return f"{sum(len(seen.entries) for workload in WORKLOADS for seen in lab.plain(workload).seen)} entries"


def check_frontier(lab: Lab) -> str:
    """The frontier agrees with the ledger at every rest, and reading it changes nothing."""
    for workload in WORKLOADS:
        raise_first(lab.plain(workload), judged(lab.plain(workload)).frontier)
    return f"read {sum(2 * len(lab.plain(workload).seen) for workload in WORKLOADS)} times"


def check_deterministic(lab: Lab) -> str:
    """Two executions of one trace pass the same hooks and show the same."""
    if not lab.can.deterministic:
        raise Inapplicable("not declared")
    # The first run of all may be another one, which `cold` looks at.
    same(lab.run(DEFAULT, plain(DEFAULT)), lab.run(DEFAULT, plain(DEFAULT)), hooks=True)
    if lab.deaths is not None:
        begin, *answers = plain(DEFAULT)
        died = (dying(begin, CrashPoint("effect.after:1")), Command("recover"), *answers)
        same(lab.run(DEFAULT, died, lab.deaths), lab.run(DEFAULT, died, lab.deaths), hooks=True)
    return f"{sum(len(seen.hooks) for seen in lab.plain(DEFAULT).seen)} hooks"


def check_epochs(lab: Lab) -> str:
    """After a restart the frontier is that of the new epoch."""
    with lab.open(DEFAULT) as trial:
        completed = trial.send(*plain(DEFAULT))
        restarted = trial.send(Command("restart"))
    if completed.outcome.kind != "completed":
        raise Inapplicable(f"the run before the restart is {completed.outcome.kind}")
    if restarted.outcome.kind != "parked":
        raise Inapplicable(f"a restart of a completed run is {restarted.outcome.kind} here: no second epoch to tell apart")
    # Only a new epoch asks again, and in it nothing is durable but what it ran itself.
    fired, done = {mark.task for mark in restarted.effects}, restarted.after.done
    if done is None or set(done) != fired:
        shown = "unreadable" if done is None else sorted(done)
        raise trial.fails(f"the frontier is {shown} while the new epoch has run {sorted(fired)} and asks again")
    return ""


def same(one: Trial, other: Trial, *, hooks: bool, what: str = "two executions differ") -> None:
    """Raise Fails where two executions of one trace differ."""
    apart = difference(one.views(hooks=hooks), other.views(hooks=hooks))
    if apart is not None:
        longer = max(one, other, key=lambda trial: len(trial.sent))
        raise Fails(f"{what}, in {apart[1]}", longer.words[: apart[0] + 1])


def raise_first(trial: Trial, complaints: Sequence[Complaint], what: str = "") -> None:
    """Raise Fails for the first complaint, if there is one."""
    for index, complaint in complaints:
        raise trial.fails(f"{what}{complaint}", index)
