"""What is written of targets, traces and findings, inside a transaction that the caller holds.

A finding's row says what the newest campaign that saw it says, so it does not matter in which order campaigns end or
files are merged. Traces that no campaign refers to any more, such as the one from before TLC was asked, are taken away.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from fuzzresume.campaign.corpus.file import CorpusError
from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.faults import FAULTS
from fuzzresume.contract.trace import Found, Trace, dumps
from fuzzresume.contract.words import say_commands

if TYPE_CHECKING:
    from sqlite_utils import Database

NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
"""What a target or a finding may be called: it becomes the name of a file."""

STARTED = "coalesce((SELECT started FROM campaigns WHERE id = {0}.last_campaign), '')"
"""When the newest campaign that saw a finding began, in `findings` or in `excluded`."""

SAID = ("property", "verdict", "length", "confirmed", "tlc", "flaky", "known", "class", "title", "explained_by", "commands")
"""What a finding's row says, and a newer campaign may say otherwise."""

SAYS = ", ".join(f"{column} = excluded.{column}" for column in SAID)

FINDING = f"""
INSERT INTO findings (id, target, finding, {", ".join(SAID)})
VALUES (:id, :target, :finding, {", ".join(f":{column}" for column in SAID)})
"""

SMALLER = """
ON CONFLICT (id) DO UPDATE SET length = excluded.length, commands = excluded.commands
WHERE excluded.length < findings.length AND findings.last_campaign IS NULL
"""

NEWER = f"ON CONFLICT (id) DO UPDATE SET {SAYS} WHERE :started >= {STARTED.format('findings')}"

KNOWN = f"ON CONFLICT (id) DO UPDATE SET known = excluded.known WHERE :started >= {STARTED.format('findings')}"

TRACE = """
INSERT INTO traces (sha256, finding, target, length, recorded, imported, options, trace)
VALUES (:sha256, :finding, :target, :length, :recorded, :imported, :options, :trace)
"""

AGAIN = """
ON CONFLICT (sha256) DO UPDATE SET recorded = max(recorded, excluded.recorded), imported = max(imported, excluded.imported)
"""

SPAN = """
UPDATE findings SET
    first_campaign = (
        SELECT campaign FROM sightings JOIN campaigns ON campaigns.id = campaign
        WHERE finding = findings.id ORDER BY started, campaign LIMIT 1
    ),
    last_campaign = (
        SELECT campaign FROM sightings JOIN campaigns ON campaigns.id = campaign
        WHERE finding = findings.id ORDER BY started DESC, campaign DESC LIMIT 1
    )
"""

SUPERSEDED = "NOT imported AND NOT EXISTS (SELECT 1 FROM sightings WHERE sightings.trace = traces.sha256)"
"""Of a trace: no campaign refers to it, and nobody put it in."""


def write_target(db: Database, name: str, packages: dict[str, str]) -> str:
    """The id of a target at exact packages, whose row is there afterwards. Raises CorpusError for a bad name."""
    _require_name("target", name)
    text = json_text(dict(sorted(packages.items())))
    label = "@".join([name, *list(packages.values())[:1]])
    identity = hashlib.sha256(f"{name} {text}".encode()).hexdigest()[:16]
    row = {"id": identity, "name": name, "label": clean(label), "packages": text}
    db.table("targets").insert(row, ignore=True)
    return identity


def write_trace(db: Database, trace: Trace, finding: str | None, recorded: str, *, imported: bool) -> str:
    """Put in a trace, if it is not there yet; returns its SHA-256. `finding` is the row that it shows."""
    data = dumps(trace)
    row = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "finding": finding,
        "target": write_target(db, trace.target, trace.packages),
        "length": len(trace.commands),
        "recorded": recorded,
        "imported": imported,
        "options": json_text(trace.options),
        "trace": data.decode(),
    }
    db.execute(TRACE + AGAIN, row)
    return str(row["sha256"])


def require_names(trace: Trace) -> None:
    """Raises CorpusError for a trace whose target or finding has a name that cannot be kept."""
    _require_name("target", trace.target)
    if trace.found is not None:
        _require_name("found.id", trace.found.id)


