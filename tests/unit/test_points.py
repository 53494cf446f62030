"""Bisecting crash points: one for each state that a death can leave."""

from fuzzresume.campaign.points import CrashPoints
from fuzzresume.contract.menu import Label

START = Label("start")
DYING = START._replace(crash=True)
HOOKS = tuple(f"write.after:{n}" for n in range(1, 33))
STATE = ("a state",)


def tried(points, outcome):
    """Die at every point that is worth it; `outcome` says where the n-th hook's death leads."""
    found, came = {}, {}
    while ahead := points.untried(STATE, DYING, came):
        n = int(ahead[0].hook.rpartition(":")[2])
        found[n] = came[ahead[0]] = outcome(n)
    return found


def learnt():
    points = CrashPoints(dict)
    points.passed(STATE, START, HOOKS)
    return points


def test_every_state_is_found_with_few_deaths():
    found = tried(learnt(), lambda n: (n > 3) + (n > 4) + (n > 20))
    assert set(found.values()) == {0, 1, 2, 3}
    assert len(found) < 16


def test_a_violation_is_a_state_of_its_own():
    assert None in tried(learnt(), lambda n: None if n == 17 else n > 16).values()


def test_one_state_costs_two_deaths():
    assert tried(learnt(), lambda n: "the same") == {1: "the same", 32: "the same"}


def test_where_durable_things_come_and_go_every_point_is_tried_in_the_end():
    """A lock that is held at hooks 11 to 14 alone lies between points that lead to one state."""
    assert set(tried(learnt(), lambda n: 11 <= n <= 14).values()) == {False}
    points = CrashPoints(dict, monotone=False)
    points.passed(STATE, START, HOOKS)
    found = tried(points, lambda n: 11 <= n <= 14)
    assert set(found.values()) == {False, True} and len(found) == len(HOOKS)
    assert list(found)[:3] == [32, 1, 16]


def test_exceptions_are_tried_after_kills():
    points = CrashPoints(dict)
    points.passed(STATE, START, ("effect.before:1", "effect.after:1"))
    came = {}
    while ahead := points.untried(STATE, DYING, came):
        came[ahead[0]] = "the same"
    assert [point.by for point in came] == ["kill", "kill", "exception", "exception"]


def test_an_exception_is_there_for_each_task():
    """Which task it strikes says what it can leave behind, so a search picks by the task."""
    points = CrashPoints(dict)
    points.passed(STATE, START, ("effect.before:1", "effect.after:1", "effect.before:2", "effect.after:2"))
    ahead = points.untried(STATE, DYING, {})
    assert [(point.by, point.hook) for point in ahead] == [
        ("kill", "effect.after:2"),
        ("exception", "effect.after:2"),
        ("exception", "effect.before:1"),
    ]


def test_a_state_that_was_never_passed_takes_the_catalogue():
    points = CrashPoints(lambda: {"start": tuple(learnt()._points(STATE, DYING))})
    assert points.untried(STATE, DYING, {})
    assert points.untried(STATE, Label("recover", crash=True), {}) == []
