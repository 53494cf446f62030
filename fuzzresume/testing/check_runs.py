"""Runs beside each other and after each other in one process: none may notice another."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from itertools import chain, pairwise, zip_longest
from pathlib import Path

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.remote import RemoteAdapter
from fuzzresume.testing.check_plain import same
from fuzzresume.testing.cold import run_cold
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Fails, Inapplicable
from fuzzresume.testing.traces import DEFAULT, GATES, SECOND, Trace, dying, plain
from fuzzresume.testing.views import difference, views

WARM = 10
"""Which run of a process is compared with the first of a fresh one."""

LIVES = 5
"""Runs that are closed one after the other; what each of them leaves shows in the growth."""


def check_interleaved(lab: Lab) -> str:
    """Two runs alternately in one process show what each shows alone: other workloads, other answers, a death in one."""
    pairs = [
        ((DEFAULT, plain(DEFAULT)), (GATES, plain(GATES))),
        ((DEFAULT, plain(DEFAULT)), (DEFAULT, plain(DEFAULT, SECOND))),
    ]
    if lab.can.in_process and lab.can.deterministic:
        begin, *answers = plain(DEFAULT)
        died = (dying(begin, CrashPoint("effect.after:1")), Command("recover"), *answers)
        pairs.append(((DEFAULT, died), (GATES, plain(GATES))))
    for one, other in pairs:
        alone = [lab.run(*one), lab.run(*other)]
        for before, beside in zip(alone, _alternately(lab, one, other), strict=True):
            same(before, beside, hooks=lab.can.deterministic, what="a run shows another thing while another run is alive")
    return f"{len(pairs)} pairs"


def _alternately(lab: Lab, *runs: tuple[Workload, Trace]) -> list[Trial]:
    """Execute traces command by command in turn."""
    trials = [lab.open(workload) for workload, _ in runs]
    try:
        turns = zip_longest(*([(trial, sent) for sent in trace] for trial, (_, trace) in zip(trials, runs, strict=True)))
        for turn in filter(None, chain.from_iterable(turns)):
            trial, command = turn
            trial.send(command)
    finally:
        for trial in trials:
            trial.session.close()
    return trials


def check_order(lab: Lab) -> str:
    """Traces show the same in whatever order they are executed in one process, deaths among them."""
    first = [trial for trial in lab.tour() if lab.can.deterministic or not _dies(trial)]
    for trial in reversed(first):
        again = lab.attempt(DEFAULT, trial.sent, lab.deaths or "in-process")
        same(trial, again, hooks=lab.can.deterministic, what="after other traces this one differs")
    return f"{len(first)} traces there and back"


def _dies(trial: Trial) -> bool:
    return any(command.crash is not None and command.crash.by == "kill" for command in trial.sent)


def check_cold(lab: Lab) -> str:
    """The first run of a fresh process shows what the tenth of this one does."""
    cold = run_cold(lab.target, DEFAULT, plain(DEFAULT))
    for _ in range(WARM - 1):
        lab.run(DEFAULT, plain(DEFAULT))
    warm = lab.run(DEFAULT, plain(DEFAULT))
    hooks = lab.can.deterministic
    if (apart := difference(views(cold, hooks=hooks), warm.views(hooks=hooks))) is not None:
        raise Fails(f"a cold run and a warm one differ, in {apart[1]}", warm.words[: apart[0] + 1])
    return ""


def check_close(lab: Lab) -> str:
    """A life that is closed leaves no thread, no descriptor and no child behind, whether it died or not."""
    if isinstance(lab.target.adapter, RemoteAdapter):
        raise Inapplicable("its lives hold what they hold in another process")
    begin, *answers = plain(DEFAULT)
    deaths = [dying(begin, CrashPoint("effect.after:1"))] if lab.can.in_process else []
    held = [_held()]
    for _ in range(LIVES + 1):
        for trace in ((begin,), (begin, *answers), *((death,) for death in deaths)):
            trial = lab.run(DEFAULT, trace)
        held.append(_held())
    # What is made once for all of them, such as a pool, is there after the first.
    for kind, counts in zip(("threads", "descriptors", "children"), zip(*held[1:], strict=True), strict=True):
        if all(later > earlier for earlier, later in pairwise(counts)):
            raise trial.fails(f"{counts[-1] - counts[0]} {kind} were left by {LIVES} times as many lives")
    return f"{held[-1][0]} threads, {held[-1][1]} descriptors, {held[-1][2]} children, as before"


def _held() -> tuple[int, int, int]:
    """The threads, descriptors and children of this process; without /proc no more than Python's own threads."""
    gc.collect()
    if not Path("/proc/self/task").exists():
        return threading.active_count(), 0, 0
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), sum(1 for _ in _children())


def _children() -> Iterator[str]:
    for task in Path("/proc/self/task").iterdir():
        yield from (task / "children").read_text().split()
