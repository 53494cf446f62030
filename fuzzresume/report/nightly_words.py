"""What a night says, in words: how it stands beside the one before it, and its targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fuzzresume.campaign.nightly.diff import Change, Diff
from fuzzresume.campaign.nightly.facts import Slot
from fuzzresume.report.nightly_result import NightResult
from fuzzresume.report.plain_words import printable

Row = tuple[str, str]
"""A kind of change, such as `new`, and one change of this kind in words."""


def heading(result: NightResult) -> str:
    """Which night this is, and which one it is compared with."""
    since = result.diff.since
    beside = f"compared with night {since}" if since else "no night before it is over"
    return f"night {result.night.name} · seed {result.night.seed} · {beside}"


def diff_rows(diff: Diff) -> list[Row]:
    """Every change, the ones that can fail a night first."""
    rows = [("new", _change(change)) for change in diff.new]
    rows += [("still", _change(change)) for change in diff.still]
    rows += [("gone", _change(change)) for change in diff.gone]
    rows += [("not seen", _change(change)) for change in diff.unseen]
    rows += [("changed", f"{turn.target} {turn.property}: {turn.before} → {turn.now}") for turn in diff.verdicts]
    rows += [("moved", f"{moved.target}: {', '.join(moved.packages)}") for moved in diff.moved]
    rows += [("added", target) for target in diff.added]
    rows += [("removed", target) for target in diff.removed]
    return [(kind, printable(words)) for kind, words in rows]


def slot_line(slot: Slot) -> str:
    """One target of the night: its verdicts, counted, and its findings."""
    if slot.unusable:
        return printable(f"{slot.target}: not fuzzed: {slot.unusable}")
    if not slot.label:
        return f"{slot.target}: not fuzzed yet"
    counts = Counter(verdict.verdict for verdict in slot.verdicts.values())
    known = [seen.id for seen in slot.findings.values() if seen.known]
    found = [seen.id for seen in slot.findings.values() if not seen.known]
    parts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items()) if slot.ended else "not fuzzed to its end"]
    parts += [f"found {', '.join(found)}"] if found else []
    parts += [f"known {', '.join(known)}"] if known else []
    parts += [f"{slot.troubles} troubles"] if slot.troubles else []
    named = slot.target if slot.target == slot.label else f"{slot.target} ({slot.label})"
    return f"{named}: {' · '.join(parts)}"


def finding_names(changes: Sequence[Change]) -> list[str]:
    """Findings as a history lists them."""
    return [printable(f"{change.target} {change.finding} {change.title}") for change in changes]


def _change(change: Change) -> str:
    why = f" ({change.why})" if change.why else ""
    return f"{change.target} {change.finding} {change.title}{why}"
