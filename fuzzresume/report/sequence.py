"""A trace as a sequence diagram: `mermaid` for issues and pull requests, `svg` for a page. Pure writers.

What the arrows are is in `sequence_steps`; here is Mermaid's way to write them.
"""

from __future__ import annotations

import re
import textwrap

from fuzzresume.contract.trace import Trace
from fuzzresume.report.sequence_steps import Diagram, Step, StepKind, diagram
from fuzzresume.report.sequence_svg import svg

WIDTH = 44
"""Characters of a line of a label."""

LINES = 6
"""Lines of a label; the rest of a longer one is cut."""

ARROWS: dict[StepKind, str] = {
    "command": "->>",
    "reply": "-->>",
    "refusal": "--x",
    "effect": "->>",
    "record": "->>",
    "read": "-->>",
    "death": "-x",
}

# What means nothing to Mermaid in a label. Everything else is written as an entity: `;` and `#` end a label or begin a
# comment, `<` a tag, `%` a directive, `$` a formula, and so on.
_MEANINGLESS = re.compile(r"[^\w \-.,:(){}\[\]|/+=@'·—…]", re.ASCII)


def mermaid(trace: Trace) -> str:
    """The diagram as Mermaid's text, which ends in a newline. It is not fenced."""
    drawn = diagram(trace)
    lines = ["sequenceDiagram", f"    accTitle: {_escaped(drawn.title)}"]
    lines += [f"    participant {one.key} as {_escaped(one.label)}" for one in drawn.participants]
    return "\n".join([*lines, *_body(drawn)]) + "\n"


def _body(drawn: Diagram) -> list[str]:
    lines = [f"    {_step(step)}" for step in drawn.steps]
    if drawn.marked is None:
        return lines
    inside = [f"    {line}" for line in lines[drawn.marked :]]
    return [*lines[: drawn.marked], "    rect rgba(214, 69, 65, 0.15)", *inside, "    end"]


def _step(step: Step) -> str:
    if step.kind == "note":
        over = step.source if step.source == step.target else f"{step.source},{step.target}"
        return f"Note over {over}: {_label(step.text)}"
    return f"{step.source}{ARROWS[step.kind]}{step.target}: {_label(step.text)}"


def _label(text: str) -> str:
    """The text in lines: left alone, Mermaid makes the diagram as wide as its longest label."""
    lines = textwrap.wrap(text, WIDTH, max_lines=LINES, placeholder=" …", break_on_hyphens=False) or ["?"]
    return "<br/>".join(map(_escaped, lines))


def _escaped(text: str) -> str:
    """The text as Mermaid shows it back. The word `end` would end a block."""
    entities = _MEANINGLESS.sub(lambda found: f"#{ord(found[0])};", text)
    return re.sub(r"\bend\b", lambda found: f"#{ord(found[0][0])};{found[0][1:]}", entities, flags=re.IGNORECASE)


__all__ = ["mermaid", "svg"]
