"""`fuzzresume race`, from outside."""

import json

import command_line
import pytest

QUICK = ("--times", "2", "--gate", "0", "--jitter", "0")


def race(*arguments, check):
    done = command_line.run("race", *arguments)
    assert done.returncode == check, done.stdout + done.stderr
    return done


def test_the_engine_serves_one_of_them(tmp_path):
    done = race("reference", "-k", "2,3", *QUICK, "--json", tmp_path / "race.json", check=0)
    assert "8 races, and in none of them more than is owed" in done.stdout
    rows = json.loads((tmp_path / "race.json").read_text())["rows"]
    assert [(row["racers"], row["held"], row["effects"]) for row in rows] == [
        (2, True, [1, 1]), (2, False, [1, 1]), (3, True, [1, 1]), (3, False, [1, 1]),
    ]  # fmt: skip


@pytest.mark.parametrize("over", ["recovery", "forks"])
def test_the_engine_recovers_and_forks_one_at_a_time(over):
    race("reference", "-k", "2", *QUICK, "--over", over, check=0)


def test_langgraph_serves_all_that_are_held(tmp_path):
    done = race("langgraph", "-k", "3", *QUICK, "--json", tmp_path / "race.json", check=1)
    assert "RR-CO-e violated: the effect behind one question fired up to 3 times" in done.stdout
    assert "RR-CO-c violated" in done.stdout
    written = json.loads((tmp_path / "race.json").read_text())
    assert written["rows"][0]["effects"] == written["rows"][0]["told"] == [3, 3]
    assert written["exit_code"] == 1 and set(written["broken"]) == {"CO-e", "CO-c"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("reference", "-k", "9"), "a race has 2 to 8 racers"),
        (("reference", "--gate", "soon"), "--gate soon: write numbers"),
        (("reference", "--over", "lunch"), "it is one of answers, recovery, forks"),
        (("langgraph", "-o", "saver=memory"), "cannot race"),
        (("nobody",), "nobody"),
    ],
)
def test_bad_input_is_one_line(arguments, says):
    done = race(*arguments, *QUICK[:2], check=2)
    assert says in done.stderr and "Traceback" not in done.stderr
