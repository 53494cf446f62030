"""Scripts and issue drafts: what a plan takes from a trace, what it refuses, and when a script's exit code is believed."""

import ast
import os
import select
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import typer

from fuzzresume.campaign.gallery import gallery
from fuzzresume.cli_repro import folders_of, known, repro
from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.trace import dumps
from fuzzresume.repro.glossary import glossary
from fuzzresume.repro.issue import LOSSES, issue, searches
from fuzzresume.repro.plan import NoScript, Plan
from fuzzresume.repro.recipe import recipe_of
from fuzzresume.repro.script import nearest_first, script
from fuzzresume.repro.verify import judged, requirements_in, verify

HOSTILE = (
    "'",
    '"',
    '"""',
    "\\",
    "\n",
    "\r",
    "\0",
    "\u2028",
    "\u202e",
    "\ud800",
    '""" + boom() + """',
    '"); boom(); ("',
    " ",
    "",
)
"""What must not get into code as it is."""

FORK = next(trace for trace in gallery() if trace.found.id == "FD-2dc830")
KILLED = next(trace for trace in gallery() if trace.found.id == "LV-2af2dd")
RACE = next(trace for trace in gallery() if trace.found.id == "CO-24b0a7")

TOY = """
def open_run():
    {opening}


def start():
    effect(1)
    return {{"outcome": "parked", "asks": ["2.1"], "state": ["1"]}}


def answer(it):
    effect(2, it)
    effect(3)
    return {{"outcome": "completed", "state": ["1", f"2:{{it}}", "3"]}}


def told(run, reply):
    return reply
"""


class ToyRecipe:
    """A framework whose fork is served `served`."""

    def __init__(self, served, opening="return 'a run'"):
        self.served, self.opening = served, opening

    def requirements(self, plan):
        return ("toy==1.0",)

    def program(self, plan):
        return TOY.format(opening=self.opening)

    def call(self, plan, step):
        return {1: "start()", 2: 'answer("a")', 3: f'answer("{self.served}")'}[step.number]


