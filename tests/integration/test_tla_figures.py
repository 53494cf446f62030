"""Every figure that `tla/` states is what the real TLC counts, and its README says the same."""

from pathlib import Path

import msgspec
import pytest
from tla_table import matrix, shortest, table

from fuzzresume.contract.faults import FAULTS, SEQUENTIAL
from fuzzresume.formal.check import check, figures
from fuzzresume.formal.toolchain import TlcError, Toolchain

FOLDER = Path(__file__).parents[2] / "tla"
FIGURES = figures()
SMALL = [name for name, stated in FIGURES.items() if not stated.large]
TLC = Toolchain.find()


@pytest.mark.parametrize("name", SMALL)
def test_tlc_counts_what_is_stated(name):
    assert check(name, FIGURES[name], TLC).differs == []


def test_a_wrong_figure_is_seen():
    wrong = msgspec.structs.replace(FIGURES["R1"], generated=107, falls={"EO": 4}, checked=["PC", "EO"])
    differs = check("R1", wrong, TLC).differs
    assert [line.split()[0] for line in differs] == ["generated", "checked", "falls"]


def test_a_property_or_a_fault_set_that_tlc_did_not_look_at_does_not_hold():
    more = [*FIGURES["R0"].checked, "LV"]
    assert check("R0", msgspec.structs.replace(FIGURES["R0"], checked=more), TLC).differs
    matrix = {"none": {}, "Replay": {}}
    assert check("properties-twice", msgspec.structs.replace(FIGURES["properties-twice"], matrix=matrix), TLC).differs


def test_a_configuration_that_tlc_cannot_read_is_an_error():
    with pytest.raises(TlcError, match="code 151: Error: The constant parameter NTasks"):
        TLC.run("Paper", "INIT Nowhere\nNEXT Next\n")


def test_every_configuration_has_figures_and_every_figure_a_configuration():
    assert {path.stem for path in (FOLDER / "cfg").glob("*.cfg")} == FIGURES.keys()


def test_every_property_of_every_model_holds_somewhere_and_falls_somewhere():
    family = {"PaperRacers": "Paper"}  # one more thing that can happen in the same model
    for module in {stated.module for stated in FIGURES.values()} - set(family):
        rows = [s for s in FIGURES.values() if family.get(s.module, s.module) == module and not s.events]
        checked = {name for stated in rows for name in stated.checked}
        for name in checked:
            cells = [row.get(name) for stated in rows for row in (stated.matrix.values() or [stated.falls])]
            assert None in cells and any(cells), (module, name)


def test_the_papers_matrix_is_met():
    """The 36 cells of six mechanisms and six properties; the three further ones are read as PC-s under Rebuild."""
    paper = {
        "R1": {"EO": 4, "PC": 4, "CO": 7},
        "R2": {"FD": 5},
        "R3": {"CV": 5},
        "R4": {"EO": 4, "PC": 4, "RD": 4, "CO": 6},
        "R5": {"EO": 6, "CO": 6},
        "R9": {"EO": 4, "PC": 4},
    }
    for name, falls in paper.items():
        assert {p: depth for p, depth in FIGURES[name].falls.items() if p != "PC-s"} == falls
        assert {"PC", "EO", "FD", "CV", "CO", "RD"} <= set(FIGURES[name].checked)


def test_the_readme_has_every_figure():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert table() in readme and matrix("properties-single") in readme and shortest() in readme


def test_the_reference_keeps_the_contract_and_every_switch_breaks_what_it_is_known_by():
    assert FIGURES["properties-none"].matrix == FIGURES["properties-twice"].matrix == {"none": {}}
    rows = FIGURES["properties-single"].matrix
    assert set(rows) == set(SEQUENTIAL)
    for name, row in rows.items():
        assert set(FAULTS[name].properties) <= set(row), name
        assert row[FAULTS[name].properties[0]] == min(row.values()), "known by what falls first"


def test_what_the_contract_refuses_first_is_named_by_a_property_at_once():
    for name, row in FIGURES["properties-single"].matrix.items():
        assert min(row.values()) == FIGURES["shortest"].events[name] + 1, name
