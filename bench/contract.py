"""(e) The judge: reference, monitor and explanations, in plain Python.

A state of the reference is counted as TLC counts the states it generates: every transition that a command has in a state,
also one to a state that was seen before. The steps are all those of the graph within the default bounds, each asked of a
reference that has seen nothing yet; drawing up what to ask (menu, budget, search) is measured apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import combinations, islice
from statistics import median

from bench.place import place
from bench.results import Row, Target
from bench.timing import alternate, bare_loop, machine, only_own_garbage, rate, seconds
from bench.traces import WORKLOAD, Exchanges, Violating, recorded, violating
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.explain import explain
from fuzzresume.contract.faults import SEQUENTIAL
from fuzzresume.contract.menu import Scope, Spent, command, menu, spend, token_for
from fuzzresume.contract.monitor import Monitor, replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State

SCOPE = Scope(addressed=False, retry=False, tamper=("truncated",))
"""The default bounds: one crash, one special. To the reference an address makes no difference, and a retry is a recovery."""

DELIVERIES = 3
"""Fresh answers a run, which makes the graph finite."""


def walk(reference: Reference) -> tuple[dict[tuple[State, Command], int], int]:
    """Explore the whole graph from the first state.

    Returns each (state, command) sent with the number of its transitions; and how many transitions the search met, which
    comes to the same state with another budget again.
    """
    first = (State(), Spent())
    seen, todo = {first}, deque([first])
    sent: dict[tuple[State, Command], int] = {}
    generated = 0
    while todo:
        state, spent = todo.popleft()
        for label in menu(reference.workload, state, spent, SCOPE):
            token = token_for(state, spent, label)
            if token is not None and token.delivery > DELIVERIES:
                continue
            damage = "truncated" if label.op == "tamper" else None
            one = command(label, token, CrashPoint("effect.before:1") if label.crash else None, damage)
            found = reference.step(state, one)
            sent[state, one] = len(found)
            generated += len(found)
            afterwards = {kind: spend(state, spent, one, kind) for kind in {way.expect.kind for way in found}}
            for transition in found:
                after = (transition.state, afterwards[transition.expect.kind])
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    return sent, generated


def take_steps(reference: Reference, steps: Iterable[tuple[State, Command]]) -> None:
    """Ask the reference for the steps of a walk."""
    for state, sent in steps:
        reference.step(state, sent)


def judge_all(runs: list[Exchanges], warm: Reference | None) -> None:
    """Judge recorded runs, each by a monitor of its own; None: each by a reference of its own too."""
    for run in runs:
        monitor = Monitor(warm or Reference(WORKLOAD))
        for sent, seen in run:
            monitor.observe(sent, seen)


def explained(one: Violating) -> object:
    """Explain one trace by a reference that has seen nothing yet."""
    return explain(Reference(one.workload), one.trace, one.profile)


def every_pair(one: Violating) -> object:
    """The alternative: replay the trace under every single switch and every pair of them."""
    reference = Reference(one.workload)
    sets = [names for size in (1, 2) for names in combinations(SEQUENTIAL, size)]
    return [names for names in sets if replay(reference, one.trace, one.profile | frozenset(names))]


def benchmark(quick: bool) -> list[Row]:
    """The rows of (e)."""
    with place() as folder:
        runs = list(islice(recorded("reference", folder), 3 if quick else 60))
        traces = violating(folder)[:: 8 if quick else 1]
    repetitions = 1 if quick else 15
    with only_own_garbage():
        return [*_reference(repetitions), *_monitor(runs, repetitions), *_explain(traces, 1 if quick else 3)]


def _reference(repetitions: int) -> list[Row]:
    steps, generated = walk(Reference(WORKLOAD))
    known = Reference(WORKLOAD)
    times = alternate(
        {
            "explored": lambda: walk(Reference(WORKLOAD)),
            "explored again": lambda: walk(known),
            "steps": lambda: take_steps(Reference(WORKLOAD), steps),
            "steps again": lambda: take_steps(known, steps),
            "loop": bare_loop,
        },
        repetitions,
    )

    def row(name: str, way: str, count: int, target: Target | None) -> Row:
        value, memoised = rate(count, times[way]), rate(count, times[f"{way} again"])
        return Row("e", name, value, "states/s", repetitions, target, "every step memoised", memoised)

    return [
        row("reference: states generated, by step() cold", "steps", sum(steps.values()), Target(">=", 150_000)),
        row("the same, with the search that explores them", "explored", generated, None),
        machine("e", times["loop"]),
    ]


def _monitor(runs: list[Exchanges], repetitions: int) -> list[Row]:
    warm = Reference(WORKLOAD)
    times = alternate({"cold": lambda: judge_all(runs, None), "warm": lambda: judge_all(runs, warm)}, repetitions)
    judged = sum(map(len, runs))
    cold, fast = rate(judged, times["cold"]), rate(judged, times["warm"])
    unit = "commands/s"
    return [
        Row("e", "monitor, cold: a new reference a run", cold, unit, repetitions, Target(">=", 20_000), "warm", fast),
        Row("e", "monitor, warm: the reference kept", fast, unit, repetitions, Target(">=", 100_000), "cold", cold),
    ]


def _explain(traces: list[Violating], repetitions: int) -> list[Row]:
    ours = [1000 * median(seconds(partial(explained, one)) for _ in range(repetitions)) for one in traces]
    naive = [1000 * seconds(partial(every_pair, one)) for one in traces]
    median_of, other = f"explain a violation, median of {len(traces)} traces", "every switch and pair"
    return [
        Row("e", median_of, median(ours), "ms", repetitions, Target("<=", 20), other, median(naive)),
        Row("e", "explain a violation, the slowest trace", max(ours), "ms", repetitions, None, other, max(naive)),
    ]
