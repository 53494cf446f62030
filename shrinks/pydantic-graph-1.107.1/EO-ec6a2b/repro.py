# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-graph==1.107.1"]
# ///
"""pydantic-graph: a durable effect fired again

Seen on pydantic-graph 1.107.1 (recipe=docs restart=new-file lock=at-once).

1. start
2. restart, killed at lock.before (passing 5)
3. resume(a, gate 2)

expected  parked at question 2.1; effects: none; frontier: {1} — or — refused; effects: none; frontier: {1} — or — idle;
          effects: none; frontier: {1}
observed  parked at question 2.1; effects: 1; frontier: {1}; durable tasks entered again: {1}

Task t asks question t.1, then t.2, where it asks any, and then fires its effect; a, b, c are answers. Run this with
`uv run repro.py`, or with the packages above installed: exit code 1 while it reproduces, 0 when it no longer does, 3 when it
cannot tell.
"""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path


def cannot_tell(words):
    print(f"cannot tell: {words}", flush=True)
    return 3


def stumble(kind, error, trace):
    """Exit code 1 says that it reproduces, so a script that stumbles must not end with it, even if it cannot print."""
    try:
        sys.__excepthook__(kind, error, trace)
        cannot_tell(f"{kind.__name__}: {error}")
    finally:
        os._exit(3)


sys.excepthook = stumble

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic_graph import BaseNode, End, GraphRunContext
from pydantic_graph.graph import Graph
from pydantic_graph.persistence.file import FileStatePersistence


@dataclass
class State:
    marks: list[str]


@dataclass
class Task1(BaseNode[State, None, list[str]]):
    async def run(self, ctx: GraphRunContext[State, None]) -> "Task2":
        work(ctx.state, 1)
        return Task2()


@dataclass
class Task2(BaseNode[State, None, list[str]]):
    answers: list[str] = field(default_factory=list)

    async def run(self, ctx: GraphRunContext[State, None]) -> "Ask2 | Task3":
        if len(self.answers) < 1:
            return Ask2(self.answers)
        work(ctx.state, 2, *self.answers)
        return Task3()


@dataclass
class Ask2(BaseNode[State, None, list[str]]):
    """The caller stops before it; run without an answer, it asks once more."""

    answers: list[str]

    def question(self):
        return f"2.{len(self.answers) + 1}"

    def answered(self, answer):
        return Task2([*self.answers, answer])

    async def run(self, ctx: GraphRunContext[State, None]) -> "Ask2":
        return Ask2(self.answers)


@dataclass
class Task3(BaseNode[State, None, list[str]]):
    async def run(self, ctx: GraphRunContext[State, None]) -> "End[list[str]]":
        work(ctx.state, 3)
        return End(list(ctx.state.marks))


graph = Graph(nodes=[Task1, Task2, Ask2, Task3])
ASKS = (Ask2,)


def work(state, task, *answers):
    state.marks.append(effect(task, *answers))


class File(FileStatePersistence):
    """The framework's own file, with the points at which a process dies."""

    @asynccontextmanager
    async def _lock(self, *, timeout=1.0):
        reach("lock.before")
        async with super()._lock(timeout=timeout):
            yield


def newest_file():
    """Each input begins a run, which has a file of its own, as the documentation has it."""
    return FOLDER / f"run-{max(numbers('.json'), default=1)}.json"


def next_file():
    return FOLDER / f"run-{max(numbers(''), default=0) + 1}.json"


def numbers(ending):
    return [int(path.name.partition(".")[0].removeprefix("run-")) for path in FOLDER.glob(f"run-*{ending}")]


class Run:
    def __init__(self):
        self.file = File(newest_file())


def open_run():
    return Run()


async def begin(run):
    run.file = File(next_file())
    return await script(run, None)


async def script(run, answer):
    """The documentation's script, which is called with an answer or without."""
    run.file.set_graph_types(graph)
    if snapshot := await run.file.load_next():
        assert answer is not None
        state, node = snapshot.state, snapshot.node
        if isinstance(node, ASKS):
            node = node.answered(answer)
    else:
        state, node = State([]), Task1()
    async with graph.iter(node, state=state, persistence=run.file) as graph_run:
        return await drive(graph_run)


async def drive(graph_run, node=None):
    """Run nodes until the graph ends or the next one is a question."""
    node = await graph_run.next(node)
    while not isinstance(node, (End, *ASKS)):
        node = await graph_run.next()
    return node, graph_run.state


def told(run, call):
    node, state = asyncio.run(call)
    if isinstance(node, ASKS):
        return {"outcome": "parked", "asks": [node.question()], "state": state.marks}
    return {"outcome": "completed", "state": node.data}


def recorded():
    """The tasks whose marks the newest snapshot holds, and its own, once that is recorded as run with success."""
    path = newest_file()
    snapshots = json.loads(path.read_bytes()) if path.exists() else []
    if not snapshots:
        return []
    newest = snapshots[-1]
    node = newest.get("node", {})
    done = {int(mark.partition(":")[0]) for mark in newest["state"]["marks"]}
    ran = (node.get("node_id"), newest.get("status"), len(node.get("answers", ())))
    questions = {1: 0, 2: 1, 3: 0}
    done |= {task for task in questions if ran == (f"Task{task}", "success", questions[task])}
    return sorted(done)


# ---- The commands. Each function is a process of its own; they run one after the other.


def process_1():
    # start
    command(1, lambda run: begin(run))
    # restart, killed at lock.before (passing 5)
    command(2, lambda run: begin(run), dies_at=("lock.before", 5))


