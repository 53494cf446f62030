"""The corpus database's tables, and how a file of an earlier schema becomes one of this (`PRAGMA user_version` counts).

Keys are natural, so that a row means the same in every file and two files can be merged: a target is its packages, a trace
is its bytes, a finding is `<target>/<finding id>`, and a campaign has a random name. Lists and mappings are JSON texts. The
widest column of a table comes last: what is read of the others then skips its pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION = 0x667A7263
"""`PRAGMA application_id` of a corpus database: it tells one from every other SQLite file."""

FIRST = """
-- An adapter at exact package versions. `label` is such as langgraph@1.2.9.
CREATE TABLE targets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    packages TEXT NOT NULL
);
CREATE INDEX targets_name ON targets (name, label);

-- One target fuzzed once. A campaign that was killed stays `running`; what it had recorded is there.
-- `options` are those that were pinned, `budget_*` its bounds (seconds, runs), `night` the nightly run it belongs to.
CREATE TABLE campaigns (
    id TEXT PRIMARY KEY,
    target TEXT NOT NULL REFERENCES targets (id),
    options TEXT NOT NULL,
    seed INTEGER NOT NULL,
    phases TEXT NOT NULL,
    budget_seconds REAL,
    budget_runs INTEGER,
    night TEXT,
    started TEXT NOT NULL,
    finished TEXT,
    status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted')),
    exit_code INTEGER,
    runs INTEGER NOT NULL DEFAULT 0,
    commands INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,
    states_reached INTEGER,
    states_total INTEGER,
    pairs_reached INTEGER,
    pairs_total INTEGER,
    pairs_open INTEGER
);
CREATE INDEX campaigns_started ON campaigns (started);
CREATE INDEX campaigns_night ON campaigns (night, started);
CREATE INDEX campaigns_target ON campaigns (target, started);

-- What a campaign says of each property. `findings` are the ids behind it.
CREATE TABLE verdicts (
    campaign TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    property TEXT NOT NULL,
    verdict TEXT NOT NULL,
    findings TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (campaign, property)
);
CREATE INDEX verdicts_property ON verdicts (property, verdict);

-- A defect of a target, as the newest campaign that saw it describes it. `commands` are its minimal trace in words.
CREATE TABLE findings (
    id TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    finding TEXT NOT NULL,
    property TEXT NOT NULL,
    verdict TEXT NOT NULL,
    length INTEGER NOT NULL,
    confirmed TEXT NOT NULL,
    tlc TEXT NOT NULL,
    flaky TEXT NOT NULL,
    known TEXT NOT NULL,
    first_campaign TEXT REFERENCES campaigns (id),
    last_campaign TEXT REFERENCES campaigns (id),
    class TEXT NOT NULL,
    title TEXT NOT NULL,
    explained_by TEXT NOT NULL,
    commands TEXT NOT NULL,
    UNIQUE (target, finding)
);
CREATE INDEX findings_finding ON findings (finding);
CREATE INDEX findings_property ON findings (property, target, finding);
CREATE INDEX findings_first_campaign ON findings (first_campaign);
CREATE INDEX findings_last_campaign ON findings (last_campaign);

-- Trace files, byte for byte, each once. `imported`: put in from a file, so no campaign may take it away again.
CREATE TABLE traces (
    sha256 TEXT PRIMARY KEY,
    finding TEXT REFERENCES findings (id),
    target TEXT NOT NULL REFERENCES targets (id),
    length INTEGER NOT NULL,
    recorded TEXT NOT NULL,
    imported INTEGER NOT NULL,
    options TEXT NOT NULL,
    trace TEXT NOT NULL
);
CREATE INDEX traces_finding ON traces (finding, target, length);
CREATE INDEX traces_target ON traces (target);

-- A finding in a campaign: how many violations it accounts for, and what was said of it then.
CREATE TABLE sightings (
    finding TEXT NOT NULL REFERENCES findings (id) ON DELETE CASCADE,
    campaign TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    trace TEXT REFERENCES traces (sha256) ON DELETE SET NULL,
    seen INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    length INTEGER NOT NULL,
    minimal INTEGER NOT NULL,
    confirmed TEXT NOT NULL,
    tlc TEXT NOT NULL,
    flaky TEXT NOT NULL,
    known TEXT NOT NULL,
    PRIMARY KEY (finding, campaign)
);
CREATE INDEX sightings_campaign ON sightings (campaign);
CREATE INDEX sightings_trace ON sightings (trace);

