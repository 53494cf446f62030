"""What the counts of a race table say."""

import msgspec
import pytest

from fuzzresume.campaign.race_table import Cell, broken, unserved
from fuzzresume.cli_race import conclusions, exit_of
from fuzzresume.contract.observation import Entry, Observation, Outcome
from fuzzresume.harness.target import parse_target
from fuzzresume.report.race_table import RaceFile, race_json, say_dose, spread


def cell(*repetitions, dwell=None, jitter=None):
    """Each repetition: the effects' answers, and the answers told consumed."""
    made = Cell(2, dwell, jitter)
    for answers, told in repetitions:
        entries = tuple(Entry("effect", 2, (answer,)) for answer in answers)
        racers = (Observation(Outcome("completed")), Observation(Outcome("refused")))
        made.add(Observation(Outcome("raced"), (*entries, Entry("effect", 3)), racers=racers, told=told))
    return made


def test_a_cell_counts_the_effects_of_the_gate():
    made = cell((("a",), ("a",)), (("a", "b"), ("a", "b")), (("a", "a"), ("a", "a")))
    assert made.effects == [1, 2, 2] and made.own == [1, 2, 1] and made.told == [1, 2, 1]
    assert made.replies == {"completed": 3, "refused": 3} and made.held


@pytest.mark.parametrize(
    ("over", "repetition", "codes"),
    [
        ("answers", (("a",), ("a",)), set()),
        ("answers", (("a", "b"), ("a",)), {"CO-e"}),
        ("answers", (("a",), ("a", "b")), {"CO-c"}),
        ("answers", (("a", "b"), ("a", "b")), {"CO-e", "CO-c"}),
        ("recovery", (("a",), ()), set()),
        ("recovery", (("a", "a"), ()), {"EO"}),
        ("forks", (("a", "b"), ("a", "b")), set()),
        ("forks", (("a", "a"), ("a",)), {"FD"}),
    ],
)
def test_what_is_broken(over, repetition, codes):
    cells = [cell((("a",), ())), cell(repetition, dwell=0.0, jitter=0.0)]
    found = broken(over, cells)
    assert set(found) == codes
    assert exit_of(cells, found) == (1 if codes else 0)


def test_races_in_which_nobody_is_served_prove_nothing():
    cells = [cell(((), ()))]
    assert unserved(cells) == 1 and exit_of(cells, {}) == 3
    assert conclusions(cells, {}) == ["nobody was served in 1 races"]
    cells[0].hung = 1
    assert conclusions(cells, {})[0] == "1 races hung"


def test_words():
    assert spread([2, 2]) == "2 in each of 2" and spread([1, 4, 2]) == "1 to 4, median 2" and spread([]) == "-"
    assert say_dose(Cell(2, None, None)) == "held" and say_dose(Cell(2, 0.02, 0.005)) == "gate 20 ms, apart 5 ms"


def test_the_json_reads_back():
    data = race_json(parse_target("reference"), "answers", "processes", 3, [cell((("a",), ("a",)))], {}, 0)
    read = msgspec.json.decode(data, type=RaceFile)
    assert read.schema == "fuzzresume.race/1" and read.rows[0].effects == [1] and read.rows[0].gate_ms is None
