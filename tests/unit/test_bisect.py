"""Bisecting versions: the search with fake versions, and what it says."""

from __future__ import annotations

import pytest

from fuzzresume.campaign.bisect import FEW, Bisection, Change, Probed, say_bisection

LONG = 40


def searched(history: str, known: tuple[int, ...] = (), **more: bool) -> Bisection:
    """Search a history in which `b` is a bad version, `g` a good one and `s` one that cannot be tried."""
    answers = {"b": "bad", "g": "good", "s": "skip"}
    asked: list[str] = []

    def probe(version: str) -> Probed:
        assert version not in asked, "tried twice"
        asked.append(version)
        return Probed(answers[history[int(version)]], "")  # type: ignore[arg-type]

    search = Bisection([str(i) for i in range(len(history))], probe)
    search.search([str(i) for i in known], **more)
    return search


@pytest.mark.parametrize("length", [2, FEW, FEW + 1, LONG])
@pytest.mark.parametrize("old, new", ["gb", "bg"])
def test_a_change_is_found_wherever_it_is(length: int, old: str, new: str) -> None:
    for first in range(1, length):
        search = searched(old * first + new * (length - first))
        assert search.changes == [Change(str(first - 1), str(first), new == "b")]
        assert len(search.tried) <= max(FEW, 2 + length.bit_length())


@pytest.mark.parametrize("first", range(1, LONG))
def test_versions_that_cannot_be_tried_are_gone_around(first: int) -> None:
    """Every third one cannot; where such a one lies at the change, it may be the one that changed it."""
    history = "".join("s" if i % 3 == 1 else "g" if i < first else "b" for i in range(LONG))
    (change,) = searched(history).changes
    assert int(change.before) < first <= int(change.after)
    assert change.between == tuple(str(i) for i in range(int(change.before) + 1, int(change.after)))
    assert all(history[int(i)] == "s" for i in change.between)


def test_a_stretch_that_cannot_be_tried_costs_little_unless_the_change_lies_in_it() -> None:
    search = searched("g" * 14 + "s" * 12 + "g" * 4 + "b" * 10)
    assert search.changes == [Change("29", "30", True)] and len(search.tried) < 15
    (inside,) = searched("g" * 14 + "s" * 3 + "b" * 23).changes
    assert inside == Change("13", "17", True, ("14", "15", "16"))


@pytest.mark.parametrize("history", ["s" * 25 + "g" * 5 + "b" * 10, "b" * 5 + "g" * 10 + "s" * 25])
def test_ends_that_cannot_be_tried(history: str) -> None:
    known = history.index("b")
    search = searched(history, (known,))
    (change,) = search.changes
    assert history[int(change.before)] != history[int(change.after)] and int(change.after) == int(change.before) + 1
    assert len(search.tried) < 16


@pytest.mark.parametrize("letter, words", [("b", "each of the versions"), ("g", "none of the versions")])
def test_nothing_changes(letter: str, words: str) -> None:
    search = searched(letter * LONG, (20,))
    assert not search.changes and list(search.tried) == ["0", "39", "20"]
    said = say_bisection(search)
    assert said[0] == f"it shows in {words} that answered: 0, 20, 39" and "37 versions were not tried" in said[1]


@pytest.mark.parametrize("letter, words, alone", [("b", "each", "in"), ("g", "none", "not in")])
def test_all_are_alike(letter: str, words: str, alone: str) -> None:
    said = say_bisection(searched(letter * LONG, everything=True))
    assert said == [f"it shows in {words} of the 40 versions tried, from 0 to 39"]
    assert say_bisection(searched(letter)) == [f"it shows {alone} 0, the only version tried"]


def test_a_version_of_which_something_is_known_shows_two_changes() -> None:
    search = searched("g" * 10 + "b" * 20 + "g" * 10, (15,))
    assert search.changes == [Change("9", "10", True), Change("29", "30", False)]
    assert say_bisection(search)[:3] == [
        "it changes 2 times:",
        "first bad 10; last good 9",
        "first fixed 30; last bad 29",
    ]


def test_few_versions_and_everything_show_every_change() -> None:
    assert len(searched("gbgbgbgb").changes) == 7
    islands = "g" * 5 + "b" + "g" * 20 + "bb" + "g" * 12
    assert not searched(islands).changes and len(searched(islands, everything=True).changes) == 4


@pytest.mark.parametrize("length", [1, 3, LONG])
def test_nothing_can_be_tried(length: int) -> None:
    search = searched("s" * length)
    assert not search.answered and len(search.tried) == min(length, FEW)
    assert say_bisection(search)[0] == "undetermined: no version could be tried"


def test_no_versions() -> None:
    assert say_bisection(searched("")) == ["undetermined: no version could be tried"]


def test_an_interrupt_loses_nothing() -> None:
    def probe(version: str) -> Probed:
        if len(search.tried) == 3:
            raise KeyboardInterrupt
        return Probed("bad" if int(version) > 7 else "good", "")

    search = Bisection([str(i) for i in range(LONG)], probe)
    with pytest.raises(KeyboardInterrupt):
        search.search()
    assert len(search.tried) == 3
    assert say_bisection(search)[0].startswith("first bad 20, or one of 19 not tried; last good 0")


def test_what_moved_along_and_what_was_skipped_is_said() -> None:
    tried = {
        "1": Probed("bad", "", {"saver": "1.0", "core": "3"}),
        "2": Probed("skip", "no environment"),
        "3": Probed("good", "", {"saver": "2.0", "core": "3"}, another=True),
    }
    search = Bisection(list(tried), tried.__getitem__)
    search.search()
    assert say_bisection(search) == [
        "first fixed 3, or one of those skipped: 2; last bad 1 (another finding shows in 3) (moved along: saver 1.0 → 2.0)",
    ]
