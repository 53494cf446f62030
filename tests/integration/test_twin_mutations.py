"""The comparison with TLC is not blind: change any one rule of the Python reference, and the two are no longer one.

A mutation is a change of the reference's source text, so that it is exactly one rule. When a rule is rewritten its
mutation no longer applies and says so; it then has to be rewritten too.
"""

import gc
import inspect
from dataclasses import dataclass
from types import ModuleType

import pytest

from fuzzresume.contract import life, lives, mechanisms, reference
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.monitor import replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.formal import twin, words
from fuzzresume.formal.replay import Case, Judgement, judge
from fuzzresume.formal.toolchain import Toolchain
from fuzzresume.formal.values import write


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Values have no cycles and live until a test ends: looking for cycles among them takes half of the time."""
    gc.disable()
    yield
    gc.enable()


@dataclass(frozen=True)
class Chosen(twin.Bounds):
    """Bounds for any workload and set of switches, where Plane.tla names but a few."""

    switches: frozenset[str] = NONE

    @property
    def faults(self):
        return (self.switches,)

    @property
    def module(self):
        """The module that names them."""
        return "\n".join(
            (
                "---- MODULE Chosen ----",
                "EXTENDS Graph",
                f"{self.shape} == {{{write(self.gates)}}}",
                f"{self.fault_sets} == {{{write(self.switches)}}}",
                "====",
                "",
            )
        )


def chosen(*gates, switch=None, deliveries=2, **budgets):
    name = " ".join((str(gates), *([switch] if switch else ()), *(f"{k}={n}" for k, n in budgets.items())))
    switches = frozenset({switch} if switch else ())
    return Chosen(name, "ChosenShape", gates, "ChosenFaults", deliveries=deliveries, switches=switches, **budgets)


GATE_FIRST, DEFAULT = (next(b for b in twin.COMPARED if b.name == name) for name in ("gate-first", "default"))


def single(switch):
    """The part of the bounds `single-faults` that one switch is."""
    return chosen(1, 0, switch=switch, marks=2)


TWO_CRASHES = chosen(0, 1, switch="ReexecLast", crashes=2, deliveries=0, marks=4)

MUTATIONS = {
    "an acknowledged answer stays in flight": (life, "acked=acked, inflight=(), ", "acked=acked, ", GATE_FIRST),
    "a crash while parked leaves the run crashed": (
        life,
        'if last is None and branch.status == "parked" and delivered is None',
        "if False",
        GATE_FIRST,
    ),
    "a record in doubt is never hidden": (life, "last.tokens)), True", "last.tokens)), False", GATE_FIRST),
    "an answer that a crash left in doubt never reached the store": (
        life,
        "return waiting, waiting._replace(answers=without_answer(branch.answers, delivered))",
        "return (waiting._replace(answers=without_answer(branch.answers, delivered)),)",
        GATE_FIRST,
    ),
    "a refused update leaves liveness owed": (life, 'status="crashed", poisoned=True', 'status="crashed"', GATE_FIRST),
    "recovery with nothing durable refuses without saying so": (
        lives,
        'refused, None, Note("recover@nothing-durable", "refused")',
        "refused, None, None",
        GATE_FIRST,
    ),
    "a restart accumulates nothing": (
        reference,
        '("new epoch, accumulated state", branch.marks)',
        '("new epoch, accumulated state", ())',
        GATE_FIRST,
    ),
    "a stray answer to a question in flight is inert": (
        reference,
        "return self._resume(state, command, faults)  # the same call",
        "return self._must_be_inert(state, command, faults, state.branch(command.branch))  #",
        GATE_FIRST,
    ),
    "writing the trunk does not move latest": (
        reference,
        'return state.moves and command.branch == "trunk"',
        "return False",
        GATE_FIRST,
    ),
    "a redelivery must not show its token": (
        reference,
        ' and command.op != "redeliver" else None',
        " else None",
        GATE_FIRST,
    ),
    "a start cannot find the park of a question that nobody was told": (
        reference,
        'if branch.status == "new" or next_question(self.workload, branch) is None:',
        "if True:",
        GATE_FIRST,
    ),
    "a fork keeps the later asked questions": (
        reference,
        "tuple(q for q in trunk.asked if q <= question)",
        "trunk.asked",
        DEFAULT,
    ),
    "a fork forgets that earlier questions were acknowledged": (
        reference,
        "acked=tuple(q for q, _ in earlier)",
        "acked=()",
        DEFAULT,
    ),
    "RestartMix forgets the old tokens": (
        reference,
        "begun._replace(tokens=state.tokens)",
        "begun",
        single("RestartMix"),
    ),
    "TamperAccept compares the frontier": (
        reference,
        "_replace(frontier=None, marks=None)",
        "_replace(marks=None)",
        single("TamperAccept"),
    ),
    "Misroute also serves an answer to its own question": (
        life,
        "if token.question == open_[0] and token != stray:",
        "if False:",
        single("Misroute"),
    ),
    "ForkLeak never replaces the trunk": (mechanisms, "    yield fork\n", "", single("ForkLeak")),
    "a life that runs tasks again never dropped their records": (
        life,
        "stores = (branch, _forgetting(branch, again)) if again else (branch,)",
        "stores = (branch,)",
        TWO_CRASHES,
    ),
    "dropping records drops the marks of an earlier epoch": (
        life,
        "branch.marks[: branch.base], branch.marks[branch.base :]",
        "(), branch.marks",
        TWO_CRASHES,
    ),
    # What follows does not show within twin.COMPARED, nor in the words and traces of test_twin.
    "a fork forgets how many marks a restart left": (
        reference,
        "            base=trunk.base,\n",
        "",
        chosen(1, 0, crashes=0, specials=2),
    ),
    "a restart with nothing durable keeps what is in flight": (
        reference,
        "answers=(), acked=(), inflight=(), asked=()",
        "answers=(), acked=(), asked=()",
        chosen(1, 0, crashes=2, deliveries=1),
    ),
    "a dropped record stays hidden": (
        life,
        "hidden=tuple(t for t in branch.hidden if t not in tasks)",
        "hidden=branch.hidden",
        TWO_CRASHES,
    ),
    "DoubleConsume starts at the first durable task only": (
        mechanisms,
        "for i, first in enumerate(durable):",
        "for i, first in enumerate(durable[:1]):",
        chosen(0, 1, 0, switch="DoubleConsume", marks=3),
    ),
    "LateRecord loses one record at most": (
        life,
        'fewest = 0 if "LateRecord"',
        'fewest = max(len(records) - 1, 0) if "LateRecord"',
        chosen(1, 0, 0, switch="LateRecord", marks=3),
    ),
    "ForkIgnore serves no answer to later questions": (
        mechanisms,
        "for n in range(len(later) + 1):",
        "for n in range(1):",
        chosen(0, 2, 0, switch="ForkIgnore", deliveries=3, crashes=0),
    ),
}
"""By what is changed: the module, its text, the text instead, and the bounds within which it shows."""

ALL_BOUNDS = tuple(dict.fromkeys(bounds for *_, bounds in MUTATIONS.values()))


def mutant(module, old, new):
    """The class Reference with one text of the modules that state the relation replaced."""
    copies = {}
    for original in (life, lives, mechanisms, reference):
        source = inspect.getsource(original)
        if original is module:
            assert source.count(old) == 1, "the rule was rewritten: rewrite its mutation"
            source = source.replace(old, new)
        copies[original] = ModuleType(original.__name__)
        exec(compile(source, original.__file__, "exec"), vars(copies[original]))
    for name in ("cut", "finish", "plans", "trajectories"):
        setattr(copies[lives], name, getattr(copies[life], name))
    copies[lives].survivors = copies[mechanisms].survivors
    copies[reference].Lives = copies[lives].Lives
    for name in ("any_plan", "from_any", "ignored", "leaked", "mixed", "survivors"):
        setattr(copies[reference], name, getattr(copies[mechanisms], name))
    return copies[reference].Reference


@pytest.fixture(scope="module")
def toolchain():
    return Toolchain.find()


def tlc_graph(bounds, toolchain):
    if not isinstance(bounds, Chosen):
        return twin.tlc_graph(bounds, toolchain)[0]
    result = toolchain.run("Chosen", bounds.config, extra={"Chosen": bounds.module})
    nodes = {tuple(node): dict(edges) for *node, edges in result.prints}
    return twin.Graph(nodes, result.initial, result.generated)


# All mutations of the same bounds in one test: TLC then runs once for them, in whatever worker.
@pytest.mark.parametrize("bounds", ALL_BOUNDS, ids=lambda bounds: bounds.name)
def test_the_graphs_are_one_until_a_rule_changes(bounds, toolchain):
    theirs = tlc_graph(bounds, toolchain)
    assert twin.compare(twin.python_graph(bounds), theirs) == ()
    mutants = {name: mutant(*change) for name, (*change, within) in MUTATIONS.items() if within == bounds}
    missed = [
        n for n, changed in mutants.items() if not twin.compare(twin.python_graph(bounds, changed(bounds.workload)), theirs)
    ]
    assert mutants and missed == []


# The plane sends nothing pointless, so the graphs do not know what a pointless command does. Words and traces do.

ALPHABET = {
    "a fork at a question that was never asked": (reference, "if question not in trunk.asked:", "if False:"),
    "a damaged store does not reload": (reference, 'if command.op in ("inspect", "reload"):', 'if command.op == "inspect":'),
    "a start although an answer is in flight": (reference, "not branch.done and not branch.inflight", "not branch.done"),
}


# Over the same alphabet, test_twin reads longer words with the reference as it is, and nothing parts.
@pytest.mark.parametrize("name", ALPHABET)
def test_the_words_catch(name, toolchain):
    workload = Workload.linear(2, {1: 1})
    events = words.alphabet(Reference(workload), choices=True)
    changed = mutant(*ALPHABET[name])(workload)
    assert words.parting(words.automaton(changed, events, (NONE,), length=3), toolchain)


DIES = CrashPoint("effect.before:1")
FIRST, SECOND = Question(1, 1), Question(1, 2)
STARTED = (Command("start"), "parked", 0, 0)
UNSENT = {
    "a retry does nothing": (
        reference,
        "        return self._recover(state, command, faults)\n\n    def _recover2",
        "        return iter(())\n\n    def _recover2",
        (STARTED, (Command("retry"), "parked", 0, 0)),
    ),
    "an extra field is not ignored": (
        reference,
        'state.tampered == "extra-field" or ',
        "",
        (STARTED, (Command("tamper", kind="extra-field"), "inert", 0, 0), (Command("recover"), "parked", 0, 0)),
    ),
    "a gate that went on has settled nothing": (
        reference,
        " or _passed(branch, question)",
        "",
        (
            STARTED,
            (Command("resume", Token(FIRST, 1), crash=DIES), "crashed", 0, 0),
            (Command("resume", Token(SECOND, 2), crash=DIES), "crashed", 0, 0),
            (Command("resume", Token(FIRST, 3)), "idle", 0, 0),
        ),
    ),
    "a delivery that acts as a recovery has its update refused by nobody": (
        reference,
        " or way.expect.effects",
        "",
        (
            STARTED,
            (Command("resume", Token(FIRST, 1)), "parked", 0, 0),
            (Command("resume", Token(SECOND, 2), crash=DIES), "crashed", 0, 0),
            (Command("redeliver", Token(FIRST, 1), poison=1), "refused", 1, 0),
        ),
    ),
    "a gate that asked on and died finds no answer stray": (
        reference,
        's.expect.kind == "parked" and not s.expect.effects',
        "False",
        (
            STARTED,
            (Command("resume", Token(FIRST, 1), crash=DIES), "crashed", 0, 0),
            (Command("resume", Token(FIRST, 2)), "parked", 0, 0),
            (Command("resume", Token(SECOND, 3)), "completed", 2, 2),
            (Command("fork", Token(FIRST, 4)), "completed", 2, 2),
        ),
        "StrayPoisons",
    ),
    "the update of what a fault runs again is always looked at": (
        life,
        "elif not step.again:",
        "else:",
        (
            STARTED,
            (Command("resume", Token(FIRST, 1)), "parked", 0, 0),
            (Command("resume", Token(SECOND, 2), crash=DIES), "crashed", 1, 1),
            (Command("recover", poison=1), "completed", 2, 2),
        ),
        "Replay",
    ),
    "a fork that refuses an update shows where its branch is": (
        reference,
        'shows.kind == "refused" or ',
        "",
        (
            STARTED,
            (Command("resume", Token(FIRST, 1)), "parked", 0, 0),
            (Command("fork", Token(SECOND, 2), poison=2), "refused", 2, 0),
        ),
    ),
}
"""What the bounds of graphs and alphabet leave out: commands, and what each shows: its kind, effects and durable tasks."""


def test_the_traces_catch(toolchain):
    workload = Workload.linear(2, {1: 2})
    cases = []
    for module, old, new, commands, *switches in UNSENT.values():
        state, trace, faults = State(), [], frozenset(switches)
        for command, *shown in commands:
            steps = Reference(workload).step(state, command, faults)
            ways = [t for t in steps if [t.expect.kind, len(t.expect.effects), len(t.expect.frontier or ())] == shown]
            step = max(ways, key=lambda way: (way.state.stray is not None, len(way.state.trunk.answers)))
            trace.append((command, words.seen_of(step.expect)))
            state = step.state
        cases.append(Case(workload, tuple(trace), profile=faults))
        assert replay(Reference(workload), trace, faults)
        assert not replay(mutant(module, old, new)(workload), trace, faults)
    assert judge(cases, toolchain) == [Judgement(None)] * len(UNSENT)
