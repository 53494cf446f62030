import pytest

from fuzzresume.contract.commands import Command, CrashPoint, letters, say
from fuzzresume.contract.workload import Question, Token

A = Token(Question(2, 1), 1)
B = Token(Question(2, 1), 2)


@pytest.mark.parametrize(
    "fields, names",
    [
        ({"op": "launch"}, "op"),
        ({"op": "resume"}, "token"),
        ({"op": "start", "token": A}, "token"),
        ({"op": "tamper"}, "kind"),
        ({"op": "tamper", "kind": "burn"}, "kind"),
        ({"op": "resume", "token": A, "at": "moon"}, "at"),
        ({"op": "recover", "branch": "twig"}, "branch"),
    ],
)
def test_a_wrong_command_names_the_field(fields, names):
    with pytest.raises(ValueError, match=f"^{names}:"):
        Command(**fields)


@pytest.mark.parametrize("fields", [("put.before", 1, "exception"), ("put.before", 0), ("put.before", 1, "bolt")])
def test_a_wrong_crash_point(fields):
    with pytest.raises(ValueError):
        CrashPoint(*fields)


def test_words():
    fork = Command("fork", B)
    names = letters((Command("start"), Command("resume", A), fork))
    assert names == {A: "a", B: "b"}
    assert say(fork, names) == "fork(b, gate 2)"
    assert say(Command("resume", A, "question"), names, lambda question: 2) == "resume(a, gate 2 question 1, addressed)"
    died = Command("recover", crash=CrashPoint("put.after", 2), branch="trunk")
    assert say(died, names) == "recover @trunk, killed at put.after (passing 2)"


def test_letters_go_on_after_z():
    commands = tuple(Command("resume", Token(Question(2, 1), i)) for i in range(1, 29))
    assert list(letters(commands).values())[25:] == ["z", "aa", "ab"]
