"""Data classes through a pipe: what is sent is what arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.observation import Asked, Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Mark, Question, Task, Token, Workload
from fuzzresume.harness.adapter import Capabilities, Documented
from fuzzresume.harness.plain import from_plain, to_plain

Q = Question(2, 1)
TWIN = Observation(Outcome("refused", error="KeyError", message="'ä'", seconds=1.5))
VALUES = [
    Command("start", crash=CrashPoint("put.after", 2), poison=3),
    Command("tamper", kind="truncated"),
    Command(
        "race",
        racers=(Command("resume", Token(Q, 1, "no"), at="question"), Command("recover")),
        turns=(Turn(1, "put.before", 2),),
        unit="threads",
    ),
    Observation(
        Outcome("parked", (Asked(Q, "a"), Asked(Q)), (Mark(1), Mark(2, ("x", "y"))), announced=False, address="p"),
        (Entry("enter", 1), Entry("effect", 1, ("t",), (Mark(1),))),
        Frontier((1, 2), head="h"),
        Frontier(None, "broken"),
        TWIN,
        ("put.before",),
        (TWIN,),
        ("t",),
    ),
    Observation(Outcome("hung", seconds=10)),
    Workload((Task(1), Task(3, 2, (1,))), "fan-out"),
    Capabilities(
        fork="an id",
        tamper=("empty",),
        units=("threads",),
        other_schedule={"executor": "queue"},
        documented=(Documented("LateRecord", "late", "there", "1.0"),),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_sent_arrives(value: Any) -> None:
    plain = to_plain(value)
    plain.pop("keeper", None)
    assert from_plain(type(value), json.loads(json.dumps(plain))) == value


def test_what_holds_its_default_is_not_sent() -> None:
    assert to_plain(Command("recover")) == {"op": "recover"}
    assert to_plain(Frontier(())) == {"done": []}


@pytest.mark.parametrize(
    "data", [{"op": 3}, {"op": "recover", "poison": "x"}, {"op": "recover", "crash": {}}, {"opp": "recover"}]
)
def test_anything_else_is_an_error(data: dict[str, Any]) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        from_plain(Command, data)
