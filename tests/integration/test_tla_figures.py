"""Every figure that `tla/` states is what the real TLC counts, and its README says the same."""

from pathlib import Path

import msgspec
import pytest

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
    wrong = msgspec.structs.replace(FIGURES["R1"], generated=107, falls={"EO": 4})
    differs = check("R1", wrong, TLC).differs
    assert [line.split()[0] for line in differs] == ["generated", "falls"]


def test_a_configuration_that_tlc_cannot_read_is_an_error():
    with pytest.raises(TlcError, match="Nowhere"):
        TLC.run("Paper", "INIT Nowhere\nNEXT Next\n")


def test_every_configuration_has_figures_and_every_figure_a_configuration():
    assert {path.stem for path in (FOLDER / "cfg").glob("*.cfg")} == FIGURES.keys()


def test_every_property_of_every_model_holds_somewhere_and_falls_somewhere():
    for module in {stated.module for stated in FIGURES.values()}:
        rows = [stated for stated in FIGURES.values() if stated.module == module and not stated.events]
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
