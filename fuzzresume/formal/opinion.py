"""TLC's opinion on what a trace says of itself: confirmed or contradicted. A contradiction is a bug of fuzzresume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fuzzresume.contract.trace import Trace, TraceError
from fuzzresume.contract.words import say_explanation
from fuzzresume.formal.replay import Case, Judgement, judge
from fuzzresume.formal.toolchain import Toolchain

Tlc = Literal["confirmed", "contradicted", "not run"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """TLC's judgement of a trace, whether it is what the trace records, and if not, why."""

    judgement: Judgement
    tlc: Tlc
    why: str = ""


def has_race(trace: Trace) -> bool:
    """Whether racers take part, which the reference in TLA+ knows nothing of."""
    return any(command.op == "race" for command in trace.commands)


def case_of(trace: Trace, name: str = "trace") -> Case:
    """What there is to judge. Raises TraceError for a trace that does not record what was seen."""
    if has_race(trace):
        raise TraceError(f"{name}: a race is no command of the reference in TLA+, so TLC cannot judge it")
    if not trace.seen:
        raise TraceError(
            f"{name}: commands[0].seen: nothing is recorded of what was seen; replay the trace with --record FILE"
        )
    seen = tuple(zip(trace.commands, trace.seen, strict=True))
    if trace.found is None:
        return Case(trace.workload, seen)
    largest = max([2, *map(len, trace.found.explained_by)])
    return Case(trace.workload, seen, frozenset(trace.found.beyond), largest)


def opinions(traces: Sequence[Trace], toolchain: Toolchain) -> list[Opinion]:
    """Judge a batch. Raises TraceError (see `case_of`) and TlcError."""
    given = judge([case_of(trace) for trace in traces], toolchain)
    return [_opinion(trace, said) for trace, said in zip(traces, given, strict=True)]


def _opinion(trace: Trace, said: Judgement) -> Opinion:
    why = _contradiction(trace, said)
    return Opinion(said, "contradicted" if why else "confirmed", why)


def _contradiction(trace: Trace, said: Judgement) -> str:
    """Where TLC and the trace part; empty if they do not.

    A finding's switches are those that explain every trace of its group, so this trace may have further explanations.
    """
    if trace.found is None:
        return "" if said.refused is None else f"command {said.refused + 1} is refused, and the trace records no violation"
    if said.refused is None:
        return "the trace is admitted, and it records a violation"
    if said.refused != len(trace.commands) - 1:
        return (
            f"command {said.refused + 1} is refused already, and the violation recorded is at command {len(trace.commands)}"
        )
    recorded = {tuple(sorted(names)) for names in trace.found.explained_by}
    explained = {tuple(sorted(names)) for names in said.explained_by}
    if not recorded and explained:
        return f"it is explained by {say_explanation(said.explained_by)}, and the trace records that nothing explains it"
    if missing := recorded - explained:
        return f"it is explained by {say_explanation(said.explained_by)}, and not by {say_explanation(sorted(missing))}"
    return ""
