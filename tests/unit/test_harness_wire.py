"""The wire format: what is sent is what arrives."""

from __future__ import annotations

import json
import socket
import struct

import pytest

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question, Task, Workload
from fuzzresume.harness.calls import Call
from fuzzresume.harness.worker import (
    Birth,
    call_from_wire,
    call_to_wire,
    outcome_from_wire,
    outcome_to_wire,
    receive,
    send,
)

Q = Question(2, 1)


@pytest.mark.parametrize(
    "call",
    [
        Call("start"),
        Call("resume", Q, "2.1#1=ä", "address", "branch", CrashPoint("put.before", 2), 3),
        Call("fork", Q, "", "address", crash=CrashPoint("effect.before:1", 1, "exception")),
    ],
)
def test_calls(call: Call) -> None:
    assert call_from_wire(json.loads(json.dumps(call_to_wire(call)))) == call


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("crashed"),
        Outcome("completed", marks=()),
        Outcome(
            "parked", (Asked(Q, "a"), Asked(Question(2, 2))), (Mark(1), Mark(2, ("x", "y"))), announced=False, address="p"
        ),
        Outcome("refused", error="KeyError", message="'x'", task=2, seconds=1.5),
    ],
)
def test_outcomes(outcome: Outcome) -> None:
    assert outcome_from_wire(json.loads(json.dumps(outcome_to_wire(outcome)))) == outcome


def test_births() -> None:
    workload = Workload((Task(1), Task(3, 2, (1,)), Task(2, 0, (1, 3))), "fan-out")
    birth = Birth("s", "l", "h", {"store": "file"}, workload, 1)
    assert Birth.from_wire(json.loads(json.dumps(birth.to_wire()))) == birth


def test_messages_keep_their_boundaries_and_end_is_none() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, {"a": 1})
        send(ours, {"b": "ü"})
        ours.sendall(struct.pack(">I", 100) + b"torn by a death")
        ours.shutdown(socket.SHUT_WR)
        assert [receive(theirs), receive(theirs), receive(theirs)] == [{"a": 1}, {"b": "ü"}, None]
