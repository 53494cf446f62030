"""A night as one page of HTML: the campaigns of a call, and the history of all nights. A pure writer."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.report.account import Account
from fuzzresume.report.html_history import Night
from fuzzresume.report.html_page import html_page
from fuzzresume.report.nightly_result import NightResult
from fuzzresume.report.nightly_words import finding_names


def nightly_page(account: Account, date: str, results: Sequence[NightResult]) -> bytes:
    """The file's bytes. `results` are the nights, the oldest first, this one the last; `date` is shown as it is."""
    return html_page(account, date, list(map(_night, results))).encode()


def _night(result: NightResult) -> Night:
    # By the names of the configuration, so that a line goes on when a version moves.
    verdicts = {
        slot.target: {name: said.verdict for name, said in slot.verdicts.items()} for slot in result.slots if slot.ended
    }
    new, gone = finding_names(result.diff.new), finding_names(result.diff.gone)
    return Night(result.night.name, result.night.started[:10], verdicts, new, gone)
