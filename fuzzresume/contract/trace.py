"""The trace: the unit of reproduction (docs/DESIGN.md, *Determinism*). JSON, versioned, validated on load.

A trace holds the workload, the target with exact versions and options, and the commands with every drawn value; a finding's
trace also holds what was found, and what was seen of each command. Answers and questions are written as short texts, so
that a person can read the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.faults import FAULTS
from fuzzresume.contract.monitor import Seen
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.recorded import Sighting, read_seen, write_seen
from fuzzresume.contract.workload import Task, Token, Workload

SCHEMA = "fuzzresume.trace/1"

MOST = 50
"""Tasks of a workload, and questions of a task, at most."""


class TraceError(Exception):
    """A trace file cannot be used; the message is one line and names the field."""


class Row(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One command, as it stands in the file."""

    op: str
    token: str | None = None
    at: str = "latest"
    branch: str = "latest"
    crash: CrashPoint | None = None
    poison: int | None = None
    kind: str | None = None
    racers: list[Row] = []
    turns: list[Turn] = []
    unit: str = "processes"
    seen: Sighting | None = None


class Found(msgspec.Struct, forbid_unknown_fields=True):
    """What the trace shows: the property violated, and how. `beyond` are known deviations that the trace also shows.

    `tlc` is TLC's word on it: `confirmed`, `contradicted` or `not run`. `undelayed` says what the commands show where
    nothing is put off that the framework does not wait for; empty where nothing was put off.
    """

    id: str
    property: str
    cls: str = msgspec.field(name="class")
    expected: str
    observed: str
    explained_by: list[list[str]] = []
    verdict: str = "violated"
    beyond: list[str] = []
    tlc: str = "not run"
    undelayed: str = ""


class File(msgspec.Struct, forbid_unknown_fields=True):
    """A whole trace file."""

    schema: str
    target: str
    packages: dict[str, str]
    options: dict[str, str]
    workload: Workload
    commands: list[Row]
    words: list[str] = []
    found: Found | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A run as a value. `target` is the adapter's name; `words` are the commands for people, never read back.

    `seen` is what was seen of each command, or empty where it was not recorded.
    """

    target: str
    options: dict[str, str]
    workload: Workload
    commands: tuple[Command, ...]
    packages: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    found: Found | None = None
    seen: tuple[Seen, ...] = ()


def dumps(trace: Trace) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    sightings: list[Sighting | None] = [write_seen(seen) for seen in trace.seen]
    sightings = sightings or [None] * len(trace.commands)
    rows = [_row(command, sighting) for command, sighting in zip(trace.commands, sightings, strict=True)]
    file = File(SCHEMA, trace.target, trace.packages, trace.options, trace.workload, rows, list(trace.words), trace.found)
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def _row(command: Command, sighting: Sighting | None = None) -> Row:
    token = command.token.text if command.token else None
    racers = [_row(racer) for racer in command.racers]
    return Row(
        command.op, token, command.at, command.branch, command.crash, command.poison, command.kind, racers,
        list(command.turns), command.unit, sighting,
    )  # fmt: skip


def loads(data: bytes, name: str = "trace") -> Trace:
    """Read a trace. Raises TraceError, which names the file, the field and what is wrong with it."""
    try:
        raw: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceError(f"{name}: not JSON: {error}") from error
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if not isinstance(schema, str) or not schema.startswith("fuzzresume.trace/"):
        raise TraceError(f"{name}: schema: not a fuzzresume trace ({schema!r} instead of {SCHEMA!r})")
    if schema != SCHEMA:
        raise TraceError(f"{name}: schema: {schema!r} is of another version of fuzzresume, this one reads {SCHEMA!r}")
    try:
        file = msgspec.convert(raw, File)
    except msgspec.ValidationError as error:
        raise TraceError(f"{name}: {error}") from error
    _check(name, file)
    commands = tuple(_command(f"{name}: commands", i, row, file.workload) for i, row in enumerate(file.commands))
    if not commands:
        raise TraceError(f"{name}: commands: a trace needs at least one command")
    seen = _seen(name, file.commands)
    return Trace(file.target, file.options, file.workload, commands, file.packages, tuple(file.words), file.found, seen)


def _check(name: str, file: File) -> None:
    """What the types cannot say. Raises TraceError."""
    workload = file.workload
    if len(workload.tasks) > MOST or any(task.questions > MOST for task in workload.tasks):
        raise TraceError(f"{name}: workload: more than {MOST} tasks, or questions in a task")
    gates = {task.id: task.questions for task in workload.tasks}
    try:
        linear = Workload.linear(len(workload.tasks), gates)
    except ValueError as error:
        raise TraceError(f"{name}: workload: {error}") from error
    if workload != linear:
        raise TraceError(f"{name}: workload: only linear workloads, tasks 1..n each after the one before, can be run yet")
    if (found := file.found) is None:
        return
    if found.property not in PROPERTIES:
        raise TraceError(f"{name}: found.property: there is no property {found.property!r}")
    for switch in (*found.beyond, *(s for names in found.explained_by for s in names)):
        if switch not in FAULTS:
            raise TraceError(f"{name}: found: there is no fault switch {switch!r}")


def _seen(name: str, rows: list[Row]) -> tuple[Seen, ...]:
    """Everything that was seen, or nothing: what was seen of a part of a run cannot be judged."""
    seen = []
    for index, row in enumerate(rows):
        if (row.seen is None) != (rows[0].seen is None):
            raise TraceError(f"{name}: commands[{index}].seen: recorded for some commands and not for others")
        if row.seen is not None:
            try:
                seen.append(read_seen(row.seen))
            except ValueError as error:
                raise TraceError(f"{name}: commands[{index}].seen.{error}") from error
    return tuple(seen)


def load(path: Path) -> Trace:
    """Read a trace file. Raises TraceError, also when the file cannot be read."""
    if path.exists() and not path.is_file():
        raise TraceError(f"{path}: that is no file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    return loads(data, path.name)


def _command(name: str, index: int, row: Row, workload: Workload) -> Command:
    where = f"{name}[{index}]"
    try:
        token = None if row.token is None else Token.parse(row.token)
    except ValueError as error:
        raise TraceError(f"{where}.token: {error}") from error
    if token is not None and token.delivery < 1:
        raise TraceError(f"{where}.token: deliveries count from 1")
    if token is not None and token.question not in workload.questions():
        raise TraceError(f"{where}.token: the workload asks no question {token.question.text}")
    tasks = {task.id for task in workload.tasks if isinstance(task, Task)}
    if row.poison is not None and row.poison not in tasks:
        raise TraceError(f"{where}.poison: the workload has no task {row.poison}")
    racers = tuple(_command(f"{where}.racers", i, racer, workload) for i, racer in enumerate(row.racers))
    try:
        return Command(
            row.op, token, row.at, row.branch, row.crash, row.poison, row.kind, racers, tuple(row.turns), row.unit,  # type: ignore[arg-type]
        )  # fmt: skip
    except ValueError as error:
        raise TraceError(f"{where}.{error}") from error
