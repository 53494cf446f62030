"""What a night comes to, as the corpus database has it: the exit code, and all that the writers of reports are given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from fuzzresume.campaign.nightly.diff import Diff, diff
from fuzzresume.campaign.nightly.facts import Slot, open_before, slots
from fuzzresume.campaign.nightly.store import Night, Nights
from fuzzresume.report.exit_codes import Exit


@dataclass(frozen=True, slots=True)
class NightResult:
    """A night: its targets, also those fuzzed before it was cut short, and how they stand beside the night before."""

    night: Night
    slots: Sequence[Slot]
    diff: Diff

    @property
    def unusable(self) -> list[str]:
        """A line for each target that has no campaign."""
        return [f"{slot.target}: {slot.unusable}" for slot in self.slots if slot.unusable]

    def code(self, fail_on: Collection[str], *, interrupted: bool) -> Exit:
        """The exit code: an interrupt first, then a finding that TLC contradicts, then what fails, then the undetermined.

        `fail_on` are the configuration's words for what fails.
        """
        seen = [one for slot in self.slots for one in slot.findings.values()]
        fails = {
            "violated": any(one.violates for one in seen),
            "new": any(change.violates for change in self.diff.new),
            "gone": bool(self.diff.gone),
            "changed": bool(self.diff.verdicts),
        }
        if interrupted:
            return Exit.INTERRUPTED
        if any(one.tlc == "contradicted" for one in seen):
            return Exit.UNDETERMINED
        if any(fails[name] for name in fail_on):
            return Exit.VIOLATED
        return Exit.OK if all(map(_determined, self.slots)) else Exit.UNDETERMINED

    def finished(self, nights: Nights, code: Exit) -> NightResult:
        """The same, now that the night is over. Raises CorpusError."""
        return replace(self, night=nights.finish(self.night, code))


def result_of(nights: Nights, night: Night) -> NightResult:
    """What a night comes to, beside the last one before it that is over. Raises CorpusError."""
    now, last = slots(nights.corpus, night), before(nights, night)[-1:]
    known = {slot.target: open_before(nights.corpus, night, slot.target) for slot in now}
    earlier = slots(nights.corpus, last[0]) if last else []
    return NightResult(night, now, diff(last[0].name if last else "", earlier, now, known))


def before(nights: Nights, night: Night) -> list[Night]:
    """The nights before this one that are over, the oldest first. Raises CorpusError."""
    return [each for each in nights.all() if each.finished is not None and each.number < night.number]


def _determined(slot: Slot) -> bool:
    """Whether a target's campaign says all that it should."""
    unexercised = any(verdict.verdict == "unexercised" for verdict in slot.verdicts.values())
    return slot.ended and not slot.unusable and not slot.troubles and not unexercised
