"""A list of what the corpus database holds as JSON, schema `fuzzresume.corpus/1`. A pure writer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fuzzresume.campaign.corpus.read import CampaignRow, FindingRow, TraceRow

SCHEMA = "fuzzresume.corpus/1"


def corpus_json(findings: Sequence[FindingRow], traces: Sequence[TraceRow], campaigns: Sequence[CampaignRow]) -> bytes:
    """The file's bytes, indented, ending in a newline. `traces` are those that show no finding."""
    document = {
        "schema": SCHEMA,
        "findings": [_finding(row) for row in findings],
        "traces": [_row(row, "options", "packages") for row in traces],
        "campaigns": [_row(row, "options", "packages") for row in campaigns],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _finding(row: FindingRow) -> dict[str, object]:
    document = _row(row, "explained_by")
    document["class"] = document.pop("cls")
    document["commands"] = row.words.split("\n")
    del document["words"]
    return document


def _row(row: FindingRow | TraceRow | CampaignRow, *json: str) -> dict[str, object]:
    """A row as it is, with the columns that hold JSON as such."""
    document = row._asdict()
    for column in json:
        document[column] = msgspec.Raw(document[column].encode())
    return document
