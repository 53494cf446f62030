"""What a command's campaigns ended with: all that the writer of a whole file is given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.report.exit_codes import Exit

MEANING: Mapping[Exit, str] = {
    Exit.OK: "nothing is violated, or nothing but what was known before",
    Exit.VIOLATED: "something that was not known before violates a property",
    Exit.USAGE: "the command line, a target, an option or a file is wrong",
    Exit.UNDETERMINED: (
        "undetermined: no violation that can be trusted, but something unexercised, flaky, hung, broken in the harness or"
        " without its environment, or a finding that TLC contradicts"
    ),
    Exit.INTERRUPTED: "interrupted: this is what was found until then",
}
"""What each exit code says of a campaign, in words."""

LITERAL = "/@+,=~"
"""What a URI may hold as it is, and the names of targets do: not every reader takes an escape back."""


@dataclass(frozen=True, slots=True)
class Account:
    """The reports of a command, its seed and its exit code.

    `unusable` are targets that could not be used, a line each, with the reason. `known_files` are the traces of known
    findings, by the name that a report gives the finding. `base` is the folder that paths are written relative to.
    """

    seed: int
    reports: Sequence[TargetReport]
    code: Exit
    unusable: Sequence[str] = ()
    known_files: Mapping[str, Path] = field(default_factory=dict)
    base: Path = field(default_factory=Path.cwd)

    @property
    def meaning(self) -> str:
        """What the exit code says."""
        return MEANING[self.code]

    def file_of(self, finding: Finding) -> Path | None:
        """The trace file of a finding, or of a known one; None where there is none."""
        return finding.trace or self.known_files.get(finding.known)

    def uri_of(self, path: Path) -> str:
        """A path as a URI that others can use: relative to `base` where it lies below it, else absolute."""
        path = self.base / path
        if path.is_relative_to(self.base):
            return quote(os.fsencode(path.relative_to(self.base)), safe=LITERAL)
        return f"file://{quote(os.fsencode(path), safe=LITERAL)}"


def of_property(report: TargetReport, name: str) -> tuple[list[Finding], list[Finding]]:
    """(new, known) findings of one property; flaky and documented ones are among the new."""
    new = [finding for finding in report.findings if finding.property_name == name]
    return new, [finding for finding in report.known if finding.property_name == name]
