"""A sequence diagram as one inline SVG: no script, no font, no identifier that another one on the page could share.

Text and lines have the colour of the text around them; the page may set `--violated` and `--ground`, the colour of a
violation and of what is behind the drawing. It has a size of its own, in which its text is as large as the page's: a
page that is narrower lets it scroll.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from html import escape

from fuzzresume.contract.trace import Trace
from fuzzresume.report.sequence_steps import EFFECTS, STORE, USER, Diagram, Step, StepKind, diagram

LETTER = 7.4
"""Pixels that a letter takes, with room to spare: fonts differ, and nothing here can measure them."""

SIZE, LINE, GAP, MARGIN = 13, 17, 12, 14
"""Pixels: the letters' size, a line of text, between steps, around the whole."""

HEAD = 2 * LINE + 10
"""Pixels of the boxes that name the columns."""

HALF = 72
"""Pixels that a note reaches beyond its columns on either side."""

LINES = 5
"""Lines of a label. The rest of a longer one is cut, and is in its tooltip and in the description."""

APART = {USER: 232, STORE: 150}
"""Pixels from these columns to the next: commands and replies are long, effects short."""

PROCESS = 170
"""Pixels from a process to the next column."""

DASHED: frozenset[StepKind] = frozenset({"reply", "refusal", "read"})

VIOLATED = "var(--violated, #b3261e)"
GROUND = "var(--ground, Canvas)"


def svg(trace: Trace) -> str:
    """The diagram as an `<svg>` element with a name and a description in words."""
    drawn = diagram(trace)
    picture = _Picture(drawn)
    for index, step in enumerate(drawn.steps):
        picture.step(index, step)
    return picture.whole()


