"""The words of a matrix, which the terminal and the Markdown share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fuzzresume.campaign.matrix import Cell, Evidence, Matrix, Row
from fuzzresume.contract.words import say_explanation


def say_bounds(matrix: Matrix) -> str:
    """Such as `seed 0 · at most 60 s a target`."""
    bounds = []
    if matrix.max_seconds is not None:
        bounds.append(f"{matrix.max_seconds:g} s")
    if matrix.max_runs is not None:
        bounds.append(f"{matrix.max_runs} runs")
    return f"seed {matrix.seed} · at most {' or '.join(bounds)} a target"


def say_paper(cell: Cell) -> str:
    """The paper's word beside a verdict: `as the paper`, `paper: holds`, or nothing where it is silent."""
    if cell.paper is None:
        return ""
    return "as the paper" if cell.agreement == "agrees" else f"paper: {cell.paper.verdict}"


def say_depth(row: Row) -> str:
    """The depth enumerated: `4`, or `all` for every sequence within the bounds."""
    return "all" if row.depth is None else str(row.depth)


def say_evidence(one: Evidence) -> str:
    """A finding in a line: what, how long, how sure, where."""
    length = "1 command" if len(one.commands) == 1 else f"{len(one.commands)} commands"
    parts = [
        f"{one.id} {one.title}",
        f"{length}, {'1-minimal' if one.minimal else 'not minimal'}: {'; '.join(one.commands)}",
        f"replayed {one.confirmed}",
        f"tlc {one.tlc}",
        f"explained by {say_explanation([tuple(names) for names in one.explained_by])}",
    ]
    return " · ".join([*parts, one.trace] if one.trace else parts)


def say_difference(cell: Cell) -> str:
    """What is to be said of a verdict and the paper's claim, or of a verdict that was not expected; empty if nothing is."""
    parts = []
    if cell.difference is not None:
        traces = f" ({', '.join(cell.difference.traces)})" if cell.difference.traces else ""
        parts.append(f"{'differs' if cell.agreement == 'differs' else 'agrees, but'}: {cell.difference.why}{traces}")
    elif cell.agreement == "differs":
        parts.append("differs, and nothing on record says why")
    if cell.unexpected:
        parts.append(f"not as expected: {cell.expected} is on record")
    if cell.unproven:
        parts.append("unproven: no finding is minimal, replayed 3/3, and confirmed by TLC or unexplained")
    return "; ".join(parts)


def say_totals(rows: Sequence[Row]) -> str:
    """How many verdicts are proven, how many claims of the paper are met, and what could not be used."""
    cells = [cell for row in rows for cell in row.cells.values()]
    counts = Counter(cell.agreement for cell in cells)
    violated = [cell for cell in cells if cell.verdict == "violated"]
    parts = [f"{len(violated)} cells violated, {sum(not cell.unproven for cell in violated)} of them proven"]
    if claims := sum(cell.paper is not None for cell in cells):
        told = sum(cell.agreement == "differs" and cell.difference is not None for cell in cells)
        differ = f"{counts['differs']} differ, {told} of them explained" if counts["differs"] else "none differs"
        judged = f", {counts['not judged']} not judged" if counts["not judged"] else ""
        parts.append(f"of {claims} claims of the paper {counts['agrees']} agree, {differ}{judged}")
    if unusable := [row.target for row in rows if row.unusable]:
        parts.append(f"could not be used: {', '.join(unusable)}")
    return " · ".join(parts)
