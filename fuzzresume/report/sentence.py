"""A campaign's last sentence: what one may believe of a target after it, and nothing beyond that."""

from __future__ import annotations

from fuzzresume.campaign.events import TargetReport

BOUNDS = "one crash and one special command a run"


def sentence(report: TargetReport) -> str:
    """One sentence on coverage, one on depth, one on the findings, and what keeps the whole from being determined."""
    if absent := report.target.capabilities.absent:
        return f"{report.target.label}: {absent}. Nothing was run."
    parts = [_coverage(report), *_depth(report), _findings(report)]
    return f"{report.target.label}: {' '.join(parts)}{_undetermined(report)}"


def _coverage(report: TargetReport) -> str:
    (states, all_states), (pairs, all_pairs) = report.coverage.states, report.coverage.pairs
    counts = f"{states} of {all_states} states and {pairs} of {all_pairs} (state, command) pairs of the reference"
    certain = f"{report.coverage.certain} of them for certain"
    if report.coverage.complete:
        known = "" if pairs == all_pairs else " that a way is known to on this target"
        return f"Every transition of the reference{known} was exercised ({counts}, {certain})."
    return f"{counts} were exercised, {certain}; {report.coverage.open} further pairs were not tried yet."


def _depth(report: TargetReport) -> list[str]:
    if report.depths is None:
        return []
    first, others = report.depths
    other = "other " if any(finding.verdict == "violated" for finding in report.findings) or report.known else ""
    reach = f"within the bounds ({BOUNDS})" if first is None else f"up to depth {first}"
    if first == 0:
        return ["No depth was enumerated yet."]
    rest = "" if others is None else f", up to depth {others} with each other option value"
    return [f"No {other}violation exists {reach}{rest}."]


def _findings(report: TargetReport) -> str:
    broken = [finding for finding in report.findings if finding.verdict == "violated" and not finding.flaky]
    if not broken:
        return "Nothing new was found." if report.known else "Nothing was found."
    minimal = sum(finding.minimal for finding in broken)
    one = len(broken) == 1
    count = (
        f"1 finding, {'' if minimal else 'not '}1-minimal" if one else f"{len(broken)} findings, {minimal} of them 1-minimal"
    )
    return f"{count}: {', '.join(sorted({f.property_name for f in broken}))} violated."


def _undetermined(report: TargetReport) -> str:
    unexercised = [name for name, verdict in report.verdicts.items() if verdict.verdict == "unexercised"]
    reasons = [f"{', '.join(unexercised)} unexercised"] if unexercised else []
    if report.troubles:
        reasons.append("1 trouble" if len(report.troubles) == 1 else f"{len(report.troubles)} troubles")
    if report.interrupted:
        reasons.append("interrupted")
    return f" Undetermined: {', '.join(reasons)}." if reasons else ""
