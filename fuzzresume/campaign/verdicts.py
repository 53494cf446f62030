"""From what was exercised and found to one verdict a property (docs/CONTRACT.md, *Verdicts*).

`unexercised` is never shown as `holds`: each property says what must have happened for it to be judged, and the tally counts
just that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.commands import Command
from fuzzresume.contract.monitor import Exchange
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.properties import PROPERTIES, VerdictName
from fuzzresume.contract.state import State
from fuzzresume.harness.adapter import Capabilities


@dataclass(frozen=True, slots=True)
class Verdict:
    """One property of one target, with the reason in words and the findings behind it."""

    verdict: VerdictName
    why: str
    findings: tuple[str, ...] = ()


@dataclass
class Tally:
    """How often each property was put to the test. `documented` counts runs that only a documented deviation explains."""

    exercised: Counter[str] = field(default_factory=Counter)
    in_doubt_refires: int = 0
    documented: Counter[str] = field(default_factory=Counter)
    restarts: Counter[str] = field(default_factory=Counter)

    def command(self, before: State, command: Command, observation: Observation) -> None:
        """Count what one judged command exercised."""
        kind = observation.outcome.kind
        branch = before.branch(command.branch)
        if command.op == "fork" and kind in ("parked", "completed"):
            self.exercised["FI"] += 1
            if any(q == command.question for q in before.trunk.acked):
                self.exercised["FD"] += 1
        if command.poison is not None and any(m.task == command.poison for m in observation.effects):
            self.exercised["CV"] += 1
        if before.tampered is not None and before.tampered != "extra-field":
            self.exercised["CV"] += 1
        if command.op == "race":
            self.exercised["race"] += 1
        settled = command.op == "resume" and command.question in branch.acked
        if command.op in ("redeliver", "stray") or settled:
            self.exercised["CO"] += 1
        if command.op == "recover2" and branch.status == "crashed" and branch.done and kind != "refused":
            self.exercised["RD"] += 1
        if command.op == "inspect" and branch.status != "new":
            self.exercised["IN"] += 1
        if command.op == "restart":
            self.exercised["RS"] += 1
            self.restarts[branch.status] += 1
        if command.op in ("recover", "recover2", "retry") and branch.status == "crashed":
            if branch.done and kind in ("parked", "completed"):
                self.exercised["PC"] += 1
            if branch.done and observation.effects:
                self.exercised["EO"] += 1

    def run(self, exchanges: Sequence[Exchange]) -> None:
        """Count what a whole run exercised: a recovered run that completed, and effects of tasks in doubt that ran again."""
        died = recovered = False
        doubtful: set[int] = set()
        for command, observation in exchanges:
            fired = [m.task for m in observation.effects]
            if command.op in ("recover", "retry", "recover2"):
                self.in_doubt_refires += sum(t in doubtful for t in fired)
                recovered = recovered or died
            elif command.op in ("restart", "fork"):
                doubtful.clear()
            done = observation.after.done
            if done is not None:
                doubtful = (doubtful | set(fired)) - set(done)
            died = died or observation.outcome.kind in ("crashed", "failed")
            if recovered and observation.outcome.kind == "completed":
                self.exercised["LV"] += 1
                break


def vacuous(tally: Tally, can: Capabilities, found: Collection[str] = (), *, races: bool = False) -> list[str]:
    """What never happened in the whole campaign, in words: a check that had nothing to look at has proved nothing.

    `found` are the properties of its findings: a known trace, which is not counted, may be what exercised them. `races`:
    the campaign was to race.
    """
    guards = {
        "no recovered run completed": ("LV", tally.exercised["LV"]),
        "no run went on after a death that left something durable": ("PC", tally.exercised["PC"]),
        "no answer was delivered that had to be inert": ("CO", tally.exercised["CO"]),
        "no input was sent again": ("RS", tally.exercised["RS"]),
        "no racer raced": ("", tally.exercised["race"] or not races),
        "no fork was served": ("FD", tally.exercised["FI"] or can.fork is None),
        "no update broke its schema and no store was damaged": (
            "CV",
            tally.exercised["CV"] or not (can.schema or can.tamper),
        ),
    }
    if can.absent:
        return []
    return [words for words, (name, happened) in guards.items() if not happened and name not in found]


def verdicts(tally: Tally, capabilities: Capabilities, findings: Sequence[Finding]) -> dict[str, Verdict]:
    """The verdict of every property, in the registry's order."""
    return {name: _verdict(name, tally, capabilities, findings) for name in PROPERTIES}


def _verdict(name: str, tally: Tally, can: Capabilities, findings: Sequence[Finding]) -> Verdict:
    if can.absent:
        return Verdict("inapplicable", can.absent)
    mine = [f for f in findings if f.property_name == name]
    broken = [f for f in mine if f.verdict == "violated" and not f.flaky]
    count = tally.exercised[name]
    if broken:
        why = "; ".join(dict.fromkeys(f"known: {f.title}" if f.known else f.title for f in broken))
        return Verdict("violated", f"{why}{_remark(name, tally)}", tuple(f.id for f in broken))
    if shaky := [f for f in mine if f.flaky]:
        why = "; ".join(f"{f.title}: {f.flaky}" for f in shaky)
        return Verdict("unexercised", f"seen, but not every time: {why}", tuple(f.id for f in shaky))
    excused = [f for f in mine if f.verdict == "documented"]
    if excused:
        stated = dict.fromkeys(
            rule
            for finding in excused
            for rule in finding.target.capabilities.documented
            if any(rule.switch in names for names in finding.explanation)
        )
        rules = "; ".join(f"{d.rule} ({d.where}, {d.version})" for d in stated)
        return Verdict("documented", f"{rules}{_remark(name, tally)}", tuple(f.id for f in excused))
    if name in ("FD", "FI") and can.fork is None:
        return Verdict("inapplicable", "the API has no fork")
    if name == "CV" and not can.schema and not can.tamper:
        return Verdict("inapplicable", "no state schema is declared and the adapter cannot damage a store")
    if not count:
        return Verdict("unexercised", f"needs {PROPERTIES[name].exercise}")
    words = f"exercised {count} times: {PROPERTIES[name].exercise}"
    if name == "FI":
        words = f"{count} forks were served, said on the wire by {can.fork}"
    return Verdict("holds", words + _remark(name, tally))


def _remark(name: str, tally: Tally) -> str:
    if name == "EO":
        return (
            f". Judged on recover, which sends nothing new; {tally.in_doubt_refires} in-doubt refires (EO-b, inherent)."
            f" A restart sends the input again and is judged as RS ({sum(tally.restarts.values())} sent)"
        )
    return ""