def process_2():
    # resume(a, gate 2)
    command(3, lambda run: script(run, "a"))


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"], "recorded": [1]},
    2: {"outcome": "crashed", "effects": ["1"], "recorded": [1]},
    3: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"], "recorded": [1], "shows": []},
}
RIGHT = [
    {"outcome": "parked", "effects": [], "asks": ["2.1"], "recorded": [1], "hides": "a"},
    {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "2:a", "3"], "recorded": [1, 2, 3]},
    {"outcome": "refused", "effects": [], "recorded": [1]},
    {"outcome": "idle", "effects": [], "recorded": [1], "hides": "a"},
    {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "1", "2:a", "3"], "recorded": [1, 2, 3]},
]


# ---- The stage: effects, processes and their deaths, and the comparison.

PASSED, PLANTED, RUN = Counter(), {}, []


def effect(task, *answers):
    reach(f"effect.before:{task}")
    mark = f"{task}:{','.join(map(str, answers))}" if answers else str(task)
    write("effects", {"command": PLANTED["command"], "mark": mark})
    reach(f"effect.after:{task}")
    return mark


def reach(point):
    PASSED[point] += 1
    if (point, PASSED[point]) == PLANTED.get("dies_at"):
        os.kill(os.getpid(), signal.SIGKILL)


def command(number, call, **planted):
    PASSED.clear()
    PLANTED.clear()
    PLANTED.update(planted, command=number)
    try:
        RUN or RUN.append(open_run())
        shown = told(RUN[0], call(RUN[0]))
    except Exception as error:
        if PLANTED.get("failed"):
            shown = {"outcome": "crashed"}
        else:
            shown = {**refused(f"{type(error).__name__}: {error}"), "stumbled": stumbled(error)}
    write("shown", {**planted, **shown, "command": number, "recorded": read_store()})


def stumbled(error):
    """Whether a line of this script raised it, or the disk is in trouble: that is no refusal."""
    trace, words = error.__traceback__, f"{error} {error.__cause__}".lower()
    while trace.tb_next:
        trace = trace.tb_next
    here = trace.tb_frame.f_code.co_filename == __file__
    troubles = ("database is locked", "table is locked", "no space left", "disk is full", "disk full")
    return here or getattr(error, "errno", None) == errno.ENOSPC or any(trouble in words for trouble in troubles)


def refused(words):
    return {"outcome": "refused", "error": " ".join(words.split())}


def write(name, line):
    with open(FOLDER / name, "a") as file:
        file.write(json.dumps(line) + "\n")


def read(name):
    path = FOLDER / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def spawn(name):
    line = [sys.executable, __file__, str(FOLDER), name]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_store():
    """By a process of its own, which knows nothing but the store."""
    said = spawn("print_recorded").communicate(timeout=LIMIT)[0]
    return json.loads(said.splitlines()[-1])


def print_recorded():
    print(json.dumps(recorded()))


def run_process(name, numbers):
    process = spawn(name)
    try:
        process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if process.returncode not in (0, -9):
        sys.exit(cannot_tell(f"{name} ended with exit code {process.returncode}"))
    shown = {line["command"]: line for line in read("shown")}
    for number in numbers:
        if number not in shown:
            write("shown", {"command": number, "outcome": "crashed", "recorded": read_store()})
            return


def answers_in(mark):
    return [answer for answer in mark.partition(":")[2].split(",") if answer]


def compared(shown, effects):
    """A command's line, made comparable with those above."""
    marks = [mark["mark"] for mark in effects if mark["command"] == shown["command"]]
    shown = {"asks": None, "state": None, **shown}
    shown["effects"] = sorted(marks) if shown["outcome"] == "raced" else marks
    if "shows" not in shown:
        shown["shows"] = sorted({answer for mark in shown["state"] or () for answer in answers_in(mark)})
    return shown


def same(wanted, shown):
    return all(shown.get(key) == value for key, value in wanted.items())


def right(wanted, shown):
    wanted = dict(wanted)
    hidden, most = wanted.pop("hides", None), wanted.pop("shows", None)
    return same(wanted, shown) and hidden not in shown["shows"] and (most is None or set(shown["shows"]) <= set(most))


def said(shown):
    keys = ("outcome", "effects", "asks", "state", "recorded", "shows", "hides", "error")
    return ", ".join(f"{key} {shown[key]}" for key in keys if shown.get(key) is not None)


LIMIT = 120  # seconds a process may take before it counts as hung


def main():
    try:
        run_process("process_1", [1, 2])
        run_process("process_2", [3])
    except subprocess.TimeoutExpired:
        return cannot_tell("a process hung")
    effects = read("effects")
    shown = {line["command"]: compared(line, effects) for line in read("shown")}
    for number, seen in SEEN.items():
        if number not in shown:
            return cannot_tell(f"command {number} was not reached")
        if number != 3 and not same(seen, shown[number]):
            return cannot_tell(f"command {number} shows {said(shown[number])}")
    last = shown[3]
    if same(SEEN[3], last):
        print(f"reproduces: {said(last)}; right would be: {said(RIGHT[0])}", flush=True)
        return 1
    if any(right(one, last) for one in RIGHT) and not last.get("stumbled"):
        print(f"no longer reproduces: {said(last)}", flush=True)
        return 0
    return cannot_tell(f"neither what was seen nor right: {said(last)}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        FOLDER = Path(sys.argv[1])
        globals()[sys.argv[2]]()
    else:
        with tempfile.TemporaryDirectory() as folder:
            FOLDER = Path(folder)
            sys.exit(main())