@dataclass
class _Picture:
    """What is drawn so far, down to `y`. `lives` are each column's first and last y with something at it."""

    drawn: Diagram
    y: float = MARGIN + HEAD + GAP
    parts: list[str] = field(default_factory=list)
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)
    marked: float | None = None

    def __post_init__(self) -> None:
        self.x: dict[str, float] = {}
        at = float(MARGIN + HALF)
        for one in self.drawn.participants:
            self.x[one.key] = at
            at += APART.get(one.key, PROCESS)
        self.right = at - APART.get(EFFECTS, PROCESS) + HALF + MARGIN
        self.color = "currentColor"

    def step(self, index: int, step: Step) -> None:
        """Draw one step below what is there."""
        if index == self.drawn.marked:
            self.y += GAP / 2
            self.marked, self.color = self.y, VIOLATED
            self.y += GAP / 2
        x, to = self.x[step.source], self.x[step.target]
        end = None
        if step.kind == "note":
            self.note(min(x, to) - HALF, max(x, to) + HALF, step.text)
        elif step.kind == "death":
            end = self.death(x, step.text)
        else:
            self.arrow(x, to, step)
        for key in {step.source, step.target} if step.kind != "note" or step.source == step.target else ():
            self.lives[key] = (self.lives.get(key, (self.y, self.y))[0], end or self.y)
        self.y += GAP

    def arrow(self, x: float, to: float, step: Step) -> None:
        """The label, and the arrow below it."""
        self.label((x + to) / 2, abs(to - x) - 16, step.text, "middle")
        self.y += 5
        dash = ' stroke-dasharray="5 4"' if step.kind in DASHED else ""
        way = 1 if to > x else -1
        self.stroke(f"M{x:g} {self.y:g}H{to - 2 * way:g}", dash)
        if step.kind == "refusal":
            self.cross(to - 8 * way)
        else:
            self.parts.append(
                f'<path d="M{to - way:g} {self.y:g}l{-9 * way} -4.5v9z" fill="{self.color}"/>'
                if step.kind != "reply"
                else f'<path d="M{to - 10 * way:g} {self.y - 5:g}L{to - way:g} {self.y:g}L{to - 10 * way:g} {self.y + 5:g}"'
                f' fill="none" stroke="{self.color}" stroke-width="1.5"/>'
            )

    def death(self, x: float, text: str) -> float:
        """A cross on the process's line, which ends there, and the words beside it. Returns its y."""
        top = self.y
        self.label(x + 14, PROCESS - 20, text, "start")
        bottom, self.y = self.y, top + LINE / 2 + 2
        self.cross(x)
        end, self.y = self.y, bottom
        return end

    def note(self, left: float, right: float, text: str) -> None:
        """A box."""
        place = len(self.parts)
        top = self.y
        self.y += 4
        self.label((left + right) / 2, right - left - 8, text, "middle")
        self.y += 5
        self.parts.insert(
            place,
            f'<rect x="{left:g}" y="{top:g}" width="{right - left:g}" height="{self.y - top:g}" rx="3" fill="{GROUND}"'
            f' stroke="{self.color}"/>',
        )

    def label(self, x: float, width: float, text: str, anchor: str) -> None:
        """Text in lines of at most `width` pixels, with the ground around its letters, so that no line runs through them."""
        fit = max(8, int(width / LETTER))
        whole = textwrap.wrap(text, fit, break_on_hyphens=False) or ["?"]
        lines = whole if len(whole) <= LINES else textwrap.wrap(text, fit, max_lines=LINES, placeholder=" …")
        title = f"<title>{escape(text)}</title>" if lines is not whole else ""
        rows = ""
        for line in lines:
            self.y += LINE
            rows += f'<tspan x="{x:g}" y="{self.y - 4:g}">{escape(line)}</tspan>'
        self.parts.append(
            f'<text text-anchor="{anchor}" fill="currentColor" stroke="{GROUND}" stroke-width="4" paint-order="stroke"'
            f' stroke-linejoin="round">{title}{rows}</text>'
        )

    def stroke(self, path: str, more: str = "") -> None:
        self.parts.append(f'<path d="{path}" fill="none" stroke="{self.color}" stroke-width="1.5"{more}/>')

    def cross(self, x: float) -> None:
        self.parts.append(
            f'<path d="M{x - 6:g} {self.y - 6:g}l12 12m0 -12l-12 12" fill="none" stroke="{self.color}" stroke-width="2.5"/>'
        )

    def whole(self) -> str:
        """The element: the marked band at the back, then the columns, then the steps."""
        width, height = self.right, self.y + MARGIN
        back = ""
        if self.marked is not None:
            back = (
                f'<rect x="3" y="{self.marked:g}" width="{width - 6:g}" height="{self.y - self.marked + GAP / 2:g}" rx="6"'
                f' fill="{VIOLATED}" fill-opacity="0.08" stroke="{VIOLATED}" stroke-dasharray="2 3"/>'
            )
        words = escape(" ".join(self.drawn.sentences))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}"'
            f' viewBox="0 0 {width:g} {height:g}" font-family="system-ui, sans-serif" font-size="{SIZE}">'
            f"<title>Sequence diagram: {escape(self.drawn.title)}</title><desc>{words}</desc>"
            f"{back}{''.join(self.columns())}{''.join(self.parts)}</svg>"
        )

    def columns(self) -> list[str]:
        """The heads and the lines below them: a process's from its first step to its last."""
        found = []
        for one in self.drawn.participants:
            x, last = self.x[one.key], one.key in (USER, STORE, EFFECTS)
            first, end = self.lives.get(one.key, (0, self.y))
            top, bottom = MARGIN + HEAD, self.y if last else end
            found.append(
                f'<path d="M{x:g} {top:g}V{bottom:g}" stroke="currentColor" stroke-opacity="0.45" fill="none"/>'
                if last
                else f'<path d="M{x:g} {top:g}V{first:g}" stroke="currentColor" stroke-opacity="0.2" stroke-dasharray="1 5"'
                f' fill="none"/><path d="M{x:g} {first:g}V{bottom:g}" stroke="currentColor" stroke-width="3"'
                ' stroke-opacity="0.45" fill="none"/>'
            )
            lines = one.label.split(", ")
            middle = MARGIN + HEAD / 2 - (len(lines) - 1) * LINE / 2 + 4
            rows = "".join(
                f'<tspan x="{x:g}" y="{middle + i * LINE:g}">{escape(line)}</tspan>' for i, line in enumerate(lines)
            )
            found.append(
                f'<rect x="{x - 54:g}" y="{MARGIN}" width="108" height="{HEAD}" rx="5" fill="{GROUND}"'
                f' stroke="currentColor"/>'
                f'<text text-anchor="middle" fill="currentColor" font-weight="600">{rows}</text>'
            )
        return found
