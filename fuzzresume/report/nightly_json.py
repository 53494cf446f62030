"""A whole night as JSON, schema `fuzzresume.nightly/1`: also of targets that were fuzzed before it was cut short."""

from __future__ import annotations

import msgspec

from fuzzresume.campaign.nightly.facts import Slot
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.nightly_result import NightResult
from fuzzresume.report.plain_words import printable

SCHEMA = "fuzzresume.nightly/1"


def nightly_json(result: NightResult, code: Exit) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    night = result.night
    document = {
        "schema": SCHEMA,
        "night": night.name,
        "number": night.number,
        "seed": night.seed,
        "started": night.started,
        "finished": night.finished,
        "exit_code": int(code),
        "targets": [_slot(slot) for slot in result.slots],
        "diff": msgspec.to_builtins(result.diff),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _slot(slot: Slot) -> dict[str, object]:
    return {
        "target": slot.target,
        "label": slot.label,
        "packages": slot.packages,
        "ended": slot.ended,
        "unusable": printable(slot.unusable),
        "troubles": slot.troubles,
        "verdicts": {name: {"verdict": said.verdict, "why": said.why} for name, said in slot.verdicts.items()},
        "findings": [{"id": seen.id, **seen._asdict()} for seen in slot.findings.values()],
        "checks": slot.checks,
    }
