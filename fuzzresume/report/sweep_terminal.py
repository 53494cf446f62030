"""A sweep as a person reads it: one line for each crash state, then what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console

from fuzzresume.campaign.sweep.facts import say_point
from fuzzresume.campaign.sweep.result import CrashState, Section, Swept
from fuzzresume.contract.words import say_explanation

HEADINGS = ("death", "window", "frontier", "in doubt", "fired again", "lost", "recovering", "restart", "broken")


def progress_line(swept: Swept) -> str:
    """The live line."""
    states = sum(len(section.states) for section in (*swept.sections, *swept.second))
    return f"{swept.mode} · {states} crash states · {swept.executions} commands · {swept.seconds:.0f} s"


def print_sweep(console: Console, swept: Swept) -> None:
    """The whole list of one sweep, its second deaths in brief."""
    for section in swept.sections:
        print_section(console, section, section.states)
    if swept.second:
        console.print(
            f"second deaths, while recovering from each of {len(swept.second)} first ones; only what is amiss is listed"
        )
    for section in swept.second:
        print_section(console, section, [state for state in section.states if amiss(state)])
    for line in (*swept.notes, *(f"trouble: {words}" for words in swept.troubles)):
        console.print(line)
    console.print(closing(swept))


def print_section(console: Console, section: Section, states: Sequence[CrashState]) -> None:
    """One command: its heading, its own violations, and these of its states, a line each however narrow the terminal."""
    after = f" after {section.after}" if section.after else ""
    console.print(f"{section.command}{after}: {section.points} points, {said_counts(section.states)}")
    for broken in section.broken:
        console.print(f"  without a death: {broken.words}")
    if not states:
        return
    rows = [HEADINGS, *map(row, states)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        console.print(f"  {line.rstrip()}")


def row(state: CrashState) -> tuple[str, ...]:
    """A state's cells; the first says how many points leave it, where more than one does."""
    more = f" +{len(state.points) - 1}" if len(state.points) > 1 else ""
    return (
        say_point(state.points[0]) + more,
        state.window,
        "unreadable" if state.frontier is None else tasks(state.frontier),
        tasks(state.in_doubt) if state.in_doubt else "-",
        ", ".join(f"{tasks(fired)} {name}" for name, fired in state.again.items()) or "-",
        tasks(state.lost) if state.lost else "-",
        state.ended,
        state.restarted or "-",
        "; ".join(broken.words for broken in state.broken) or "-",
    )


def amiss(state: CrashState) -> bool:
    """Whether anything but the inherent refire happened."""
    return bool(state.lost or state.stuck or state.broken or set(state.again) - {"EO-b"})


def closing(swept: Swept) -> str:
    """What the sweep comes to, in a line or a few."""
    states = [state for section in (*swept.sections, *swept.second) for state in section.states]
    rate = f"{swept.points / swept.seconds:.0f} points/s" if swept.seconds else "no time"
    head = f"{swept.target.label} {swept.mode}: {swept.points} points, {said_counts(states)}"
    lines = [f"{head} · {swept.executions} commands, {swept.seconds:.1f} s, {rate}"]
    found = Counter(broken for state in states for broken in state.broken)
    found.update(broken for section in (*swept.sections, *swept.second) for broken in section.broken)
    for broken, number in found.items():
        known = " · documented" if broken.documented else ""
        explained = say_explanation(broken.explained_by)
        lines.append(f"RR-{broken.property_name} {broken.cls} · explained by {explained} · {number} times{known}")
    return "\n".join(lines)


def said_counts(states: Sequence[CrashState]) -> str:
    """How many states there are, in which windows, and what happened in how many of them."""
    again = Counter(name for state in states for name in state.again)
    happened = {
        **dict(sorted(again.items())),
        "lost": sum(bool(state.lost) for state in states),
        "stuck": sum(state.stuck for state in states),
        "broken": sum(bool(state.broken) for state in states),
    }
    windows = _counted(sorted(Counter(state.window for state in states).items()))
    what = _counted((name, number) for name, number in happened.items() if number) or "nothing fired again"
    return f"{len(states)} states ({windows}); {what}"


def tasks(numbers: Iterable[int]) -> str:
    """`{1, 2}`, in the order given."""
    return "{" + ", ".join(map(str, numbers)) + "}"


def _counted(pairs: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {number}" for name, number in pairs)
