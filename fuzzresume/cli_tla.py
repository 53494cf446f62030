"""`fuzzresume tla`: the models of `tla/` under TLC, and TLC as the judge of recorded traces."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from fuzzresume.cli_files import files_of
from fuzzresume.contract.trace import Trace, TraceError, load
from fuzzresume.contract.words import say_explanation
from fuzzresume.formal.check import Checked, Figures, check_all, figures
from fuzzresume.formal.opinion import Opinion, case_of, has_race, opinions
from fuzzresume.formal.toolchain import TlcError, TlcMissing, Toolchain
from fuzzresume.formal.twin import COMPARED, compare, python_graph, tlc_graph
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import Screen, plain
from fuzzresume.report.usage import fail

app = typer.Typer(
    no_args_is_help=True,
    help="Check the TLA+ reference with TLC, and let TLC judge traces.",
    epilog="Exit codes: 0 all as stated, 1 something differs, 2 usage, 3 TLC did not finish, 130 interrupted.",
)

Jar = Annotated[Path | None, typer.Option("--tla2tools", help="Another tla2tools.jar. Default FUZZRESUME_TLA2TOOLS.")]
Java = Annotated[Path | None, typer.Option("--java", help="Another Java. Default FUZZRESUME_JAVA.")]


def toolchain_of(jar: Path | None, java: Path | None) -> Toolchain:
    """The toolchain. Ends the program, with the pip command, where there is none."""
    try:
        return Toolchain.find(jar, java)
    except TlcMissing as error:
        fail(str(error))


@contextmanager
def running() -> Iterator[None]:
    """While TLC runs: what ends it ends the command in one line, and Ctrl-C with code 130."""
    try:
        yield
    except TlcError as error:
        plain(stderr=True).print(f"fuzzresume: {error}")
        raise typer.Exit(Exit.UNDETERMINED) from error
    except KeyboardInterrupt as interrupt:
        plain(stderr=True).print("interrupted")
        raise typer.Exit(Exit.INTERRUPTED) from interrupt


@app.command()
def check(
    config: Annotated[list[str] | None, typer.Argument(help="Configurations by name; else all but the large ones.")] = None,
    large: Annotated[bool, typer.Option("--large", help="The large ones too: minutes, and 3 GB of memory.")] = False,
    jar: Jar = None,
    java: Java = None,
) -> None:
    """Run TLC on the models, print states and what falls where, and compare with the figures stated in tla/figures."""
    known = figures()
    if unknown := [name for name in config or () if name not in known]:
        fail(f"there is no configuration {unknown[0]!r}; one of {', '.join(known)}")
    chosen = list(dict.fromkeys(config or [name for name, stated in known.items() if large or not stated.large]))
    toolchain = toolchain_of(jar, java)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("configuration", "generated/distinct/depth", "falls at depth", "liveness"):
        table.add_column(heading, no_wrap=heading != "falls at depth")
    wrong: list[Checked] = []
    console = Screen(highlight=False, markup=False)
    with running(), closing(check_all(chosen, toolchain)) as checks, console.status("TLC runs") as status:
        for done, one in enumerate(checks, 1):
            status.update(f"TLC runs · {done}/{len(chosen)} · {one.name}")
            table.add_row(*row_of(one))
            wrong += [one] if one.differs else []
    console.print(table)
    for one in wrong:
        console.print(Text(f"{one.name} is not as stated: {'; '.join(one.differs)}", style="bold red"))
    console.print(f"{len(chosen)} configurations, {len(chosen) - len(wrong)} as stated, {len(wrong)} not")
    raise typer.Exit(Exit.VIOLATED if wrong else Exit.OK)


def row_of(one: Checked) -> tuple[str | Text, ...]:
    """A configuration's line in the table."""
    it = one.measured
    counts = f"{it.generated}/{it.distinct}/{'-' if it.depth is None else it.depth}"
    return Text(one.name, style="bold red" if one.differs else ""), counts, falls_of(it), it.liveness


def falls_of(it: Figures) -> str:
    """What falls, in one cell: `EO 4, PC 4`, or a line for each fault set."""
    if it.matrix:
        return "\n".join(f"{name}: {_falls(row)}" for name, row in it.matrix.items())
    return _falls(it.events) if it.events else _falls(it.falls)


def _falls(row: dict[str, int]) -> str:
    return ", ".join(f"{name} {depth}" for name, depth in sorted(row.items(), key=lambda pair: (pair[1], pair[0]))) or "none"


@app.command()
def replay(
    trace: Annotated[list[Path], typer.Argument(help="Trace files, or folders of them.")],
    jar: Jar = None,
    java: Java = None,
) -> None:
    """Let TLC judge recorded traces.

    A trace is admitted, or TLC names the first command refused and every smallest set of switches that admits it.
    Traces with a race are passed over. Exit code 0: what each trace records is confirmed. 1: contradicted. 2: a file is
    no trace that can be judged.
    """
    console = plain()
    refused = plain(stderr=True)
    named: list[tuple[str, Trace]] = []
    garbage = 0
    for path in files_of(trace):
        try:
            loaded = load(path)
            if has_race(loaded):
                console.print(f"{path}: not judged: the reference in TLA+ has no race")
                continue
            case_of(loaded, str(path))
        except TraceError as error:
            refused.print(f"fuzzresume: {error}")
            garbage += 1
        else:
            named.append((str(path), loaded))
    toolchain = toolchain_of(jar, java)
    with running():
        given = opinions([loaded for _, loaded in named], toolchain)
    for (name, loaded), opinion in zip(named, given, strict=True):
        console.print(f"{name}: {say_opinion(loaded, opinion)}")
    contradicted = sum(opinion.tlc == "contradicted" for opinion in given)
    console.print(f"{len(given)} traces, {len(given) - contradicted} confirmed, {contradicted} contradicted")
    raise typer.Exit(Exit.VIOLATED if contradicted else Exit.USAGE if garbage else Exit.OK)


def say_opinion(trace: Trace, opinion: Opinion) -> str:
    """TLC's judgement of a trace in one line."""
    said = opinion.judgement
    if said.refused is None:
        words = "admitted"
    else:
        where = f"command {said.refused + 1} ({trace.commands[said.refused].op})"
        words = f"refused at {where}, explained by {say_explanation(said.explained_by)}"
    return f"{words} · {opinion.tlc}" + (f": {opinion.why}" if opinion.why else "")


@app.command()
def graph(
    bounds: Annotated[list[str] | None, typer.Argument(help="Bounds, by name. Default: all.")] = None,
    jar: Jar = None,
    java: Java = None,
) -> None:
    """Compare the reachable graph of the Python reference with TLC's: states, edges, what each shows, TLC's counts."""
    known = {one.name: one for one in COMPARED}
    if unknown := [name for name in bounds or () if name not in known]:
        fail(f"there are no bounds {unknown[0]!r}; one of {', '.join(known)}")
    toolchain = toolchain_of(jar, java)
    console = plain()
    differs = False
    gc.disable()  # millions of values without a cycle among them: looking for cycles takes half of the time
    for name in bounds or known:
        with running():
            ours = python_graph(known[name])
            theirs, _ = tlc_graph(known[name], toolchain)
        found = compare(ours, theirs)
        differs |= bool(found)
        counts = f"{len(ours.nodes):,} states, {ours.edges:,} edges, {ours.initial} initial, {ours.generated:,} generated"
        console.print(f"{name}: {counts} · {f'{len(found)} differences' if found else 'the same in TLC'}")
        for line in found[:5]:
            console.print(f"  {line}")
    raise typer.Exit(Exit.VIOLATED if differs else Exit.OK)
