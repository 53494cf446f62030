"""What a person sees of a night when it is over: its targets, then what changed since the last one."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fuzzresume.report.nightly_result import NightResult
from fuzzresume.report.nightly_words import diff_rows, heading, slot_line

STYLES = {"new": "bold red", "still": "red", "gone": "green", "not seen": "magenta", "changed": "yellow"}


def print_night(console: Console, result: NightResult) -> None:
    """Print the night."""
    console.print(Text(heading(result), style="bold"), soft_wrap=True)
    for slot in result.slots:
        console.print(Text(f"  {slot_line(slot)}"), soft_wrap=True)
    rows = diff_rows(result.diff)
    for kind, words in rows:
        console.print(Text.assemble("  ", (f"{kind:<8}", STYLES.get(kind, "")), "  ", words), soft_wrap=True)
    if result.diff.since and not rows:
        console.print(Text("  nothing changed"))
