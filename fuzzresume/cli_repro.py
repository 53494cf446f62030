"""`fuzzresume repro`: what a bug report needs, a folder a finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.lookup import alike
from fuzzresume.cli_files import require_file, traces_of, write_file
from fuzzresume.contract.trace import Trace, dumps
from fuzzresume.harness.target import TargetError, recorded_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.sequence import mermaid
from fuzzresume.report.terminal import plain
from fuzzresume.report.usage import fail
from fuzzresume.repro.issue import issue
from fuzzresume.repro.plan import NoScript
from fuzzresume.repro.script import script
from fuzzresume.repro.verify import Verified, verify

FOLDER = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
"""What the name of a finding's folder looks like: it stays inside the folder that was asked for."""

TRACKERS = {"langgraph": "langchain-ai/langgraph"}
"""The repository whose issues a target's public reports are numbered by."""


def repro(
    findings: Annotated[
        list[Path], typer.Argument(metavar="FINDING...", help="A finding's id, a trace file, or a folder of traces.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write a folder for each finding into this one.")] = Path("repro"),
    verified: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Run each script where nothing but the framework is installed.")
    ] = True,
) -> None:
    """Write trace.json, repro.py and ISSUE.md: reproduces without fuzzresume (exit 1), no longer (0), cannot tell (3)."""
    traces = traces_of(findings)
    for trace in traces:
        if trace.found is None:
            fail("a trace without a finding: replay it with --record first")
    folders = folders_of(traces, out)
    words = [write_folder(trace, folder, verified=verified) for folder, trace in folders.items()]
    if any(word == "reproduces" for word in words):
        raise typer.Exit(Exit.VIOLATED)
    raise typer.Exit(Exit.OK if all(word == "no longer reproduces" for word in words) else Exit.UNDETERMINED)


def folders_of(traces: Sequence[Trace], out: Path) -> dict[Path, Trace]:
    """A folder for each finding, named by its id; where several have one id, in a folder of their target and version.

    A finding that was named twice counts once. Ends the program for an id that cannot be a folder's name.
    """
    different = [trace for index, trace in enumerate(traces) if trace not in traces[:index]]
    times = Counter(_name(trace) for trace in different)
    folders: dict[Path, Trace] = {}
    for trace in different:
        parts = [_name(trace)]
        if times[parts[0]] > 1:
            parts.insert(0, "-".join([trace.target, *list(trace.packages.values())[:1]]))
        for part in parts:
            if not FOLDER.fullmatch(part):
                fail(f"{part!a} cannot be the name of a finding's folder")
        folder = out.joinpath(*parts)
        number = 1
        while folder in folders:
            number += 1
            folder = out.joinpath(*parts[:-1], f"{parts[-1]}-{number}")
        folders[folder] = trace
    return folders


def write_folder(trace: Trace, folder: Path, *, verified: bool) -> str:
    """Write one finding's folder and say what came of its script; returns the word for it. Ends the program where the disk
    refuses a file."""
    require_file(folder / "repro.py")
    write_file(folder / "trace.json", dumps(trace))
    try:
        source = script(trace)
    except NoScript as reason:
        source, came = str(reason), Verified("unverified", f"no script: {reason}")
        (folder / "repro.py").unlink(missing_ok=True)
    else:
        write_file(folder / "repro.py", source.encode())
        came = verify(folder / "repro.py") if verified else Verified("unverified", "not asked for")
    text = issue(trace, source, diagram=mermaid(trace), verified=came.words, stated=stated(trace), alike=known(trace))
    write_file(folder / "ISSUE.md", text.encode())
    plain().print(f"{_name(trace)}  {came.words}\n  {folder}")
    return came.word


def stated(trace: Trace) -> list[str]:
    """The rules that the framework documents under the trace's options, where its adapter can be asked."""
    try:
        target = recorded_target(trace.target, trace.packages, trace.options)
    except TargetError:
        return []
    return [f"{one.rule} ({one.where}, {one.version})" for one in target.capabilities.documented]


def known(trace: Trace) -> list[str]:
    """Public reports that may be about the same: by their issue where they have one, and how to see them."""
    return [f"{_issue(trace.target, name)} (`fuzzresume show {name}`)" for name in alike(trace)]


def _issue(target: str, name: str) -> str:
    number = name.removeprefix(f"{target}-")
    return f"{TRACKERS[target]}#{number}" if target in TRACKERS and number.isdecimal() else name


def _name(trace: Trace) -> str:
    assert trace.found is not None
    return trace.found.id
