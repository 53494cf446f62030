"""The draft of an issue: what a maintainer needs to see, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.contract.faults import FAULTS
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.trace import Trace
from fuzzresume.contract.words import say_commands
from fuzzresume.repro.glossary import glossary
from fuzzresume.repro.plan import NoScript
from fuzzresume.repro.script import TEMPLATES, one_line, versions

LOSSES = {
    "PC": "saved work is done over, or work that was never done is passed over",
    "EO": "what must happen once, such as a payment, can happen more than once",
    "FD": "who goes back to try another answer gets the outcome of an earlier one, or changes the run that was left",
    "CV": "an invalid or damaged state is kept, and the run builds on it",
    "CO": "an answer counts more than once, or where it was not meant",
    "RD": "one and the same saved run goes on in two different ways",
    "FI": "another try cannot be told from sending the same answer again",
    "LV": "a run cannot be brought to its end, or says that it is done when it is not",
    "IN": "looking at a run changes it",
    "RS": "sending the input again leaves a mixture of two runs",
}
"""What a user loses where a property is violated."""

SEARCHES = {
    "fork": "time travel OR fork checkpoint resume",
    "redeliver": "resume twice same answer",
    "stray": "resume before interrupt",
    "recover": "resume after crash",
    "restart": "same thread id start again",
    "race": "concurrent invoke same thread duplicate",
    "tamper": "corrupt checkpoint state",
    "poison": "invalid state update validation",
    "nothing sent": "invoke None after interrupt",
}
"""What to search for, by the kind of command; `nothing sent` is a recovery where nothing has crashed and nobody races."""


def issue(
    trace: Trace, script: str, *, diagram: str, verified: str, stated: Sequence[str] = (), alike: Sequence[str] = ()
) -> str:
    """The text of `ISSUE.md`.

    `script` is the source of `repro.py`, or why there is none; `diagram` is Mermaid; `verified` what came of the script in
    a clean environment. `stated` are rules that the framework documents under the trace's options, `alike` reports that
    may be about the same. Raises NoScript where the trace does not say what was found.
    """
    found = trace.found
    if found is None:
        raise NoScript("the trace does not say what was found; replay it with --record first")
    steps = [one_line(words) for words in say_commands(trace.workload, trace.commands)]
    expected, observed = [one_line(one) for one in found.expected.split(" — or — ")], one_line(found.observed)
    options = ", ".join(f"{key}={value}" for key, value in sorted(trace.options.items()))
    mechanisms = [" and ".join(FAULTS[name].mechanism for name in names) for names in found.explained_by]
    return TEMPLATES.get_template("issue.md.jinja").render(
        trace=trace,
        found=found,
        rule=PROPERTIES[found.property],
        loss=LOSSES[found.property],
        cls=one_line(found.cls),
        title=one_line(f"{trace.target}: {found.cls}"),
        versions=one_line(versions(trace)),
        options=one_line(options),
        steps=steps,
        words=glossary([*steps, *expected, observed]),
        expected=expected,
        observed=observed,
        undelayed=one_line(found.undelayed),
        found_by=one_line(f"`{found.id}`, TLC: {found.tlc}"),
        mechanisms=mechanisms,
        script=script.rstrip(),
        is_script=script.startswith("# /// script"),
        diagram=diagram.rstrip(),
        verified=one_line(verified),
        stated=stated,
        # Two hyphens could end the comment in which these stand.
        alike=[one_line(one).replace("--", "- -") for one in alike],
        identity=one_line(found.id).replace("--", "- -"),
        searches=searches(trace),
    )


def searches(trace: Trace) -> list[str]:
    """What to search a project's issues for, before another one is filed."""
    sent = [one for command in trace.commands for one in (command, *command.sent)]
    kinds: set[str] = {command.op for command in sent}
    if any(command.poison is not None for command in sent):
        kinds.add("poison")
    crashed = any(command.crash is not None for command in sent)
    if "recover" in kinds and "race" not in kinds and not crashed:
        kinds = kinds - {"recover"} | {"nothing sent"}
    return [words for kind, words in SEARCHES.items() if kind in kinds] or ["resume interrupt"]
