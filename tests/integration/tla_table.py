"""The tables of `tla/README.md`, as the figures files give them."""

from fuzzresume.contract.faults import SEQUENTIAL
from fuzzresume.formal.check import figures

LONGER = {"ForkIgnore": 1, "DoubleConsume": 2, "Misroute": 1, "InspectActs": 1}
"""By how many commands the planted engine's shortest violation is longer than its switch's, and tla/README.md says why."""


def table():
    """One row a configuration, and no row for the columns of a matrix, which has a table of its own."""
    rows = ["| configuration | module | what it is | generated / distinct / depth | falls at depth | liveness |"]
    rows.append("|---|---|---|---|---|---|")
    for name, it in figures().items():
        depth = "-" if it.depth is None else f"{it.depth}"
        counts = f"{it.generated:,} / {it.distinct:,} / {depth}"
        falls = ", ".join(f"{p} {at}" for p, at in sorted(it.falls.items(), key=lambda pair: (pair[1], pair[0]))) or "none"
        if it.matrix or it.events:
            falls = "see below"
        large = " (large)" if it.large else ""
        rows.append(f"| {name}{large} | {it.module} | {it.about} | {counts} | {falls} | {it.liveness} |")
    return "\n".join(rows) + "\n"


def matrix(name):
    """The matrix of one configuration: a row a fault set, a column a property, the depth at which it falls."""
    it = figures()[name]
    rows = [f"| switch | {' | '.join(it.checked)} |", "|---|" + "---|" * len(it.checked)]
    rows += [f"| {s} | {' | '.join(str(row.get(p, '')) for p in it.checked)} |" for s, row in it.matrix.items()]
    return "\n".join(rows) + "\n"


def minimal(fault):
    """The length of the mutant's minimal trace, and the number of questions of the workload that it is minimal on."""
    asks = 2 if fault in ("AnswerLost", "Misroute") else 1
    events = figures()["shortest" if asks == 2 else "shortest-one"].events
    return events[fault] + LONGER.get(fault, 0), asks


def shortest():
    """A row a switch: TLC's shortest violation with two questions and with one, and the mutant's minimal trace."""
    two, one = figures()["shortest"].events, figures()["shortest-one"].events
    rows = ["| switch | two questions | one question | minimal trace of `mutant` |", "|---|---|---|---|"]
    rows += [
        f"| {fault} | {two[fault]} | {one.get(fault, 'none')} | {minimal(fault)[0]}, {minimal(fault)[1]} question"
        f"{'s' if minimal(fault)[1] > 1 else ''} |"
        for fault in SEQUENTIAL
    ]
    return "\n".join(rows) + "\n"
