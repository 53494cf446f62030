import json

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.trace import SCHEMA, Found, Trace, TraceError, dumps, load, loads
from fuzzresume.contract.workload import Question, Token, Workload

TRACE = Trace(
    "reference",
    {"restart": "refuse"},
    Workload.linear(),
    (
        Command("start", crash=CrashPoint("effect.after:1", 1, "exception")),
        Command("recover"),
        Command("resume", Token(Question(2, 1), 1), at="question", poison=2),
        Command("tamper", kind="empty"),
    ),
    {"fuzzresume": "0.1.0"},
    ("start", "recover", "resume", "tamper"),
    Found("EO-123456", "EO", "a durable effect fired again", "one", "two", [["Replay"]]),
)


def changed(**fields):
    raw = json.loads(dumps(TRACE))
    raw.update(fields)
    return json.dumps(raw).encode()


FOUND = json.loads(dumps(TRACE))["found"]


def test_round_trip():
    assert loads(dumps(TRACE)) == TRACE


@pytest.mark.parametrize(
    "data, says",
    [
        (b"{", "not JSON"),
        (b"[]", "schema"),
        (changed(schema="fuzzresume.trace/2"), "another version"),
        (changed(schema="something/1"), "not a fuzzresume trace"),
        (changed(commands=[]), "commands"),
        (changed(commands=[{"op": "launch"}]), r"commands\[0\].op"),
        (changed(commands=[{"op": "start", "nonsense": 1}]), "nonsense"),
        (changed(commands=[{"op": "resume", "token": "yes"}]), r"commands\[0\].token"),
        (changed(commands=[{"op": "resume", "token": "3.1#1=yes"}]), "asks no question 3.1"),
        (changed(commands=[{"op": "start", "poison": 9}]), r"commands\[0\].poison"),
        (changed(commands=[{"op": "start", "crash": {"hook": "put.before", "nth": 0}}]), "crash"),
        (changed(options={"a": 1}), "options"),
        (changed(workload={"tasks": "three"}), "workload"),
        (changed(workload={"tasks": [{"id": 1}], "topology": "fan-out"}), "only linear workloads"),
        (changed(workload={"tasks": [{"id": 1}, {"id": 1, "after": [1]}]}), "workload"),
        (changed(workload={"tasks": [{"id": 1, "questions": 1000000}]}), "more than 50"),
        (changed(commands=[{"op": "resume", "token": "2.1#0=yes"}]), "count from 1"),
        (changed(found={**FOUND, "property": "ZZ"}), "no property 'ZZ'"),
        (changed(found={**FOUND, "explained_by": [["Nope"]]}), "no fault switch 'Nope'"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_broken_trace_names_the_field(data, says):
    with pytest.raises(TraceError, match=says) as error:
        loads(data, "bug.json")
    assert str(error.value).startswith("bug.json: ")
    assert "\n" not in str(error.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(TraceError, match="No such file"):
        load(tmp_path / "absent.json")


def test_the_schema_is_versioned():
    assert SCHEMA == "fuzzresume.trace/1"
