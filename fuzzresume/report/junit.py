"""Campaigns as JUnit XML, for the test views of CI systems. A pure writer.

A target is a suite, a property a test. A suite is red (a failure or an error) exactly where the exit code of its target
alone would not be 0, so that the view and the job agree:

- `violated` by something new is a failure. By known findings alone it is skipped, as an expected failure is elsewhere.
- `unexercised` is an error: the test was to be made and was not, which the exit code calls undetermined. A test that is
  skipped is one that nobody wanted, and most views show it as good as green.
- `inapplicable` is skipped. `holds` and `documented` pass; what was exercised, and which rule is kept, is in `system-out`.
- What belongs to no property is an error of a last test, `campaign`: troubles, an interrupt, a finding that TLC contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal
from xml.etree import ElementTree as xml

from fuzzresume import __version__
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.account import Account, of_property
from fuzzresume.report.exit_codes import exit_code
from fuzzresume.report.plain_words import finding_lines, known_line, printable
from fuzzresume.report.sentence import sentence

Tag = Literal["failure", "error", "skipped", ""]


def junit_xml(account: Account) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    root = xml.Element("testsuites", name="fuzzresume")
    for report in account.reports:
        _suite(root, account, report)
    if account.unusable:
        suite = xml.SubElement(root, "testsuite", name="targets that cannot be used")
        for words in account.unusable:
            _case(suite, "fuzzresume", printable(words), "error", "undetermined", words, [])
    for suite in (*root, root):
        _count(suite)
    xml.indent(root)
    text: bytes = xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(root: xml.Element, account: Account, report: TargetReport) -> None:
    label = report.target.label
    suite = xml.SubElement(root, "testsuite", name=printable(label), time=f"{report.progress.seconds:.3f}")
    properties = xml.SubElement(suite, "properties")
    for name, value in _facts(account, report).items():
        xml.SubElement(properties, "property", name=printable(name), value=printable(value))
    for name, verdict in report.verdicts.items():
        new, known = of_property(report, name)
        words = _words(new, known)
        tag = _tag(verdict, known)
        _case(suite, label, f"{PROPERTIES[name].code} {PROPERTIES[name].title}", tag, verdict.verdict, verdict.why, words)
    wrong = _wrong(report)
    words = [*wrong, *(f"nothing to go by: {words}" for words in report.vacuous), sentence(report)]
    _case(suite, label, "campaign", "error" if wrong else "", "undetermined", "; ".join(wrong), words)


def _facts(account: Account, report: TargetReport) -> dict[str, str]:
    """What the suite rests on. The exit code is the command's, over all its targets."""
    states, pairs = ("/".join(map(str, counts)) for counts in (report.coverage.states, report.coverage.pairs))
    return {
        "fuzzresume": __version__,
        **{f"package.{name}": version for name, version in report.target.packages.items()},
        "options": options_text(report.target.options),
        "seed": str(account.seed),
        "runs": str(report.progress.runs),
        "commands": str(report.progress.commands),
        "coverage.states": states,
        "coverage.pairs": pairs,
        **{f"policy.{choice}": value for choice, value in report.policy.items()},
        "exit_code": str(int(account.code)),
        "exit_code.meaning": account.meaning,
        "target.exit_code": str(int(exit_code([report]))),
    }


def _tag(verdict: Verdict, known: Iterable[Finding]) -> Tag:
    if verdict.verdict == "violated":
        return "skipped" if set(verdict.findings) <= {finding.id for finding in known} else "failure"
    tags: dict[str, Tag] = {"unexercised": "error", "inapplicable": "skipped"}
    return tags.get(verdict.verdict, "")


def _words(new: Iterable[Finding], known: Iterable[Finding]) -> list[str]:
    blocks = ["\n".join([f"{one.id} {printable(one.title)}", *finding_lines(one)]) for one in new]
    return [*blocks, *map(known_line, known)]


def _wrong(report: TargetReport) -> list[str]:
    """What belongs to no property, and keeps the target from being determined."""
    contradicted = [f"TLC contradicts {finding.id}" for finding in report.findings if finding.tlc == "contradicted"]
    interrupted = ["interrupted: this is what was found until then"] if report.interrupted else []
    return [*contradicted, *(f"trouble: {words}" for words in report.troubles), *interrupted]


def _case(suite: xml.Element, target: str, name: str, tag: Tag, kind: str, why: str, words: Iterable[str]) -> None:
    """A test. What speaks against it is inside its tag, where views look for it; of one that passes it is its output."""
    case = xml.SubElement(suite, "testcase", classname=printable(target), name=name)
    text = printable("\n\n".join(words))
    if tag:
        xml.SubElement(case, tag, type=kind, message=printable(why)).text = text
    else:
        xml.SubElement(case, "system-out").text = "\n\n".join(filter(None, (printable(why), text)))


def _count(suite: xml.Element) -> None:
    """The totals of a suite, or of all of them."""
    suite.set("tests", str(len(suite.findall(".//testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f".//{tag}"))))
