"""What changed since the last night that is over.

A finding is *gone* only where its trace was replayed this night and did not show it; one that nobody replayed is *not seen*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzzresume.campaign.nightly.facts import SHOWS, Open, Seen, Slot
from fuzzresume.campaign.regress import GONE

FLAKY = "it does not show every time"


@dataclass(frozen=True, slots=True)
class Change:
    """A finding of a target that is new, gone or not seen, and why one says so. `violates`: it is one that can fail."""

    target: str
    finding: str
    title: str
    why: str = ""
    violates: bool = False


@dataclass(frozen=True, slots=True)
class Turned:
    """A verdict that is another one now."""

    target: str
    property: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A target whose packages have other versions now; each is the change of one of them, in words."""

    target: str
    packages: list[str]


@dataclass(frozen=True, slots=True)
class Diff:
    """A night beside the one before it, `since`; that is empty for the first night, of which only `new` is said.

    `still` are findings that were open before and show again, those of the baseline aside.
    """

    since: str = ""
    new: list[Change] = field(default_factory=list)
    gone: list[Change] = field(default_factory=list)
    unseen: list[Change] = field(default_factory=list)
    still: list[Change] = field(default_factory=list)
    verdicts: list[Turned] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def diff(since: str, before: Sequence[Slot], now: Sequence[Slot], known: Mapping[str, Mapping[str, Open]]) -> Diff:
    """Compare the targets of two nights. `known` are the findings of each target that were open before, by target."""
    found = Diff(since)
    earlier = {slot.target: slot for slot in before}
    for slot in now:
        _findings(found, slot, known.get(slot.target, {}))
        last = earlier.get(slot.target)
        if last is not None and last.label and slot.label:
            _verdicts(found, last, slot)
            _versions(found, last, slot)
    if since:
        found.added.extend(slot.target for slot in now if slot.target not in earlier)
        found.removed.extend(sorted(set(earlier) - {slot.target for slot in now}))
    return found


def _findings(found: Diff, slot: Slot, known: Mapping[str, Open]) -> None:
    for finding, seen in slot.findings.items():
        change = Change(slot.target, seen.id, seen.title, _remark(seen), seen.violates)
        if finding in known:
            found.still.extend([] if seen.known else [change])
        elif not seen.known:
            found.new.append(change)
    for finding, opened in known.items():
        outcome = slot.checks.get(finding, "")
        if finding in slot.findings or outcome == SHOWS:
            continue
        change = Change(slot.target, finding.rpartition("/")[2], opened.title, _why(slot, opened, outcome))
        (found.gone if outcome == GONE and not opened.flaky else found.unseen).append(change)


def _remark(seen: Seen) -> str:
    """What a list says of a finding beside its title."""
    return FLAKY if seen.flaky else "" if seen.verdict == "violated" else seen.verdict


def _why(slot: Slot, opened: Open, outcome: str) -> str:
    if outcome == GONE and opened.flaky:
        return f"one replay did not show it, but {FLAKY}"
    if outcome == GONE:
        return f"its trace was replayed on {slot.label} and no longer shows it"
    if outcome:
        return outcome
    return slot.unusable or ("its trace was not tried" if slot.ended else "the target was not fuzzed to its end")


def _verdicts(found: Diff, last: Slot, slot: Slot) -> None:
    if not slot.ended or not last.ended:
        return
    for name, verdict in slot.verdicts.items():
        was = last.verdicts.get(name)
        if was is not None and was.verdict != verdict.verdict:
            found.verdicts.append(Turned(slot.target, name, was.verdict, verdict.verdict))


def _versions(found: Diff, last: Slot, slot: Slot) -> None:
    names = {**last.packages, **slot.packages}
    moves = [
        f"{name} {last.packages.get(name, 'none')} → {slot.packages.get(name, 'none')}"
        for name in names
        if last.packages.get(name) != slot.packages.get(name)
    ]
    if moves:
        found.moved.append(Moved(slot.target, moves))
