"""Campaigns as a short Markdown page, for the summary of a CI job. A pure writer.

Verdicts of all targets come first, then the new findings, each with its trace folded away. A page has a limit, beyond which
GitHub shows nothing of it: what does not fit is left out whole, and the last line says how much that was.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.account import Account
from fuzzresume.report.plain_words import finding_lines, known_line, printable
from fuzzresume.report.sentence import sentence

LIMIT = 1024 * 1024
"""Bytes of a job summary on GitHub, at most."""

SPECIAL = re.compile(r"([\\`*_{}\[\]<>&|#~!])")
"""What Markdown or the HTML in it may read as markup."""


def summary_markdown(account: Account, limit: int = LIMIT) -> bytes:
    """The file's bytes, at most `limit` of them."""
    blocks = [f"# fuzzresume: exit code {int(account.code)}", _text(f"{account.meaning} · seed {account.seed}")]
    blocks += [f"Not used: {_text(words)}" for words in account.unusable]
    for report in account.reports:
        blocks += _target(report)
    found = [(report, finding) for report in account.reports for finding in report.findings]
    found.sort(key=lambda each: each[1].verdict != "violated")
    blocks += ["## New findings"] if found else []
    blocks += [_finding(report, finding) for report, finding in found]
    return "\n\n".join(_fitting(blocks, limit)).encode() + b"\n"


def _fitting(blocks: Sequence[str], limit: int) -> Iterable[str]:
    """The blocks that fit, in order; where some do not, a last one that says so."""
    note = "{} parts of this page did not fit into it; the traces and the other reports are whole."
    left, out = limit - len(note) - 20, 0
    for block in blocks:
        size = len(block.encode()) + 2
        if size <= left:
            left -= size
            yield block
        else:
            out += 1
    if out:
        yield note.format(out)


def _target(report: TargetReport) -> list[str]:
    packages = ", ".join(f"{name} {version}" for name, version in report.target.packages.items())
    rows = ["| property | | verdict | why |", "| --- | --- | --- | --- |"]
    for name, verdict in report.verdicts.items():
        shown = f"**{verdict.verdict}**" if verdict.verdict == "violated" else verdict.verdict
        ids = f" ({', '.join(verdict.findings)})" if verdict.findings else ""
        rows.append(f"| {name} | {PROPERTIES[name].title} | {shown} | {_text(verdict.why + ids)} |")
    lines = [*map(known_line, report.known)]
    lines += [f"nothing to go by: {words}" for words in report.vacuous]
    lines += [f"trouble: {words}" for words in report.troubles]
    lines += ["interrupted: this is what was found until then"] if report.interrupted else []
    blocks = [f"## {_text(report.target.label)}", _text(packages), "\n".join(rows)]
    # A block each, so that one endless text costs no other line its place.
    return [*filter(None, blocks), *(f"- {_text(line)}" for line in lines), _text(sentence(report))]


def _finding(report: TargetReport, finding: Finding) -> str:
    kind = "" if finding.verdict == "violated" else f" ({finding.verdict})"
    title = html.escape(printable(f"{report.target.label} {finding.id}{kind}: {finding.title}"))
    lines = finding_lines(finding)
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join(["<details>", f"<summary>{title}</summary>", "", f"{fence}text", *lines, fence, "", "</details>"])


def _text(words: str) -> str:
    """Words as they are, in one line: nothing in them is markup, and none of it ends a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(words).split()))