def verdict(tmp_path, recipe):
    """What the script of the fork says of such a framework."""
    path = tmp_path / "repro.py"
    path.write_text(script(FORK, recipe))
    ended = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60)
    return ended.returncode, judged(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.parametrize(
    ("served", "code", "word"),
    [("a", 1, "reproduces"), ("b", 0, "no longer reproduces"), ("c", 3, "cannot tell")],
)
def test_a_script_tells_what_was_seen_from_what_is_right_and_from_anything_else(tmp_path, served, code, word):
    ended, said = verdict(tmp_path, ToyRecipe(served))
    assert (ended, said.word) == (code, word)
    assert f"2:{served}" in said.why


def test_a_script_that_cannot_get_to_its_last_command_cannot_tell(tmp_path):
    ended, said = verdict(tmp_path, ToyRecipe("a", "raise ValueError('no store')"))
    assert (ended, said.word) == (3, "cannot tell")
    assert said.why == "command 1 shows outcome refused, effects [], error ValueError: no store"


def test_a_script_that_stumbles_does_not_end_as_if_it_reproduced(tmp_path):
    ended, said = verdict(tmp_path, ToyRecipe("a", "os._exit(7)"))
    assert (ended, said.word) == (3, "cannot tell") and "exit code 7" in said.why
    path = tmp_path / "broken.py"
    path.write_text(script(FORK, ToyRecipe("a")).replace("def open_run", "import toy_framework\n\n\ndef open_run"))
    ended = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 3 and "ModuleNotFoundError" in ended.stdout


def test_a_call_that_is_not_there_any_more_is_no_refusal(tmp_path):
    """A fork may be refused; but a script that calls what does not exist has not seen a refusal."""

    class Renamed(ToyRecipe):
        def call(self, plan, step):
            return super().call(plan, step) if step.number < 3 else self.served

    assert verdict(tmp_path, Renamed("run.fork()"))[1].words.startswith("cannot tell: neither what was seen nor right")
    assert verdict(tmp_path, Renamed("json.loads('forks are refused')"))[1].word == "no longer reproduces"


@pytest.mark.parametrize(
    "fork",
    [
        "recall('no such key')",
        "{}['no such key']",
        "(_ for _ in ()).throw(ValueError('by a line of the script'))",
        "json.loads('1', parse_int=lambda it: os.open(FOLDER / 'no' / 'such', 0))",
        "json.JSONDecoder(object_hook=1).decode('{}')",
        "outside(OSError(errno.ENOSPC, 'x'))",
        "outside(RuntimeError('database is locked'))",
        "outside(RuntimeError('No space left on device'))",
        "outside(RuntimeError('database or disk is full'))",
    ],
)
def test_a_stumble_of_the_script_or_the_disk_is_no_refusal(tmp_path, fork):
    """`outside` raises in a frame that is not the script's, as a framework does."""

    class Stumbling(ToyRecipe):
        def program(self, plan):
            raising = 'exec(compile("def outside(error):\\n    raise error", "framework", "exec"))'
            return f"{super().program(plan)}\n\n{raising}\n\n\ndef kept():\n    remember('a', recall('b'))\n"

        def call(self, plan, step):
            return super().call(plan, step) if step.number < 3 else fork

    ended, said = verdict(tmp_path, Stumbling("a"))
    refused = "json.JSONDecoder" in fork  # which raises in the library: a refusal like any other
    assert (ended, said.word) == ((0, "no longer reproduces") if refused else (3, "cannot tell"))


def test_a_planted_failure_is_no_stumble(tmp_path):
    """It comes from a line of the script, and where a crash is right it is told so."""
    path = tmp_path / "repro.py"
    source = script(FORK, ToyRecipe("a"))
    for called, code in (("PLANTED.update(failed=True) or [][0]", 0), ("[][0]", 3)):
        failing = source.replace('command(3, lambda run: answer("a"))', f"command(3, lambda run: {called})")
        path.write_text(failing.replace('{"outcome": "refused", "effects": []}', '{"outcome": "crashed", "effects": []}'))
        assert subprocess.run([sys.executable, "-I", str(path)], capture_output=True, timeout=60).returncode == code


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_a_script_that_cannot_print_ends_with_its_code_or_with_3(tmp_path, redirection):
    path = tmp_path / "repro.py"
    path.write_text(script(FORK, ToyRecipe("a")))
    line = f"exec {sys.executable} -I {path} {redirection}"
    told = subprocess.run(line, shell=True, capture_output=True, timeout=60).returncode
    assert told == (3 if "full" in redirection else 1)
    path.write_text(path.read_text().replace("def open_run", "import toy_framework\n\n\ndef open_run"))
    assert subprocess.run(line, shell=True, capture_output=True, timeout=60).returncode == 3


def test_the_last_line_shows_what_would_be_right(tmp_path):
    why = verdict(tmp_path, ToyRecipe("a"))[1].why
    assert why.startswith("outcome completed, effects ['2:a', '3'], ")
    assert "; right would be: outcome completed, effects ['2:b', '3'], state ['1', '2:b', '3']" in why
    assert nearest_first(Plan(RACE))[0]["effects"] == ["2:a", "3"]


def test_an_exit_code_counts_only_with_the_line_that_says_the_same():
    assert judged(1, "reproduces: outcome completed\n", "").word == "reproduces"
    assert judged(1, "Traceback\n", "ImportError: toy\n").words == "unverified: exit code 1: ImportError: toy"
    assert judged(0, "reproduces: outcome completed\n", "").word == "unverified"
    assert judged(None, "", "").word == "unverified"


def test_a_script_says_what_it_needs_and_where_it_cannot_be_had_it_is_unverified(tmp_path):
    path = tmp_path / "repro.py"
    path.write_text(script(FORK, ToyRecipe("a")).replace("toy==1.0", "no-such-package-of-fuzzresume==1.0"))
    assert requirements_in(path.read_text()) == ("no-such-package-of-fuzzresume==1.0",)
    came = verify(path)
    assert came.word == "unverified" and "no environment for no-such-package-of-fuzzresume" in came.why
    with pytest.raises(ValueError, match="no header"):
        requirements_in("print()")
    with pytest.raises(ValueError, match="does not say"):
        requirements_in("# /// script\n# requires-python = '>=3.11'\n# ///\n")


def test_a_plan_reads_the_store_only_where_the_violation_rests_on_it():
    assert not Plan(FORK).reads_store and "recorded" not in Plan(FORK).recorded[3]
    assert Plan(KILLED).reads_store and "recorded" in Plan(KILLED).recorded[2]


def test_a_death_and_a_recovery_begin_new_processes():
    assert [[step.number for step in steps] for steps in Plan(KILLED).processes] == [[1, 2], [3]]
    assert [[step.number for step in steps] for steps in Plan(RACE).processes] == [[1], [2]]


def test_what_was_seen_is_never_among_what_is_right():
    for trace in gallery():
        try:
            plan = Plan(trace)
        except NoScript:
            continue
        assert plan.legal and plan.recorded[len(plan.steps)] not in plan.legal, trace.found.id


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_trace_becomes_code(text):
    changes = {"cls": text, "expected": text, "observed": text}
    hostile = replace(FORK, found=msgspec.structs.replace(FORK.found, **changes))
    for target in (hostile, replace(hostile, target=text)):
        source = script(target, ToyRecipe("a"))
        source.encode()
        assert not any(isinstance(node, ast.Name) and node.id == "boom" for node in ast.walk(ast.parse(source)))
        same_code = ast.parse(source).body[1:], ast.parse(script(FORK, ToyRecipe("a"))).body[1:]
        assert [*map(ast.dump, same_code[0])] == [*map(ast.dump, same_code[1])]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_ends_up_in_code_or_in_requirements_must_be_plain(text):
    crash, turn = CrashPoint(f"effect.before:2{text or ' '}"), Turn(0, f"put.before{text or ' '}")
    killed = replace(FORK.commands[1], crash=crash)
    racing = replace(RACE.commands[1], turns=(turn,))
    racers = replace(RACE.commands[1], racers=(replace(RACE.commands[1].racers[0], crash=crash), RACE.commands[1].racers[1]))
    for hostile in (
        replace(FORK, options={**FORK.options, "api": text}),
        replace(FORK, options={**FORK.options, text: "graph"}),
        replace(FORK, packages={text: "1.0"}),
        replace(FORK, packages={"langgraph": text}),
        replace(FORK, commands=(FORK.commands[0], killed, FORK.commands[2])),
        replace(RACE, commands=(RACE.commands[0], racing)),
        replace(RACE, commands=(RACE.commands[0], racers)),
    ):
        with pytest.raises(NoScript) as said:
            script(hostile, ToyRecipe("a"))
        assert said.value.args[0].isprintable()
    with pytest.raises(NoScript, match="is no package"):
        Plan(replace(FORK, packages={"--index-url=https://example.org langgraph": "1.0"}))


def test_a_trace_without_the_options_of_its_recipe_has_no_script():
    with pytest.raises(NoScript, match="lacks what its recipe needs"):
        script(replace(FORK, options={}))


def test_what_no_script_can_show_is_said():
    with pytest.raises(NoScript, match="replay it with --record"):
        Plan(replace(FORK, seen=()))
    with pytest.raises(NoScript, match="under different schedules"):
        Plan(replace(FORK, commands=(Command("start"), Command("recover2"), FORK.commands[2])))
    with pytest.raises(NoScript, match="threads"):
        Plan(replace(RACE, commands=(RACE.commands[0], replace(RACE.commands[1], unit="threads"))))
    with pytest.raises(NoScript, match="no recipe"):
        recipe_of("mutant")


def test_an_issue_holds_what_a_maintainer_needs():
    source = script(FORK, ToyRecipe("a"))
    text = issue(
        FORK,
        source,
        diagram="sequenceDiagram",
        verified="reproduces: x",
        stated=["a weaker rule (page, 1.2)"],
        alike=["toy 1"],
    )
    assert text.startswith("# langgraph: a fork was not served its own answer\n")
    for part in ("langgraph 1.2.9", "3. fork(b, gate 2)", FORK.found.observed, "RR-FD", "FD-2dc830"):
        assert part in text
    for one in FORK.found.expected.split(" — or — "):
        assert f"\n- {one}\n" in text
    assert text.index(LOSSES["FD"]) < text.index("## Steps")
    for part in (
        "```mermaid\nsequenceDiagram\n```",
        source.rstrip(),
        "*reproduces: x*",
        "a weaker rule (page, 1.2)",
        "- toy 1",
    ):
        assert part in text
    assert "No script: none" in issue(FORK, "none", diagram="d", verified="unverified")


def drafted(trace, **more):
    return issue(trace, "none", diagram="d", verified="unverified", **more)


def test_what_is_to_be_done_before_filing_is_not_pasted_along():
    text = drafted(FORK, alike=[*known(FORK), "odd --> name"])
    shown, _, hidden = text.partition("<!--")
    assert hidden.endswith("-->\n") and hidden.count("-->") == 1
    for part in ("time travel", "langchain-ai/langgraph#6663 (", "fuzzresume bisect FD-2dc830"):
        assert part in hidden and part not in shown


def test_an_issue_explains_the_words_that_occur_in_it_and_no_others():
    text = drafted(FORK)
    assert "`resume(a, gate 2)` sends the answer a to gate 2" in text and "`2(b)` is the effect of task 2" in text
    assert "the frontier is" in text and "a fork goes back" in text
    for word in ("stray", "redeliver", "tamper", "SIGKILL", "racer", "question"):
        assert word not in text.partition("Words used: ")[2].partition("\n")[0], word
    assert "in a race, `1 to effect.after:2` lets racer 1" in drafted(RACE)
    assert glossary(["start", "completed; effects: 1 (see https://example.org/2.14/)"]) == ""
    assert "SIGKILL" in glossary(["recover, killed at put.before"]) and "`tamper(empty)`" in glossary(["tamper(empty)"])


def test_one_task_is_not_several():
    one = replace(FORK, workload=replace(FORK.workload, tasks=FORK.workload.tasks[:1]), commands=FORK.commands[:1], seen=())
    assert "The program has 1 task. It fires" in drafted(one)
    assert "The program has 3 tasks in a row. Each fires" in drafted(FORK)


def test_searches_are_for_what_was_done():
    assert searches(RACE) == ["concurrent invoke same thread duplicate"]
    parked = replace(FORK, commands=(Command("start"), Command("recover")))
    assert searches(parked) == ["invoke None after interrupt"]
    assert "resume after crash" in searches(
        replace(parked, commands=(Command("start", crash=CrashPoint("x")), Command("recover")))
    )


def test_hostile_words_stay_on_their_line_in_an_issue():
    found = msgspec.structs.replace(FORK.found, cls="a\n\n# b\0", observed="c\n1. d")
    text = drafted(replace(FORK, found=found))
    assert text.startswith("# langgraph: a # b\n") and "\nc 1. d\n" in text


def identified(identity, trace=FORK, **more):
    return replace(trace, found=msgspec.structs.replace(trace.found, id=identity), **more)


@pytest.mark.parametrize(
    "identity", ["", "..", "../../UP", "/tmp/absolute", "a/b", ".hidden", "-o", "a\nb", "a\0", "x" * 300]
)
def test_an_id_that_is_no_name_of_a_folder_is_refused(tmp_path, identity, capsys):
    file = tmp_path / "trace.json"
    file.write_bytes(dumps(identified(identity)))
    with pytest.raises(typer.Exit) as ended:
        repro([file], tmp_path / "out", verified=False)
    assert ended.value.exit_code == 2 and not (tmp_path / "out").exists()
    assert "".join(capsys.readouterr().err.split()).endswith("cannotbethenameofafinding'sfolder")


def test_findings_of_one_id_do_not_overwrite_each_other():
    newer = replace(FORK, packages={"langgraph": "2.0"})
    other = replace(newer, options={"api": "functional"})
    out = Path("out")
    assert list(folders_of([FORK, FORK], out)) == [out / "FD-2dc830"]
    assert list(folders_of([FORK, newer, other, RACE], out)) == [
        out / "langgraph-1.2.9" / "FD-2dc830",
        out / "langgraph-2.0" / "FD-2dc830",
        out / "langgraph-2.0" / "FD-2dc830-2",
        out / "CO-24b0a7",
    ]
    with pytest.raises(typer.Exit):
        folders_of([FORK, replace(FORK, target="../up")], out)


def test_a_trace_without_what_was_seen_still_gets_its_draft(tmp_path):
    file = tmp_path / "trace.json"
    file.write_bytes(dumps(replace(FORK, seen=())))
    with pytest.raises(typer.Exit) as ended:
        repro([file], tmp_path / "out", verified=True)
    folder = tmp_path / "out" / "FD-2dc830"
    assert ended.value.exit_code == 3 and not (folder / "repro.py").exists()
    assert "No script: the trace does not say what was found and seen" in (folder / "ISSUE.md").read_text()


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """Scripts that `verify` runs with this interpreter; nothing is built."""

    class Here:
        python = Path(sys.executable)

    monkeypatch.setattr("fuzzresume.repro.verify.environment_of", lambda script: Here)
    return tmp_path / "repro.py"


def test_output_that_is_no_text_is_judged_all_the_same(bare):
    bare.write_text("import os, sys\nos.write(1, b'\\xff\\nreproduces: \\xfe\\n')\nsys.exit(1)\n")
    came = verify(bare)
    assert (came.word, came.why) == ("reproduces", "\ufffd")


def test_a_script_that_a_signal_ends_is_unverified(bare):
    bare.write_text("import os\nprint('reproduces: x', flush=True)\nos.kill(os.getpid(), 9)\n")
    assert verify(bare).words == "unverified: exit code 137: reproduces: x"


def test_nothing_of_a_script_stays_in_the_folder_for_temporary_files(bare, tmp_path):
    left = tmp_path / "left"
    saying = f"import pathlib, tempfile\nname = tempfile.mkstemp()[1]\npathlib.Path({str(left)!r}).write_text(name)\n"
    bare.write_text(saying + "print('no longer reproduces: x')\n")
    assert verify(bare).word == "no longer reproduces" and not Path(left.read_text()).exists()


def test_nothing_of_a_script_outlives_a_verification_that_is_killed(bare):
    """The script's child holds a pipe open for writing; its other end is read to the end once the child is gone."""
    alive = bare.with_name("alive")
    os.mkfifo(alive)
    read = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    child = f"import os, signal; os.write(os.open({str(alive)!r}, os.O_WRONLY), b'up'); signal.pause()"
    bare.write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n")
    line = f"from fuzzresume.repro.verify import _run; _run([sys.executable, {str(bare)!r}], {str(bare.parent)!r}, {{}})"
    running = subprocess.Popen([sys.executable, "-c", f"import sys; {line}"])
    assert select.select([read], [], [], 60)[0] and os.read(read, 2) == b"up"
    running.kill()
    running.wait()
    assert select.select([read], [], [], 60)[0] and os.read(read, 2) == b""
    os.close(read)
