"""A trace in words, as the terminal shows it."""

from __future__ import annotations

from fuzzresume.contract.trace import Trace
from fuzzresume.contract.words import say_commands, say_explanation
from fuzzresume.report.plain_words import printable


def trace_lines(trace: Trace) -> list[str]:
    """Target, options, numbered commands, and what was found."""
    packages = ", ".join(f"{name} {version}" for name, version in trace.packages.items())
    lines = [f"{trace.target} · {packages}", "options " + " ".join(f"{key}={value}" for key, value in trace.options.items())]
    lines += [f"{i}. {line}" for i, line in enumerate(say_commands(trace.workload, trace.commands), 1)]
    if (found := trace.found) is not None:
        lines.append(f"{found.id} RR-{found.property} {found.cls}")
        lines += [f"expected  {found.expected}", f"observed  {found.observed}"]
        if found.explained_by:
            lines.append(f"explained by {say_explanation(found.explained_by)}")
    return [printable(line) for line in lines]
