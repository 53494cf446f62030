"""What TLC says of a campaign's findings: every one must be refused by the reference in `tla/` too, for the same reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzzresume.campaign.findings import Finding
from fuzzresume.formal.opinion import opinions
from fuzzresume.formal.toolchain import TlcError, TlcMissing, Toolchain


class SecondOpinion:
    """TLC, asked once at the end of a campaign. `missing` says why it cannot be asked here, else it is empty."""

    def __init__(self, jar: Path | None = None, java: Path | None = None) -> None:
        """Raises TlcMissing for a jar or a Java that was named and is not there."""
        self.missing = ""
        self._toolchain: Toolchain | None = None
        try:
            self._toolchain = Toolchain.find(jar, java)
        except TlcMissing as error:
            if error.named:
                raise
            self.missing = str(error)

    def give(self, findings: Sequence[Finding]) -> list[str]:
        """Set `tlc` of the findings that are no races. Returns the troubles: what TLC contradicts, or why it is silent."""
        findings = [finding for finding in findings if all(command.op != "race" for command in finding.commands)]
        if self._toolchain is None or not findings:
            return []
        try:
            given = opinions([finding.to_trace() for finding in findings], self._toolchain)
        except TlcError as error:
            return [f"TLC gave no opinion: {error}"]
        troubles = []
        for finding, opinion in zip(findings, given, strict=True):
            finding.tlc = opinion.tlc
            if opinion.why:
                troubles.append(f"TLC contradicts {finding.id}, which is a bug of fuzzresume: {opinion.why}")
        return troubles
