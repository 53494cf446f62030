"""A matrix as a person reads it in a terminal: one column a target, one row a property, then what is behind the cells."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from fuzzresume.campaign.events import Event, RunFinished, TargetStarted
from fuzzresume.campaign.findings import options_text
from fuzzresume.campaign.matrix import Cell, Matrix, Row
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.matrix_words import say_bounds, say_depth, say_difference, say_evidence, say_paper, say_totals
from fuzzresume.report.terminal import STYLES, progress_line

UNUSABLE = "unusable"


class Live:
    """A handler that shows in one line which target is fuzzed and how far its campaign is."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._label = ""

    def handle(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TargetStarted(target, _):
                self._label = target.label
                self._status.update(f"{self._label} · starting")
            case RunFinished(progress):
                self._status.update(f"{self._label} · {progress_line(progress)}")


def print_matrix(console: Console, matrix: Matrix) -> None:
    """The whole matrix. Nothing is cut off however narrow the terminal; long lines are folded."""
    console.print(Text(f"matrix · {say_bounds(matrix)}", style="bold"))
    console.print(matrix_table(matrix))
    for row in matrix.rows:
        for line in row_lines(row):
            console.print(line, soft_wrap=True)
    console.print(Text(say_totals(matrix.rows), style="bold"), soft_wrap=True)


def matrix_table(matrix: Matrix) -> Table:
    """Each cell holds the verdict and, below, the paper's; then runs and coverage."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    for row in matrix.rows:
        table.add_column(row.target.replace("@", "\n@"), overflow="fold")
    for name in PROPERTIES:
        table.add_row(name, *(_shown(row, name) for row in matrix.rows), end_section=name == list(PROPERTIES)[-1])
    table.add_row("runs", *(Text("-" if row.unusable else str(row.runs)) for row in matrix.rows))
    table.add_row("states", *(_reached(row, row.states) for row in matrix.rows))
    table.add_row("pairs", *(_reached(row, row.pairs) for row in matrix.rows))
    table.add_row("depth", *(Text("-" if row.unusable else say_depth(row)) for row in matrix.rows))
    return table


def row_lines(row: Row) -> Iterator[Text]:
    """What is behind a target's cells: those that are not simply kept, as claimed and as expected."""
    if row.unusable:
        yield Text(f"{row.target}: unusable: {row.unusable}", style="magenta")
        return
    pinned = f" · pinned {options_text(row.pinned)}" if row.pinned else ""
    yield Text(f"{row.target}{pinned}", style="bold")
    for name, cell in row.cells.items():
        yield from _cell_lines(name, cell)
    for words in row.troubles:
        yield Text(f"  trouble: {words}", style="magenta")
    if row.interrupted:
        yield Text("  interrupted: this is what was found until then", style="bold yellow")


def _cell_lines(name: str, cell: Cell) -> Iterator[Text]:
    different = say_difference(cell)
    if cell.verdict == "holds" and not different:
        return
    yield Text.assemble(f"  {name} ", (cell.verdict, STYLES[cell.verdict]), "" if cell.evidence else f" {cell.why}")
    if cell.evidence:
        yield Text(f"    {say_evidence(cell.evidence[0])}")
    if others := [one.id for one in cell.evidence[1:]]:
        yield Text(f"    also {', '.join(others)}")
    if cell.verdict == "documented":
        yield Text(f"    stated: {cell.why}")
    if cell.paper is not None:
        yield Text(f"    paper: {cell.paper.verdict}: {cell.paper.claim}", style="dim")
    if different:
        yield Text(f"    {different}", style="yellow")


def _shown(row: Row, name: str) -> Text:
    if row.unusable:
        return Text(UNUSABLE, style="magenta")
    cell = row.cells[name]
    shown = Text(cell.verdict, style=STYLES[cell.verdict])
    if paper := say_paper(cell):
        shown.append(f"\n{paper}", style="dim" if cell.agreement == "agrees" else "yellow")
    return shown


def _reached(row: Row, counts: tuple[int, int]) -> Text:
    return Text("-" if row.unusable else f"{counts[0]}/{counts[1]}")
