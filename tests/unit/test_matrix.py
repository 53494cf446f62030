"""What the writers make of a matrix: every verdict, claim and difference is to be seen, and nothing that is not known."""

from __future__ import annotations

import io
from dataclasses import replace

import msgspec
import pytest
from rich.console import Console

from fuzzresume.campaign.baselines import Claim, Difference
from fuzzresume.campaign.matrix import Cell, Evidence, Matrix, Row
from fuzzresume.cli_matrix import PINS, exit_of
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.matrix_json import MatrixFile, matrix_json
from fuzzresume.report.matrix_markdown import matrix_markdown
from fuzzresume.report.matrix_terminal import print_matrix
from fuzzresume.report.matrix_words import say_bounds, say_difference, say_totals

PROVEN = Evidence(
    id="FD-2dc830",
    title="a fork was not served its own answer",
    commands=["start", "resume(a, gate 2)", "fork(b, gate 2)"],
    explained_by=[["ForkIgnore"]],
    minimal=True,
    confirmed="3/3",
    tlc="confirmed",
    trace="langgraph@1.2.9/FD-2dc830.json",
    proven=True,
)
HOLDS = Cell("holds", "exercised 7 times", [], "not claimed")
RULE = "changes are written when a call ends (the documentation, 1.2)"
CLAIM = Claim("violated", "a task runs again | after a SIGKILL")
CELLS = {name: HOLDS for name in PROPERTIES} | {
    "PC": Cell("holds", "exercised 7 times", [], "agrees", Claim("holds", "no task runs again")),
    "EO": Cell(
        "documented", RULE, [replace(PROVEN, id="EO-604a57")], "differs", CLAIM, Difference("it is stated", ["a.json"])
    ),
    "FD": Cell(
        "violated",
        "a fork was not served",
        [PROVEN, replace(PROVEN, id="FD-c1a469")],
        "agrees",
        Claim("violated", "never used"),
    ),
    "CV": Cell("inapplicable", "no schema is declared", [], "not claimed"),
    "CO": Cell("unexercised", "needs a redelivery", [], "not judged", Claim("holds", "consumed once")),
}
ROW = Row(
    target="langgraph@1.2.9",
    packages={"langgraph": "1.2.9", "langgraph-checkpoint": "4.1.1"},
    cells=CELLS,
    runs=812,
    commands=4000,
    seconds=60.0,
    states=(100, 147),
    pairs=(190, 203),
    untried=3,
    depth=4,
)
UNUSABLE = Row("crewai@1.15.2", unusable="target crewai needs crewai: pip install 'fuzzresume[crewai]'")
MATRIX = Matrix(0, 60.0, None, [ROW, UNUSABLE])


def shown(matrix: Matrix, width: int = 80) -> str:
    file = io.StringIO()
    print_matrix(Console(file=file, width=width), matrix)
    return file.getvalue()


def test_the_terminal_shows_a_verdict_and_the_paper_s_for_each_cell() -> None:
    text = shown(MATRIX)
    table = text[: text.index("\nlanggraph@1.2.9\n")]
    for name, cell in CELLS.items():
        (row,) = [line.split() for line in table.splitlines() if line.split()[:1] == [name]]
        assert row == [name, cell.verdict, "unusable"]
    assert table.count("as the paper") == 2 and "paper: violated" in table and "paper: holds" in table
    for counts in (["runs", "812", "-"], ["states", "100/147", "-"], ["pairs", "190/203", "-"], ["depth", "4", "-"]):
        assert counts in [line.split() for line in table.splitlines()]


def test_the_terminal_shows_what_is_behind_the_cells_that_are_not_simply_kept() -> None:
    details = shown(MATRIX).partition("\nlanggraph@1.2.9\n")[2]
    for words in (
        "FD violated",
        "3 commands, 1-minimal: start; resume(a, gate 2); fork(b, gate 2) · replayed 3/3 · tlc confirmed",
        "explained by ForkIgnore · langgraph@1.2.9/FD-2dc830.json\n    also FD-c1a469\n",
        f"stated: {RULE}",
        "paper: violated: a task runs again | after a SIGKILL",
        "differs: it is stated (a.json)",
        "CV inapplicable no schema is declared",
        "CO unexercised needs a redelivery",
        f"crewai@1.15.2: unusable: {UNUSABLE.unusable}",
    ):
        assert words in details, words
    assert "PC" not in details and "RD" not in details


