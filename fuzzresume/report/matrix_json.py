"""A matrix as JSON, schema `fuzzresume.matrix/1`. A pure writer; `MatrixFile` reads it back, validated."""

from __future__ import annotations

import msgspec

from fuzzresume.campaign.matrix import Matrix, Row

SCHEMA = "fuzzresume.matrix/1"


class MatrixFile(msgspec.Struct, frozen=True):
    """The document. `exit_code` is the command's own."""

    schema: str
    seed: int
    max_seconds: float | None
    max_runs: int | None
    rows: list[Row]
    exit_code: int


def matrix_json(matrix: Matrix, exit_code: int) -> bytes:
    """The file's bytes, indented, ending in a newline. Same seed, versions and runs: same file, seconds aside."""
    document = MatrixFile(SCHEMA, matrix.seed, matrix.max_seconds, matrix.max_runs, matrix.rows, int(exit_code))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