-- A night, `finished` once it is over. `config` is a digest of what was to be done: the same is gone on with.
CREATE TABLE nights (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    seed INTEGER NOT NULL,
    config TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT,
    exit_code INTEGER
);

-- What a night was to fuzz, as its configuration calls it. `unusable` says why there is no campaign.
CREATE TABLE night_targets (
    night TEXT NOT NULL REFERENCES nights (name) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    target TEXT NOT NULL,
    unusable TEXT NOT NULL,
    PRIMARY KEY (night, target)
);

-- The campaigns of a night's target, several where one was killed. `troubles`: hangs and harness errors of it.
CREATE TABLE night_campaigns (
    campaign TEXT PRIMARY KEY REFERENCES campaigns (id) ON DELETE CASCADE,
    night TEXT NOT NULL,
    target TEXT NOT NULL,
    troubles INTEGER NOT NULL,
    FOREIGN KEY (night, target) REFERENCES night_targets (night, target) ON DELETE CASCADE
);
CREATE INDEX night_campaigns_target ON night_campaigns (target, night);

-- A trace that a campaign tried first, by the finding that it shows (`<target>/<finding id>`), and what came of it.
CREATE TABLE night_checks (
    campaign TEXT NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    finding TEXT NOT NULL,
    known INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (campaign, finding)
);

-- For each target and set of pinned options, the verdict of the newest campaign that ended.
CREATE VIEW newest_verdicts AS
SELECT label, options, property, verdict, why, started, campaign FROM (
    SELECT
        targets.label, campaigns.options, verdicts.property, verdicts.verdict, verdicts.why, campaigns.started,
        campaigns.id AS campaign,
        row_number() OVER (
            PARTITION BY campaigns.target, campaigns.options, verdicts.property
            ORDER BY campaigns.started DESC, campaigns.id
        ) AS newness
    FROM verdicts
    JOIN campaigns ON campaigns.id = verdicts.campaign
    JOIN targets ON targets.id = campaigns.target
) WHERE newness = 1;

-- Every campaign that saw a finding, in the order of time.
CREATE VIEW finding_history AS
SELECT
    findings.target, findings.finding, campaigns.started, campaigns.night, targets.label, campaigns.seed, sightings.seen,
    sightings.verdict, sightings.length, sightings.minimal, sightings.confirmed, sightings.tlc, sightings.flaky,
    sightings.known, sightings.trace, sightings.campaign
FROM sightings
JOIN findings ON findings.id = sightings.finding
JOIN campaigns ON campaigns.id = sightings.campaign
JOIN targets ON targets.id = campaigns.target
ORDER BY findings.target, findings.finding, campaigns.started;

-- What of the reference's graph each campaign reached, in the order of time.
CREATE VIEW coverage_history AS
SELECT
    targets.label, campaigns.options, campaigns.started, campaigns.status, campaigns.states_reached,
    campaigns.states_total, campaigns.pairs_reached, campaigns.pairs_total, campaigns.pairs_open,
    campaigns.id AS campaign
FROM campaigns
JOIN targets ON targets.id = campaigns.target
ORDER BY targets.label, campaigns.started;
"""


def _first(db: Database) -> None:
    db.executescript(FIRST)


Step = Callable[["Database"], None]

STEPS: Sequence[Step] = (_first,)
"""Step n turns a database of schema n into one of schema n + 1; an empty file is of schema 0. Steps are only ever added."""


def newest() -> int:
    """The schema that this version of fuzzresume makes and reads."""
    return len(STEPS)


def migrate(db: Database) -> None:
    """Bring a database of an earlier schema to the newest. The caller holds the transaction: all of the steps, or none."""
    for step in STEPS[version_of(db.conn) :]:
        step(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {newest()}")


def version_of(connection: Connection) -> int:
    """The schema that a database has; 0 where none was made yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
