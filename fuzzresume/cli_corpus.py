"""`fuzzresume corpus`: what the corpus database holds; traces out of it and into it; two of them made one; a smaller one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.corpus.database import Corpus, CorpusError
from fuzzresume.campaign.corpus.read import FindingRow, ListedRow, listed, totals
from fuzzresume.campaign.corpus.trace_files import export_traces, import_traces
from fuzzresume.campaign.lookup import DATABASE
from fuzzresume.cli_files import OUT, require_file, write_file
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.corpus_json import corpus_json
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain
from fuzzresume.report.trace_lines import trace_lines
from fuzzresume.report.usage import fail

SHORT = 12
"""Digits of a trace's SHA-256 that are shown; fewer are enough to name it."""

Db = Annotated[Path, typer.Option("--db", metavar="FILE", help="The corpus database.")]
DEFAULT = OUT / DATABASE

app = typer.Typer(no_args_is_help=True, help="The corpus: every campaign, finding and trace, in one SQLite file.")


@app.command("list")
def list_findings(
    db: Db = DEFAULT,
    target: Annotated[str | None, typer.Option(help="Only findings of this adapter, such as langgraph.")] = None,
    property: Annotated[str | None, typer.Option(help="Only findings of this property, such as FD.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the list as JSON to this file.")] = None,
) -> None:
    """List the findings, a line each, then the traces that show none."""
    require_file(json)
    name = None if property is None else property.upper().removeprefix("RR-")
    if name is not None and name not in PROPERTIES:
        fail(f"--property {property}: there is no such property; they are {', '.join(PROPERTIES)}")
    with opened(db) as corpus:
        lines = [_line(row) for row in listed(corpus, target, name)]
        bare = corpus.traces(target=target) if name is None else []
        total = totals(corpus)
        if json is not None:
            write_file(json, corpus_json(corpus.findings(target, name), bare, corpus.campaigns(target=target)))
    lines += [f"{row.sha256[:SHORT]}  {row.label}  {_number(row.length, 'command')}  shows no finding" for row in bare]
    counts = {"finding": total.findings, "trace": total.traces, "campaign": total.campaigns}
    held = ", ".join(_number(count, name) for name, count in counts.items())
    lines.append(f"{len(lines)} listed; {db} holds {held}" + (f" ({total.running} unfinished)" if total.running else ""))
    # A hundred thousand lines at once: a console would look at every one.
    typer.echo("\n".join(lines))


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="A finding, such as FD-2dc830, or the start of a trace's SHA-256.")
    ],
    db: Db = DEFAULT,
) -> None:
    """Print a finding with its smallest trace, its other traces and the campaigns that saw it; or a trace."""
    with opened(db) as corpus:
        rows = corpus.findings(finding=name)
        for row in rows:
            _show_finding(corpus, row)
        trace = corpus.trace(name) if not rows else None
    if trace is not None:
        plain().print("\n".join(trace_lines(trace)))
    elif not rows:
        fail(f"{db}: there is no finding, and no single trace, {name!r}; `fuzzresume corpus list` names them")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go: <target>/<finding>.json.")],
    db: Db = DEFAULT,
    target: Annotated[str | None, typer.Option(help="Only traces of this adapter.")] = None,
) -> None:
    """Write the smallest trace of each finding, and each trace that shows none, as a file that can be read and replayed."""
    with opened(db) as corpus:
        try:
            written = export_traces(corpus, folder, target)
        except OSError as error:
            fail(str(error) if isinstance(error, CorpusError) else f"{folder}: {error.strerror or error}")
    plain().print(f"{_number(written, 'trace')} written to {folder}")


@app.command("import")
def import_files(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Traces, or folders of them.")],
    db: Db = DEFAULT,
) -> None:
    """Put traces in. A broken one is named and the others go in (exit 2)."""
    with opened(db, create=True) as corpus:
        imported = import_traces(corpus, paths)
    for line in imported.broken:
        plain(stderr=True).print(f"fuzzresume: {line}")
    plain().print(f"{_number(imported.read, 'trace')} read, {imported.new} of them new, {len(imported.broken)} broken")
    raise typer.Exit(Exit.USAGE if imported.broken else Exit.OK)


@app.command()
def merge(
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another corpus database; it is only read.")],
    db: Db = DEFAULT,
) -> None:
    """Put everything of another corpus in. A second time changes nothing."""
    with opened(db, create=True) as corpus:
        merged = corpus.merge(other)
    plain().print(f"{other} put into {db}: {merged.words} new")


@app.command()
def minimise(
    db: Db = DEFAULT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be dropped.")] = False,
) -> None:
    """Drop the traces that a smaller one of the same finding, on the same packages, makes superfluous."""
    with opened(db) as corpus:
        dropped = corpus.minimise(dry=dry_run)
    verb = "would be dropped" if dry_run else "dropped"
    for trace in dropped:
        name = f"{trace.finding}  {trace.label}  {trace.sha256[:SHORT]}"
        typer.echo(f"{name}  {_number(trace.length, 'command')}, {trace.enough} are enough")
    typer.echo(f"{_number(len(dropped), 'trace')} {verb}")


@contextlib.contextmanager
def opened(path: Path, *, create: bool = False) -> Iterator[Corpus]:
    """The corpus in a file. Ends the program when it cannot be used, then or later."""
    try:
        with Corpus(path, create=create) as corpus:
            yield corpus
    except CorpusError as error:
        fail(str(error))


def _line(row: ListedRow) -> str:
    notes = [f"known as {row.known}"] if row.known not in ("", row.id) else []
    notes += ["flaky"] if row.flaky else []
    words = f"  ({', '.join(notes)})" if notes else ""
    return f"{row.id}  {row.target}  {row.verdict}  {_number(row.length, 'command')}  {row.title}{words}"


def _show_finding(corpus: Corpus, row: FindingRow) -> None:
    console = plain()
    console.print(f"{row.id} {row.target} RR-{row.property} {row.title}")
    console.print(f"{row.verdict} · confirmed {row.confirmed} · TLC {row.tlc}{f' · {row.flaky}' if row.flaky else ''}")
    if (trace := corpus.trace_of(row.id, row.target)) is not None:
        console.print("\n".join(trace_lines(trace)))
    console.print("traces")
    for held in corpus.traces(row.id, row.target):
        console.print(f"  {held.sha256[:SHORT]}  {held.label}  {_number(held.length, 'command')}  {held.recorded}")
    console.print("seen by")
    for seen in corpus.history(row.id, row.target):
        console.print(f"  {seen.started}  {seen.label}  seed {seen.seed}  {seen.verdict}  {seen.seen} times")


def _number(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
