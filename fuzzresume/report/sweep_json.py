"""Sweeps as JSON, schema `fuzzresume.sweep/1`. A pure writer; `SweepFile` reads it back, validated."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fuzzresume.campaign.sweep.result import Section, Swept

SCHEMA = "fuzzresume.sweep/1"


class Way(msgspec.Struct, frozen=True):
    """One sweep: the way to die, the sections of first and of second deaths, and what kept it from being whole."""

    mode: str
    sections: list[Section]
    second: list[Section]
    points: int
    executions: int
    seconds: float
    notes: list[str]
    troubles: list[str]
    interrupted: bool


class SweepFile(msgspec.Struct, frozen=True):
    """The document. `differences` are the points at which the ways to die disagree; `exit_code` is the command's own."""

    schema: str
    target: str
    packages: dict[str, str]
    options: dict[str, str]
    sweeps: list[Way]
    differences: list[str]
    exit_code: int


def sweep_json(sweeps: Sequence[Swept], differences: Sequence[str], exit_code: int) -> bytes:
    """The file's bytes, indented, ending in a newline. `sweeps` are of one target, at least one."""
    target = sweeps[0].target
    ways = [
        Way(
            one.mode,
            one.sections,
            one.second,
            one.points,
            one.executions,
            round(one.seconds, 3),
            one.notes,
            one.troubles,
            one.interrupted,
        )
        for one in sweeps
    ]
    packages, options = dict(target.packages), dict(target.options)
    document = SweepFile(SCHEMA, target.label, packages, options, ways, list(differences), int(exit_code))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
