"""What a person sees: live progress, then verdicts and findings in words."""

from __future__ import annotations

from rich.console import Console, Group
from rich.panel import Panel
from rich.status import Status
from rich.table import Table
from rich.text import Text

from fuzzresume.campaign.events import (
    Event,
    FindingFound,
    KnownChecked,
    PhaseCount,
    Progress,
    RunFinished,
    TargetFinished,
    TargetReport,
    TargetStarted,
)
from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.words import say_commands, say_explanation
from fuzzresume.report.sentence import sentence

STYLES = {
    "holds": "green",
    "violated": "bold red",
    "documented": "yellow",
    "inapplicable": "dim",
    "unexercised": "magenta",
}


REASONS = 5
"""Reasons for unreached pairs that the terminal names."""


class Screen(Console):
    """A console that says when nobody reads it any more; rich would end the program, with the exit code for *violated*."""

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError."""
        raise BrokenPipeError("nobody reads the output")


def plain(*, stderr: bool = False) -> Screen:
    """A screen for lines that people and programs read: as they are, however long."""
    return Screen(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)


class Terminal:
    """A handler that shows a status line while a target is fuzzed, and its report at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None

    def handle(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TargetStarted(target, seed):
                packages = ", ".join(f"{name} {version}" for name, version in target.packages.items())
                self._console.print(Text(f"{target.label} · seed {seed} · {packages}", style="bold"))
                self._status = self._console.status("starting")
                self._status.start()
            case RunFinished(progress):
                if self._status is not None:
                    self._status.update(progress_line(progress))
            case FindingFound(finding, progress):
                confirmed = f"confirmed {finding.confirmed}" if finding.confirmed != "not run" else "not confirmed"
                line = f"  {finding.id} {finding.title} · {len(finding.commands)} commands · {confirmed}"
                self._console.print(Text(f"{line} · run {progress.runs}"))
            case KnownChecked(checked):
                kind = "known" if checked.known else "corpus"
                self._console.print(Text(f"  {kind} {checked.name}: {checked.outcome}", style="dim"))
            case TargetFinished(report):
                if self._status is not None:
                    self._status.stop()
                    self._status = None
                self._console.print(report_of(report))


def progress_line(progress: Progress) -> str:
    """The live line: phase, rates, coverage, findings."""
    rate = progress.runs / progress.seconds if progress.seconds > 0 else 0.0
    return (
        f"{progress.phase} · {progress.runs} runs ({rate:.0f}/s) · {progress.commands} commands · "
        f"states {progress.states[0]}/{progress.states[1]} · pairs {progress.pairs[0]}/{progress.pairs[1]} · "
        f"{progress.findings} findings"
    )


def report_of(report: TargetReport) -> Group:
    """The whole report of one target."""
    table = Table(title=f"{report.target.label}: verdicts", title_justify="left", expand=False)
    for heading in ("property", "", "verdict", "why"):
        table.add_column(heading, overflow="fold", no_wrap=heading in ("property", "verdict"))
    for name, verdict in report.verdicts.items():
        findings = f" [{', '.join(verdict.findings)}]" if verdict.findings else ""
        table.add_row(
            name,
            PROPERTIES[name].title,
            Text(verdict.verdict, style=STYLES[verdict.verdict]),
            Text(f"{verdict.why}{findings}"),
        )
    parts: list[object] = [table]
    if report.policy:
        parts.append(
            Text("policy: " + " · ".join(f"{choice}: {value}" for choice, value in report.policy.items()), style="dim")
        )
    parts += [finding_panel(finding) for finding in report.findings]
    parts += [Text(f"known {f.known}: {f.title} · seen {f.seen} times", style="dim") for f in report.known]
    parts += [Text(phase_line(count), style="dim") for count in report.phases]
    parts += [Text(line, style="dim") for line in unreached_lines(report)]
    parts += [Text(f"nothing to go by: {words}", style="magenta") for words in report.vacuous]
    parts += [Text(f"trouble: {words}", style="magenta") for words in report.troubles]
    parts.append(Text(progress_line(report.progress) + f" · {report.progress.seconds:.1f} s", style="dim"))
    if report.interrupted:
        parts.append(Text("interrupted: this is what was found until then", style="bold yellow"))
    parts.append(Text(sentence(report), style="bold"))
    return Group(*parts)  # type: ignore[arg-type]


def phase_line(count: PhaseCount) -> str:
    """What one phase did."""
    words = f"{count.name}: {count.runs} runs, {count.commands} commands, {count.pairs} new pairs, {count.findings} findings"
    return f"{words}; {count.covered}" if count.covered else words


def unreached_lines(report: TargetReport) -> list[str]:
    """Why pairs were not reached, the frequent reasons in a line each; the JSON report lists the pairs."""
    reasons = list(report.coverage.reasons.items())
    lines = [f"{count} pairs not reached: {why}" for why, count in reasons[:REASONS]]
    rest = sum(count for _, count in reasons[REASONS:])
    return lines + ([f"{rest} pairs not reached for {len(reasons) - REASONS} further reasons"] if rest else [])


def finding_panel(finding: Finding) -> Panel:
    """One finding: its minimal trace in words, expected and observed."""
    expected, observed = finding.expected_observed
    explained = say_explanation(finding.explanation)
    body = Text()
    for i, line in enumerate(finding.words, 1):
        body.append(f"{i}. {line}\n")
    body.append(f"expected  {expected}\n", style="green")
    body.append(f"observed  {observed}\n", style="red")
    body.append(f"explained by {explained} · seen {finding.seen} times · confirmed {finding.confirmed} · tlc {finding.tlc}")
    if finding.telling:
        body.append("\ntold apart by " + "; ".join(say_commands(finding.reference.workload, finding.telling)), style="dim")
    if finding.minimal:
        body.append(f" · 1-minimal after {finding.executions} executions")
    if finding.flaky:
        body.append(f" · {finding.flaky}", style="magenta")
    if finding.undelayed:
        body.append(f"\nhidden window: {finding.undelayed}")
    body.append(f"\noptions {options_text(finding.options)}", style="dim")
    if finding.trace is not None:
        body.append(f"\ntrace {finding.trace}", style="dim")
    return Panel(body, title=Text(f"{finding.id} {finding.title}"), title_align="left", border_style=STYLES[finding.verdict])
