"""The stream of events: a line each, at once, and a stream that breaks is never written to again."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from report_samples import HOSTILE, TARGET, forked, refused, whole

from fuzzresume.campaign.events import (
    Event,
    FindingFound,
    KnownChecked,
    PhaseCount,
    PhaseFinished,
    RunFinished,
    TargetFinished,
    TargetStarted,
)
from fuzzresume.campaign.regress import Checked
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.ndjson import EventLines

PROGRESS = whole().progress
EVENTS: list[Event] = [
    TargetStarted(TARGET, 5),
    KnownChecked(Checked("IN-0000ab", f"cannot run: {HOSTILE}", True)),
    RunFinished(PROGRESS),
    FindingFound(forked(), PROGRESS),
    FindingFound(refused(), PROGRESS),
    PhaseFinished(PhaseCount("tour", 3, 9, 4, 1, "all that can be reached")),
    TargetFinished(whole()),
]


class Full(io.BytesIO):
    """A disk that takes so many lines whole, and of the next one `part` bytes; None: it refuses."""

    def __init__(self, lines: int, part: int | None) -> None:
        super().__init__()
        self.lines, self.part = lines, part

    def write(self, data: Any) -> int:
        if self.getvalue().count(b"\n") < self.lines:
            return super().write(data)
        if self.part is None:
            raise OSError(28, "No space left on device")
        return super().write(data[: self.part])


def test_every_event_is_a_line_at_once() -> None:
    file = io.BytesIO()
    stream = EventLines(file)
    stream.begin(5)
    for number, event in enumerate(EVENTS, 2):
        stream.handle(event)
        assert file.getvalue().count(b"\n") == number and file.getvalue().endswith(b"}\n")
    first, *lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert (first["schema"], first["seed"]) == ("fuzzresume.events/1", 5)
    assert [line["event"] for line in lines] == [
        "target-started",
        "known-checked",
        "run-finished",
        "finding-found",
        "finding-found",
        "phase-finished",
        "target-finished",
    ]
    started, checked, run, found, hostile, phase, finished = lines
    assert started["target"] == "example@1.2.9" and started["packages"]["example-store"] == "4.1.1"
    assert checked["outcome"].startswith("cannot run: ]]>") and checked["known"] is True
    told = {"phase": "race", "runs": 812, "commands": 4000, "states": [100, 147], "pairs": [190, 203], "findings": 5}
    assert run["progress"] == found["progress"] == finished["progress"] == {**told, "seconds": 59.5}
    assert found["finding"]["commands"] == ["start", "resume(a, gate 2)", "fork(b, gate 2)"]
    assert "\\x00\\x1b[31m" in hostile["finding"]["observed"]
    assert (phase["name"], phase["pairs"], phase["covered"]) == ("tour", 4, "all that can be reached")
    assert finished["verdicts"]["FD"] == "violated" and finished["known"] == {"IN-0000ab": 12}
    assert {one["property"] for one in finished["findings"].values()} == {"FD", "CO", "LV", "EO", "RS"}


def test_the_last_line_says_the_exit_code(tmp_path: Any) -> None:
    path = tmp_path / "events.ndjson"
    stream = EventLines(path.open("wb", buffering=0))
    stream.begin(5)
    assert stream.end(Exit.VIOLATED) == ""
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["event"], last["exit_code"]) == ("ended", 1) and "violates a property" in last["meaning"]


@pytest.mark.parametrize(("part", "says"), [(None, "No space left"), (7, "only 7 of")])
def test_nothing_follows_a_line_that_could_not_be_written(part: int | None, says: str) -> None:
    file = Full(2, part)
    stream = EventLines(file)
    stream.begin(5)
    stream.handle(EVENTS[0])
    for event in EVENTS[1:3]:
        with pytest.raises(OSError, match=says):
            stream.handle(event)
    assert file.getvalue().count(b"\n") == 2
    assert stream.end(Exit.OK) == "" and file.closed, "what the campaigns have told is not told again"


def test_a_last_line_that_could_not_be_written_is_told() -> None:
    file = Full(1, None)
    stream = EventLines(file)
    stream.begin(5)
    assert "No space left" in stream.end(Exit.OK) and file.closed
