"""What a command's campaigns ended with, as one page of HTML that needs nothing else. A pure writer.

The templates under `templates/` say what stands where; here is what they are given. Whatever a framework may have written is
escaped, and made printable before that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.contract.properties import PROPERTIES, VerdictName
from fuzzresume.contract.words import say_commands, say_explanation
from fuzzresume.harness.adapter import Documented
from fuzzresume.report.account import Account
from fuzzresume.report.html_coverage import Picture, picture
from fuzzresume.report.html_history import Night, histories
from fuzzresume.report.plain_words import printable
from fuzzresume.report.sentence import sentence
from fuzzresume.report.sequence import svg
from fuzzresume.report.sequence_steps import diagram

SYMBOLS: Mapping[VerdictName, str] = {
    "holds": "✓",
    "violated": "✗",
    "documented": "§",
    "inapplicable": "—",
    "unexercised": "?",
}
"""What stands before a verdict's word, so that it is known by more than its colour."""


@dataclass(frozen=True, slots=True)
class FindingPart:
    """One finding's part of the page. `anchor` is its name on the page, `expected` each of what the contract admits, and
    `sequence` the diagram in words."""

    finding: Finding
    anchor: str
    expected: list[str]
    observed: str
    rules: list[Documented]
    facts: list[tuple[str, str]]
    diagram: Markup
    sequence: list[str]


@dataclass(frozen=True, slots=True)
class TargetPart:
    """One target's part of the page. `name` is its label, numbered where it is not the first of that label; `anchors` are
    those of its findings, by id, known ones included."""

    report: TargetReport
    name: str
    anchor: str
    sentence: str
    findings: list[FindingPart]
    anchors: dict[str, str]
    coverage: Picture | None


def html_page(account: Account, date: str, nights: Sequence[Night] = ()) -> str:
    """The page. `date` is shown as it is. `nights`, the oldest first, are the history, left out where there is none."""
    labels = [report.target.label for report in account.reports]
    targets = []
    for i, report in enumerate(account.reports):
        times = labels[: i + 1].count(labels[i])
        name = f"{labels[i]} ({times})" if times > 1 else labels[i]
        targets.append(_target(account, report, name, f"t{i + 1}"))
    return TEMPLATES.get_template("page.html.jinja").render(
        account=account,
        date=date,
        targets=targets,
        nights=nights,
        history=histories(nights),
        properties=PROPERTIES,
        symbols=SYMBOLS,
    )


def _target(account: Account, report: TargetReport, name: str, anchor: str) -> TargetPart:
    # What is new and certain first; a campaign lists by verdict and id.
    order = sorted(report.findings, key=lambda one: (one.verdict != "violated", bool(one.flaky)))
    anchors = {one.id: f"{anchor}-{_slug(one.id)}" for one in (*report.known, *order)}
    return TargetPart(
        report,
        name,
        anchor,
        sentence(report),
        [_finding(account, one, anchors[one.id]) for one in order],
        anchors,
        picture(report),
    )


def _finding(account: Account, finding: Finding, anchor: str) -> FindingPart:
    expected, observed = finding.expected_observed
    trace = finding.to_trace()
    return FindingPart(
        finding,
        anchor,
        expected.split(" — or — "),
        observed,
        _rules(finding),
        _facts(account, finding),
        Markup(svg(trace)),
        diagram(trace).sentences,
    )


def _rules(finding: Finding) -> list[Documented]:
    """The weaker rules that the framework states and that excuse the finding."""
    if finding.verdict != "documented":
        return []
    stated = finding.target.capabilities.documented
    return [rule for rule in stated if any(rule.switch in names for names in finding.explanation)]


def _facts(account: Account, finding: Finding) -> list[tuple[str, str]]:
    """What is known of a finding beside its trace."""
    minimal = f"1-minimal after {finding.executions} executions" if finding.minimal else "not known to be 1-minimal"
    trace = account.file_of(finding)
    facts = [
        ("explained by", say_explanation(finding.explanation)),
        ("told apart by", "; ".join(say_commands(finding.reference.workload, finding.telling))),
        ("confirmed", finding.confirmed),
        ("TLC", finding.tlc),
        ("minimal", minimal),
        ("seen", "once" if finding.seen == 1 else f"{finding.seen} times"),
        ("not every time", finding.flaky),
        ("hidden window", finding.undelayed),
        ("options", options_text(finding.options)),
        ("trace", "" if trace is None else account.uri_of(trace)),
    ]
    return [(name, words) for name, words in facts if words]


def _slug(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words)


def _shown(value: object) -> object:
    """Every text that is no markup is made printable; what is no text is left to Jinja."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("fuzzresume.report"),
    autoescape=True,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
