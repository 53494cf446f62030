"""A night as a short Markdown page: what changed since the last one, then the page of its campaigns. A pure writer."""

from __future__ import annotations

from fuzzresume.report.account import Account
from fuzzresume.report.nightly_result import NightResult
from fuzzresume.report.nightly_words import diff_rows, heading, slot_line
from fuzzresume.report.summary import LIMIT, SPECIAL, summary_markdown

MOST = 200
"""Changes that the page lists; the JSON report lists them all."""


def nightly_markdown(account: Account, result: NightResult) -> bytes:
    """The file's bytes, no more than a job summary may have. `account` are the campaigns of this call."""
    rows = diff_rows(result.diff)
    lines = [f"# {_text(heading(result))}", "", *(f"- {_text(slot_line(slot))}" for slot in result.slots), ""]
    if rows:
        lines += [
            "| | what changed |",
            "| --- | --- |",
            *(f"| {kind} | {_text(words)} |" for kind, words in rows[:MOST]),
            "",
        ]
    elif result.diff.since:
        lines += ["Nothing changed.", ""]
    if len(rows) > MOST:
        lines += [f"{len(rows) - MOST} further changes are left out.", ""]
    head = "\n".join(lines).encode() + b"\n"
    return head + summary_markdown(account, LIMIT - len(head))


def _text(words: str) -> str:
    """Words as they are, in one line: nothing in them is markup, and none of it ends a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(words.split()))