def test_five_targets_fit_into_80_columns() -> None:
    rows = [replace(ROW, target=pin, cells=CELLS) for pin in PINS]
    table = shown(Matrix(0, 60.0, None, rows)).partition(f"\n{PINS[0]}\n")[0]
    assert max(map(len, table.splitlines())) <= 80
    assert all(table.count(f" {name} ") == 1 for name in PROPERTIES) and table.count("inapplicable") == len(PINS)


def test_nothing_is_cut_off_in_a_narrow_terminal() -> None:
    table = shown(MATRIX, 30)
    assert "…" not in table and "langgraph@1.2.9/FD-2dc830.json" in table


def test_the_markdown_has_a_table_of_all_and_one_for_each_target() -> None:
    text = matrix_markdown(MATRIX).decode()
    lines = text.splitlines()
    assert f"| target | {' | '.join(PROPERTIES)} | runs | states | pairs | depth |" in lines
    (row,) = [line for line in lines if line.startswith("| langgraph@1.2.9 |")]
    assert (
        "| **violated**<br>FD-2dc830 FD-c1a469<br>as the paper |" in row
        and "| documented<br>EO-604a57<br>paper: violated |" in row
    )
    assert row.endswith("| 812 | 100/147 | 190/203 | 4 |")
    assert f"| crewai@1.15.2 | {' | '.join(['unusable'] * len(PROPERTIES))} | - | - | - | - |" in lines
    (cell,) = [line for line in lines if line.startswith("| EO |")]
    assert RULE in cell and "violated: a task runs again \\| after a SIGKILL" in cell and "differs: it is stated" in cell
    (cell,) = [line for line in lines if line.startswith("| RD |")]
    assert cell == "| RD | holds | exercised 7 times |  |  |"
    assert "langgraph 1.2.9, langgraph-checkpoint 4.1.1 · 3 pairs not tried yet" in lines
    assert f"Unusable: {UNUSABLE.unusable}" in lines
    tables = [line for line in lines if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in tables} == {len(PROPERTIES) + 6, 6}


def test_the_json_reads_back() -> None:
    read = msgspec.json.decode(matrix_json(MATRIX, 3), type=MatrixFile)
    assert (read.schema, read.seed, read.max_seconds, read.max_runs, read.exit_code) == (
        "fuzzresume.matrix/1",
        0,
        60,
        None,
        3,
    )
    assert read.rows == MATRIX.rows


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (HOLDS, ""),
        (CELLS["PC"], ""),
        (replace(CELLS["PC"], difference=Difference("on another call")), "agrees, but: on another call"),
        (replace(CELLS["EO"], difference=None), "differs, and nothing on record says why"),
        (replace(HOLDS, expected="holds"), ""),
        (replace(HOLDS, expected="violated"), "not as expected: violated is on record"),
        (CELLS["FD"], ""),
        (
            replace(CELLS["FD"], evidence=[replace(PROVEN, tlc="not run", proven=False)]),
            "unproven: no finding is minimal, replayed 3/3, and confirmed by TLC or unexplained",
        ),
        (replace(CELLS["FD"], evidence=[replace(PROVEN, proven=False), PROVEN]), ""),
    ],
)
def test_what_is_said_of_a_difference(cell: Cell, words: str) -> None:
    assert say_difference(cell) == words


def test_bounds_and_totals() -> None:
    assert say_bounds(MATRIX) == "seed 0 · at most 60 s a target"
    assert say_bounds(replace(MATRIX, max_seconds=None, max_runs=5)) == "seed 0 · at most 5 runs a target"
    assert say_totals(MATRIX.rows) == (
        "1 cells violated, 1 of them proven · of 4 claims of the paper 2 agree, 1 differ, 1 of them explained, 1 not judged"
        " · could not be used: crewai@1.15.2"
    )
    assert say_totals([replace(ROW, cells={"PC": HOLDS})]) == "0 cells violated, 0 of them proven"


def test_troubles_and_an_interrupt_are_told_everywhere() -> None:
    matrix = Matrix(0, None, 3, [replace(ROW, troubles=["run 3 hung at start"], interrupted=True)])
    for text in (shown(matrix), matrix_markdown(matrix).decode()):
        assert "trouble: run 3 hung at start" in text and "interrupted: this is what was found until then" in text


def test_a_matrix_that_is_not_whole_is_undetermined() -> None:
    assert exit_of(MATRIX, []) == Exit.UNDETERMINED
    assert exit_of(replace(MATRIX, rows=[ROW]), []) == Exit.OK
