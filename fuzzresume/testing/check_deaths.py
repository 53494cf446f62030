"""Deaths: whether they happen where they are planted, and whether the ways to die mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.harness.sessions import MODES, Mode
from fuzzresume.testing.check_plain import same
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Inapplicable, NotExpressed
from fuzzresume.testing.traces import DEFAULT, dying, plain

POINTS = 6
"""Crash points of a command that are tried, evenly spread."""

WAYS_POINTS = 3
"""The same where each is died at in every way."""


def check_points(lab: Lab) -> str:
    """A planted death happens at its hook, what went before stays, and there are hooks where the store is written to."""
    for index, seen in enumerate(lab.plain(DEFAULT).seen):
        if seen.before.done != seen.after.done and all(hook.startswith("effect.") for hook in seen.hooks):
            raise lab.plain(DEFAULT).fails("the frontier moves, and no hook was passed but those of the effects", index)
    _exceptions(lab)
    if lab.deaths is None:
        raise Inapplicable("there is no faithful way to die")
    if not lab.can.deterministic:
        return "exceptions only: the hooks are not the same each time"
    tried = 0
    whole = lab.run(DEFAULT, plain(DEFAULT), lab.deaths)
    for index in (0, len(whole.seen) - 1):
        for point in spread(whole.seen[index].hooks, POINTS):
            _die(lab, lab.deaths, whole, index, point)
            tried += 1
    return f"{tried} points of {sum(len(seen.hooks) for seen in whole.seen)}"


def _exceptions(lab: Lab) -> None:
    for moment in ("before", "after"):
        with lab.open(DEFAULT) as trial:
            seen = trial.send(dying(Command("start"), CrashPoint(f"effect.{moment}:1", by="exception")))
            if (seen.outcome.kind, seen.outcome.task) != ("failed", 1):
                told = " ".join(filter(None, (seen.outcome.kind, seen.outcome.error)))
                raise trial.fails(f"the task raised an exception of its own, and what comes out is {told}")


def _die(lab: Lab, mode: Mode, whole: Trial, index: int, point: CrashPoint) -> None:
    undisturbed = whole.seen[index]
    with lab.open(DEFAULT, mode) as trial:
        died = trial.send(*whole.sent[:index], dying(whole.sent[index], point))
        reached = undisturbed.hooks[: _place(undisturbed.hooks, point) + 1]
        if died.outcome.kind != "crashed" or died.hooks != reached:
            raise trial.fails(f"the planted death did not happen there: {died.outcome.kind} after {len(died.hooks)} hooks")
        if died.entries != undisturbed.entries[: len(died.entries)]:
            raise trial.fails("until its death the command did other things than without it")
        if reached == undisturbed.hooks and died.after.done != undisturbed.after.done:
            raise trial.fails(f"a task becomes durable behind the last hook, {point.hook}, where no death can be planted")
        rest = trial.send(Command("reload"))
        if rest.entries or rest.before != died.after or rest.after != died.after:
            raise trial.fails("the dead life goes on: the store or the ledger has moved after its death")


def check_modes(lab: Lab) -> str:
    """The ways to die agree, on the run that nobody disturbs and at crash points; what is not declared is refused."""
    for mode in MODES:
        if mode not in lab.ways:
            _refuses(lab, mode)
    modes = lab.ways if lab.can.in_process else ("in-process", *lab.ways)
    whole = {mode: trial for mode in modes if (trial := _ran(lab, mode)) is not None}
    if len(whole) < 2:
        raise Inapplicable("there is no second way to execute a run")
    first, *others = whole
    hooks = lab.can.deterministic
    for mode in others:
        same(whole[first], whole[mode], hooks=hooks, what=f"{first} and {mode} differ")
    ways = [mode for mode in whole if mode in lab.ways]
    if not hooks or len(ways) < 2:
        return f"{', '.join(whole)} on the undisturbed run"
    begin, *answers = plain(DEFAULT)
    last = len(answers)
    traces = [
        (dying(begin, point), Command("recover"), *answers) for point in spread(whole[first].seen[0].hooks, WAYS_POINTS)
    ]
    for point in spread(whole[first].seen[last].hooks, WAYS_POINTS):
        traces.append((begin, *answers[:-1], dying(answers[-1], point), Command("recover"), answers[-1]))
    for trace in traces:
        died = {mode: lab.run(DEFAULT, trace, mode) for mode in ways}
        for mode in ways[1:]:
            same(died[ways[0]], died[mode], hooks=True, what=f"{ways[0]} and {mode} differ")
    return f"{', '.join(whole)}; at {len(traces)} points {', '.join(ways)}"


def _refuses(lab: Lab, mode: Mode) -> None:
    try:
        trial = lab.run(DEFAULT, [dying(Command("start"), CrashPoint("effect.before:1"))], mode)
    except NotExpressed:
        return
    raise trial.fails(f"no capability declares the death {mode}, and yet it is not refused as Unsupported")


def _ran(lab: Lab, mode: Mode) -> Trial | None:
    """The undisturbed run by one way to die; None where nothing can be run that way."""
    try:
        return lab.run(DEFAULT, plain(DEFAULT), mode)
    except NotExpressed:
        return None


def spread(hooks: Sequence[str], count: int) -> list[CrashPoint]:
    """At most `count` kills along the hooks of an execution: its first one, its last one, and some between."""
    passed: Counter[str] = Counter()
    points = []
    for hook in hooks:
        passed[hook] += 1
        points.append(CrashPoint(hook, passed[hook]))
    if len(points) <= count:
        return points
    return [points[round(i * (len(points) - 1) / (count - 1))] for i in range(count)]


def _place(hooks: Sequence[str], point: CrashPoint) -> int:
    """Where along the hooks the point lies."""
    places = [index for index, hook in enumerate(hooks) if hook == point.hook]
    return places[point.nth - 1]
