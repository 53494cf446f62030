"""What was seen of a command survives the trace file, whatever it was; a part of it, or nonsense, is refused by name."""

import json
from dataclasses import replace

import pytest
from random_traces import random_cases

from fuzzresume.contract.trace import Trace, TraceError, dumps, loads
from fuzzresume.formal.opinion import case_of

CASES = random_cases(seed=3, number=60)
TRACE = next(
    Trace("reference", {}, c.workload, tuple(s for s, _ in c.trace), seen=tuple(s for _, s in c.trace))
    for c in CASES
    if len(c.trace) >= 3
)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_round_trip(case):
    commands, seen = zip(*case.trace, strict=True)
    trace = Trace("reference", {}, case.workload, commands, seen=seen)
    assert loads(dumps(trace)) == trace
    assert case_of(trace).trace == case.trace


def edited(change):
    raw = json.loads(dumps(TRACE))
    change(raw["commands"])
    return json.dumps(raw).encode()


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda rows: rows[1].pop("seen"), r"commands\[1\].seen: recorded for some"),
        (lambda rows: rows[0]["seen"].update(kind="maybe"), r"commands\[0\].seen.kind: 'maybe'"),
        (lambda rows: rows[0]["seen"].update(pending=["first"]), r"commands\[0\].seen.pending"),
        (lambda rows: rows[0]["seen"].update(effects=[["one"]]), "effects"),
        (lambda rows: rows[0]["seen"].update(colour="red"), "colour"),
    ],
)
def test_what_cannot_have_been_seen_is_refused(change, says):
    with pytest.raises(TraceError, match=says):
        loads(edited(change))


def test_nothing_recorded_can_be_replayed_but_not_judged():
    trace = loads(dumps(replace(TRACE, seen=())))
    assert trace.seen == ()
    with pytest.raises(TraceError, match="--record"):
        case_of(trace)
