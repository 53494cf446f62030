# /// script
# requires-python = ">=3.11"
# dependencies = ["autogen-agentchat==0.7.5", "autogen-core==0.7.5"]
# ///
"""autogen: a durable effect fired again

Seen on autogen-agentchat 0.7.5, autogen-core 0.7.5 (team=swarm agent=plain policy=park restart=run write=rename).

1. start
2. resume(a, gate 2)
3. recover, exception at effect.after:3
4. retry

expected  completed; effects: 3; final state: 1, 2(a), 3; frontier: {1, 2, 3}; durable tasks entered again: {3} — or —
          completed; effects: 3; final state: 1, 2(a), 3, 3; frontier: {1, 2, 3}; durable tasks entered again: {3} — or
          — completed; effects: 3; final state: 1, 2(a), 3, 3, 3; frontier: {1, 2, 3}; durable tasks entered again: {3}
observed  idle; effects: 3; frontier: {1, 2, 3}; durable tasks entered again: {3}

Task t asks question t.1, then t.2, where it asks any, and then fires its effect; a, b, c are answers. Run this with
`uv run repro.py`, or with the packages above installed: exit code 1 while it reproduces, 0 when it no longer does, 3 when it
cannot tell.
"""

import errno
import json
import os
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
import logging

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import HandoffTermination, StopMessageTermination
from autogen_agentchat.messages import HandoffMessage, StopMessage
from autogen_agentchat.teams import Swarm

logging.getLogger("autogen_core").setLevel(logging.CRITICAL + 1)  # it logs an agent's exception, which then comes out anyway


class Worker(BaseChatAgent):
    """Does a task: it asks the user its questions, one a turn, fires its effect, and hands over to the next agent."""

    def __init__(self, task, questions=0, then=None):
        super().__init__(f"t{task}", f"does task {task}")
        self.task, self.questions, self.then = task, questions, then
        self.answers, self.asked = [], False

    @property
    def produced_message_types(self):
        return (HandoffMessage, StopMessage)

    async def on_messages(self, messages, cancellation_token):
        for message in messages:
            if message.source == "user" and self.asked:
                self.answers.append(message.content)
                self.asked = False
        return Response(chat_message=self.turn())

    def turn(self):
        if len(self.answers) < self.questions:
            self.asked = True
            return HandoffMessage(source=self.name, target="user", content=f"{self.task}.{len(self.answers) + 1}")
        mark = effect(self.task, *self.answers)
        report = {"source": self.name, "content": mark, "metadata": {"mark": mark}}
        return HandoffMessage(target=self.then, **report) if self.then else StopMessage(**report)

    async def on_reset(self, cancellation_token):
        self.answers, self.asked = [], False

    async def save_state(self):
        return {"answers": self.answers, "asked": self.asked}

    async def load_state(self, state):
        self.answers, self.asked = state["answers"], state["asked"]


def build_team():
    ends = HandoffTermination("user") | StopMessageTermination()
    agents = [
        Worker(1, then="t2"),
        Worker(2, questions=1, then="t3"),
        Worker(3),
    ]
    return Swarm(agents, termination_condition=ends)


class Run:
    """A process's view of the run: the team, its event loop, and the file in which the caller keeps its state."""

    def __init__(self):
        self.file = FOLDER / "team_state.json"
        self.loop, self.team, self.state = asyncio.Runner(), build_team(), None

    def load(self):
        """As the documentation says: a new team takes the state that was saved."""
        self.team = build_team()
        self.loop.run(self.team.load_state(json.loads(self.file.read_text())))
        return self

    def run(self, task=None):
        return self.loop.run(self.run_and_save(task))

    async def run_and_save(self, task):
        result = await self.team.run(task=task)
        self.state = await self.team.save_state()
        self.save()
        return result

    def save(self):
        self.file.write_text(json.dumps(self.state))


def reply(text, agent):
    return HandoffMessage(source="user", target=agent, content=text)


def open_run():
    return Run()


def told(run, result):
    last, reason = (result.messages or [None])[-1], result.stop_reason or ""
    if reason.startswith("Handoff to user") and isinstance(last, HandoffMessage):
        return {"outcome": "parked", "asks": [last.content], "state": marks(run.state)}
    completed = reason == "Stop message received"
    return {"outcome": "completed" if completed else "idle", "state": marks(run.state)}


def marks(state):
    """The reports in a team's conversation."""
    conversation = state["agent_states"]["SwarmGroupChatManager"]["message_thread"]
    return [message["metadata"]["mark"] for message in conversation if "mark" in message["metadata"]]


# ---- The commands. Each function is a process of its own; they run one after the other.


def process_1():
    # start
    command(1, lambda run: run.run("go"))
    # resume(a, gate 2)
    command(2, lambda run: run.run(reply("a", "t2")))


def process_2():
    # recover, exception at effect.after:3
    command(3, lambda run: run.load().run(), fails_at=("effect.after:3", 1))
    # retry
    command(4, lambda run: run.run())


# ---- What each command showed, and what would have been right of the last one.

SEEN = {
    1: {"outcome": "parked", "effects": ["1"], "asks": ["2.1"]},
    2: {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "2:a", "3"]},
    3: {"outcome": "crashed", "effects": ["3"]},
    4: {"outcome": "idle", "effects": ["3"]},
}
RIGHT = [
    {"outcome": "completed", "effects": ["3"], "state": ["1", "2:a", "3"]},
    {"outcome": "completed", "effects": ["3"], "state": ["1", "2:a", "3", "3"]},
    {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "2:a", "3"]},
    {"outcome": "completed", "effects": ["2:a", "3"], "state": ["1", "2:a", "2:a", "3"]},
    {"outcome": "completed", "effects": ["3"], "state": ["1", "2:a", "3", "3", "3"]},
    {"outcome": "completed", "effects": [], "state": ["1", "2:a", "3"]},
    {"outcome": "refused", "effects": []},
    {"outcome": "completed", "effects": [], "state": ["1", "2:a", "3", "3"]},
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
    if (point, PASSED[point]) == PLANTED.get("fails_at"):
        PLANTED["failed"] = True
        raise RuntimeError("the task fails")


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
    write("shown", {**planted, **shown, "command": number})


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
            write("shown", {"command": number, "outcome": "crashed"})
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
    keys = ("outcome", "effects", "asks", "state", "recorded", "error")
    return ", ".join(f"{key} {shown[key]}" for key in keys if shown.get(key) is not None)


LIMIT = 120  # seconds a process may take before it counts as hung


def main():
    try:
        run_process("process_1", [1, 2])
        run_process("process_2", [3, 4])
    except subprocess.TimeoutExpired:
        return cannot_tell("a process hung")
    effects = read("effects")
    shown = {line["command"]: compared(line, effects) for line in read("shown")}
    for number, seen in SEEN.items():
        if number not in shown:
            return cannot_tell(f"command {number} was not reached")
        if number != 4 and not same(seen, shown[number]):
            return cannot_tell(f"command {number} shows {said(shown[number])}")
    last = shown[4]
    if same(SEEN[4], last):
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