def write_found(db: Database, trace: Trace, recorded: str) -> str:
    """Put in a trace from a file, and the finding that it shows, if it shows one; returns its SHA-256."""
    if trace.found is None:
        return write_trace(db, trace, None, recorded, imported=True)
    row = _row(trace, trace.found, _title(trace.found))
    db.execute(FINDING + SMALLER, row)
    return write_trace(db, trace, row["id"], recorded, imported=True)


def write_finding(db: Database, finding: Finding, campaign: str, started: str, recorded: str) -> str:
    """Put in what a campaign that began at `started` says of a finding, or say it anew; returns the finding's row.

    A known finding keeps the name that it was known by, and what was said of it when it was new.
    """
    trace = finding.to_trace()
    assert trace.found is not None, "a finding's trace says what was found"
    if NAME.fullmatch(finding.known):
        trace.found.id = finding.known
    said = {"confirmed": clean(finding.confirmed), "flaky": clean(finding.flaky), "known": clean(finding.known)}
    row = {**_row(trace, trace.found, finding.title), **said}
    db.execute(FINDING + (KNOWN if finding.known else NEWER), {**row, "started": started})
    sighting = {column: row[column] for column in ("verdict", "length", "confirmed", "tlc", "flaky", "known")}
    sighting |= {"finding": row["id"], "campaign": campaign, "seen": finding.seen, "minimal": finding.minimal}
    sighting["trace"] = write_trace(db, trace, row["id"], recorded, imported=False)
    db.table("sightings").insert(sighting, replace=True)
    db.execute(f"DELETE FROM traces WHERE finding = ? AND {SUPERSEDED}", [row["id"]])
    db.execute(f"{SPAN} WHERE id = ?", [row["id"]])
    return str(row["id"])


def keep_only(db: Database, campaign: str, findings: list[str]) -> None:
    """Forget that a campaign saw other findings than these: those that its others turned out to explain together."""
    marks = ", ".join("?" * len(findings))
    gone = db.execute(
        f"SELECT finding FROM sightings WHERE campaign = ? AND finding NOT IN ({marks})", [campaign, *findings]
    ).fetchall()
    for (finding,) in gone:
        db.execute("DELETE FROM sightings WHERE finding = ? AND campaign = ?", [finding, campaign])
        db.execute(f"DELETE FROM traces WHERE finding = ? AND {SUPERSEDED}", [finding])
        db.execute(f"{SPAN} WHERE id = ?", [finding])
        db.execute(
            "DELETE FROM findings WHERE id = ? AND last_campaign IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM traces WHERE finding = findings.id)",
            [finding],
        )


def json_text(value: object) -> str:
    """A value as JSON text."""
    return msgspec.json.encode(value).decode()


def clean(text: str) -> str:
    """A text of one line that a database can hold and a terminal show: what a framework or a file says need not be."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _row(trace: Trace, found: Found, title: str) -> dict[str, Any]:
    _require_name("found.id", found.id)
    return {
        "id": f"{trace.target}/{found.id}",
        "target": trace.target,
        "finding": found.id,
        "property": found.property,
        "verdict": clean(found.verdict),
        "length": len(trace.commands),
        "confirmed": "not run",
        "tlc": clean(found.tlc),
        "flaky": "",
        "known": "",
        "class": clean(found.cls),
        "title": clean(title),
        "explained_by": json_text(found.explained_by),
        "commands": "\n".join(map(clean, say_commands(trace.workload, trace.commands))),
    }


def _title(found: Found) -> str:
    """As a finding's title, from what a file says."""
    if not found.explained_by:
        return f"{found.cls} (unexplained: no known mechanism fits)"
    if len(found.explained_by) > 1:
        return found.cls
    return f"{found.cls}: {' and '.join(FAULTS[name].mechanism for name in found.explained_by[0])}"


def _require_name(field: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise CorpusError(f"{field}: {name!r} is no name; it may hold letters, digits, dots, dashes and underscores")
