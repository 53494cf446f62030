"""The corpus database: what campaigns recorded, in one SQLite file (docs/DESIGN.md, *The corpus database*).

Read `database` (what it can do), `file` (how it is opened and what its errors mean), `schema` (its tables), then `record`
and `write` (what goes in as a campaign goes), `read` (what comes out), `merge`, `minimise` and `trace_files`. It imports the
campaign's events, findings and verdicts; a campaign knows nothing of it.
"""
