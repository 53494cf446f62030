"""Words that go into a file of another format: findings as lines, and texts without what that format cannot hold."""

from __future__ import annotations

import re

from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.contract.words import say_commands, say_explanation

UNPRINTABLE = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
"""What XML cannot hold, and what a terminal or a reader would act on: control characters, halves of surrogate pairs,
non-characters, and marks that turn the direction of writing."""


def printable(text: str) -> str:
    """The text, with every such character written out (`\\x1b`), for a framework's error text can hold anything."""
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def finding_lines(finding: Finding) -> list[str]:
    """A finding in words: its numbered commands, what was expected and observed, and what is known of it."""
    expected, observed = finding.expected_observed
    lines = [f"{i}. {words}" for i, words in enumerate(finding.words, 1)]
    lines += [f"expected  {expected}", f"observed  {observed}", evidence(finding)]
    if finding.telling:
        lines.append("told apart by " + "; ".join(say_commands(finding.reference.workload, finding.telling)))
    if finding.flaky:
        lines.append(finding.flaky)
    if finding.undelayed:
        lines.append(f"hidden window: {finding.undelayed}")
    lines.append(f"options {options_text(finding.options)}")
    return [printable(line) for line in lines]


def evidence(finding: Finding) -> str:
    """What speaks for a finding, in one line."""
    minimal = f"1-minimal after {finding.executions} executions" if finding.minimal else "not known to be 1-minimal"
    return (
        f"explained by {say_explanation(finding.explanation)} · seen {finding.seen} times · confirmed {finding.confirmed} · "
        f"tlc {finding.tlc} · {minimal}"
    )


def known_line(finding: Finding) -> str:
    """A finding that was known before, in one line."""
    return printable(f"known {finding.known}: {finding.title} · seen {finding.seen} times")
