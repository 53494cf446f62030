"""The table of `tla/README.md`, as the figures files give it."""

from fuzzresume.formal.check import figures


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
