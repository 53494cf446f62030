"""`fuzzresume matrix`: frameworks by properties, beside what the paper claims of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume import cli_tla
from fuzzresume.campaign.baselines import baselines
from fuzzresume.campaign.campaign import Budget
from fuzzresume.campaign.events import Handler, TargetReport
from fuzzresume.campaign.gallery import gallery, that_could_be_drawn
from fuzzresume.campaign.matrix import Matrix, Row, row_of
from fuzzresume.cli_campaign import Setup, prepare, say_unasked, time_of
from fuzzresume.cli_outputs import Events, Html, Junit, Outputs, Sarif, Summary
from fuzzresume.cli_run import options_of, workspace
from fuzzresume.harness.target import BadOption, Target, TargetError, UnknownTarget, parse_target
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.matrix_json import matrix_json
from fuzzresume.report.matrix_markdown import matrix_markdown
from fuzzresume.report.matrix_terminal import Live, print_matrix
from fuzzresume.report.terminal import Screen
from fuzzresume.report.usage import fail

PINS = ("langgraph@1.2.9", "llamaindex@2.22.2", "crewai@1.15.2", "pydantic-graph@1.107.1", "autogen@0.7.5")
"""The targets when none is named: those of the paper, at its versions."""


def matrix(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help=f"Adapters. Default: {' '.join(PINS)}.")
    ] = None,
    max_time: Annotated[
        str | None, typer.Option(help="Time for each target: 90, 60s, 2m, 1h. Default 60s without --max-runs.")
    ] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Runs of each target, after which its campaign ends.")] = None,
    seed: Annotated[int, typer.Option(help="Draws the runs; the verdicts should not depend on it.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="Pin an option where a target has it."),
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the matrix as JSON to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the matrix as Markdown to this file.")] = None,
    junit: Junit = None,
    sarif: Sarif = None,
    summary: Summary = None,
    html: Html = None,
    events: Events = None,
    out: Annotated[Path, typer.Option(help="Folder for the traces of findings.")] = Path(".fuzzresume"),
    tlc: Annotated[bool, typer.Option("--tlc/--no-tlc", help="Ask TLC about every finding, where it is installed.")] = True,
    jar: cli_tla.Jar = None,
    java: cli_tla.Java = None,
) -> None:
    """Fuzz several targets and show a verdict for each property of each, beside what the paper claims.

    Known findings of a target are tried first. A target that cannot be used is a row that says so. Exit code 1: something is
    violated. Else 3: a cell is undetermined, or a target could not be used. 0: neither.
    """
    seconds = time_of(max_time, max_runs)
    pinned = options_of(option or [])
    outputs = Outputs(events, junit=junit, sarif=sarif, summary=summary, html=html)
    opinion = prepare(out, [json, markdown, *outputs.paths], tlc, jar, java)
    with Screen(stderr=True).status("starting") as status:
        chosen = {name: find(name, pinned) for name in dict.fromkeys(targets or PINS)}
        require_used(pinned, chosen.values())
        setup = Setup(seed, Budget(seconds, max_runs), out, opinion, listeners=outputs.begin(seed))
        rows, reports = fuzz_all(chosen, pinned, setup, Live(status))
    result = Matrix(seed, seconds, max_runs, rows)
    console = Screen()
    print_matrix(console, result)
    if unasked := say_unasked(opinion, reports):
        console.print(unasked, style="dim", markup=False, highlight=False)
    code = exit_of(result, reports)
    unusable = [f"{row.target}: {row.unusable}" for row in rows if row.unusable]
    outputs.write(
        Account(seed, reports, code, unusable),
        (json, lambda: matrix_json(result, code)),
        (markdown, lambda: matrix_markdown(result)),
    )
    raise typer.Exit(code)


def find(name: str, pinned: Mapping[str, str]) -> Target | str:
    """The target with those of the pinned options that it has, or why it cannot be used.

    Ends the program for a target or a value that does not exist: that is a slip of the command line.
    """
    try:
        target = parse_target(name)
        mine = options_had(target, pinned)
        return parse_target(name, mine) if mine else target
    except (UnknownTarget, BadOption) as error:
        fail(str(error))
    except TargetError as error:
        return str(error)
    except (ImportError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"  # an adapter that is broken costs its own row


def options_had(target: Target, pinned: Mapping[str, str]) -> dict[str, str]:
    """Those of the pinned options that the target has."""
    return {key: value for key, value in pinned.items() if key in target.options}


def require_used(pinned: Mapping[str, str], chosen: Iterable[Target | str]) -> None:
    """Ends the program for an option that no usable target has; says nothing where none is usable."""
    usable = [target for target in chosen if isinstance(target, Target)]
    for key in pinned:
        if usable and all(key not in target.options for target in usable):
            fail(f"-o {key}: there is no such option of {', '.join(target.label for target in usable)}")


def fuzz_all(
    chosen: Mapping[str, Target | str], pinned: Mapping[str, str], setup: Setup, handler: Handler
) -> tuple[list[Row], list[TargetReport]]:
    """A campaign for each target that can be used. An interrupt ends it with what there is."""
    known, shown = baselines(), gallery()
    rows: list[Row] = []
    reports: list[TargetReport] = []
    with workspace() as executor:
        for name, target in chosen.items():
            if isinstance(target, str):
                rows.append(Row(name, unusable=target))
            elif reports and reports[-1].interrupted:
                rows.append(Row(target.label, unusable="interrupted before its turn"))
            else:
                mine = options_had(target, pinned)
                # The same verdicts under every seed: what was found once is not left to chance.
                seeded = replace(setup, corpus=that_could_be_drawn(shown, target, mine))
                try:
                    reports.append(seeded.campaign(target, mine, executor, handler).run())
                except TargetError as error:
                    rows.append(Row(target.label, unusable=str(error)))
                else:
                    rows.append(row_of(reports[-1], mine, known.get(target.label)))
    return rows, reports


def exit_of(result: Matrix, reports: Iterable[TargetReport]) -> Exit:
    """That of the campaigns, but undetermined instead of right where a target could not be used: the matrix is not whole."""
    code = exit_code(reports)
    return code if result.whole or code is not Exit.OK else Exit.UNDETERMINED
