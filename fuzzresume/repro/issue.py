"""The draft of an issue: what a maintainer needs to see, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.contract.faults import FAULTS
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.trace import Trace
from fuzzresume.repro.plan import Plan
from fuzzresume.repro.script import TEMPLATES, versions


def issue(
    trace: Trace, script: str, *, diagram: str, verified: str, stated: Sequence[str] = (), alike: Sequence[str] = ()
) -> str:
    """The text of `ISSUE.md`.

    `script` is the source of `repro.py`, or why there is none; `diagram` is Mermaid; `verified` what came of the script in
    a clean environment. `stated` are rules that the framework documents under the trace's options, `alike` reports that
    may be about the same. Raises NoScript where the trace does not say what was found.
    """
    found = Plan(trace).found
    mechanisms = [" and ".join(FAULTS[name].mechanism for name in names) for names in found.explained_by]
    return TEMPLATES.get_template("issue.md.jinja").render(
        trace=trace,
        found=found,
        rule=PROPERTIES[found.property],
        title=f"{trace.target}: {found.cls}",
        versions=versions(trace),
        mechanisms=mechanisms,
        script=script.rstrip(),
        is_script=script.startswith("# /// script"),
        diagram=diagram.rstrip(),
        verified=verified,
        stated=stated,
        alike=alike,
        searches=searches(trace),
    )


def searches(trace: Trace) -> list[str]:
    """What to search a project's issues for, before another one is filed."""
    commands = {command.op for sent in trace.commands for command in sent.sent}
    words = {
        "fork": "time travel OR fork checkpoint resume",
        "redeliver": "resume twice same answer",
        "stray": "resume before interrupt",
        "recover": "resume after crash",
        "restart": "same thread id start again",
        "race": "concurrent resume",
        "tamper": "corrupt checkpoint state",
    }
    found = [words[op] for op in words if op in commands]
    if any(command.poison is not None for command in trace.commands):
        found.append("invalid state update validation")
    return found or ["resume interrupt"]
