import pytest

from fuzzresume.contract.workload import Mark, Question, Token, Workload


def test_default_bounds():
    workload = Workload.linear()
    assert workload.order == (1, 2, 3)
    assert workload.questions() == (Question(2, 1), Question(2, 2))
    assert workload.questions(1) == ()


@pytest.mark.parametrize("n, gates", [(0, {}), (3, {4: 1}), (3, {2: -1})])
def test_impossible_workloads_are_refused(n, gates):
    with pytest.raises(ValueError, match="linear workload"):
        Workload.linear(n, gates)


def test_unknown_task():
    with pytest.raises(KeyError):
        Workload.linear().task(9)


def test_texts_round_trip():
    token = Token(Question(2, 1), 3, "a=b#c")
    assert Token.parse(token.text) == token
    for mark in (Mark(1), Mark(2, (token.text, "2.2#4=yes"))):
        assert Mark.parse(mark.text) == mark


@pytest.mark.parametrize("text", ["", "yes", "2.1=yes", "x.1#1=yes", "2.1#x=yes"])
def test_broken_token(text):
    with pytest.raises(ValueError):
        Token.parse(text)
