"""Baseline files: the findings that a team knows of, in one readable JSON file that lives in its repository.

A finding is known by its trace: a campaign that looks past a baseline tries each of them first, and so notices when one is
gone. (What is on record of targets that ship with fuzzresume is another thing: `campaign.baselines`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import Trace, TraceError, dumps, loads

SCHEMA = "fuzzresume.baseline/1"

Word = Literal["FIXED", "STILL", "CANNOT RUN"]
_WORDS: dict[str, Word] = {"reproduces": "STILL", "no longer reproduces": "FIXED", "cannot run": "CANNOT RUN"}


class BaselineFileError(Exception):
    """A baseline file cannot be used; the message is one line and names what is wrong."""


@dataclass(frozen=True, slots=True)
class Healed:
    """What became of one known finding. `packages` are the versions that it was replayed on, or else recorded on."""

    trace: Trace
    word: Word
    why: str
    packages: Mapping[str, str]


def key(trace: Trace) -> tuple[str, str]:
    """What makes two traces the same known finding: target and id."""
    return trace.target, trace.found.id if trace.found is not None else ""


def read_baseline(path: Path) -> list[Trace]:
    """The traces of a baseline file, in its order. Raises BaselineFileError."""
    if path.exists() and not path.is_file():
        raise BaselineFileError(f"{path}: that is no file")
    try:
        raw: Any = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError as error:
        raise BaselineFileError(f"{path}: there is no such file; `fuzzresume baseline update {path}` makes one") from error
    except OSError as error:
        raise BaselineFileError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BaselineFileError(f"{path}: not JSON: {error}") from error
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema != SCHEMA:
        raise BaselineFileError(f"{path}: schema: {schema!r}, and this fuzzresume reads {SCHEMA!r}")
    findings = raw.get("findings")
    if not isinstance(findings, list):
        raise BaselineFileError(f"{path}: findings: not a list")
    try:
        traces = [loads(msgspec.json.encode(one), f"{path}: findings[{i}]") for i, one in enumerate(findings)]
    except TraceError as error:
        raise BaselineFileError(str(error)) from error
    for i, trace in enumerate(traces):
        if trace.found is None:
            raise BaselineFileError(f"{path}: findings[{i}]: does not say what was found")
    return traces


def write_baseline(traces: Iterable[Trace]) -> bytes:
    """The file's bytes, by target and id, indented, ending in a newline."""
    findings = [msgspec.json.decode(dumps(trace)) for trace in sorted(traces, key=key)]
    return msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, "findings": findings}), indent=2) + b"\n"


def added(known: Sequence[Trace], found: Iterable[Trace]) -> list[Trace]:
    """Those of `found` that are not known yet, each finding once, by its shortest trace."""
    have, new = {key(trace) for trace in known}, dict[tuple[str, str], Trace]()
    for trace in found:
        before = new.get(key(trace))
        if key(trace) not in have and (before is None or len(trace.commands) < len(before.commands)):
            new[key(trace)] = trace
    return [new[name] for name in sorted(new)]


def heal(executor: Executor, traces: Iterable[Trace], *, exact: bool = False) -> Iterator[Healed]:
    """Replay known findings one after the other: which are fixed? `exact`: on the versions that each one recorded."""
    for trace in traces:
        result = replay_trace(executor.on(Reference(trace.workload)), trace, exact=exact)
        yield Healed(trace, _WORDS[result.outcome], result.why, result.trace.packages)
