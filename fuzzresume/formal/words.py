"""Every word of events up to a length: the Python reference and TLC must admit the same ones, under every fault switch.

What may follow a word depends only on the worlds that it leaves, so words are compared as an automaton: a node is a set of
worlds. TLC runs its own worlds beside the nodes, and finds the shortest word on which the two part, if there is one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Seen, Sight, World, advance
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Expect, State, Transition
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.formal import encode
from fuzzresume.formal.toolchain import MEDIUM, SAFETY, Toolchain
from fuzzresume.formal.values import Record, wrap, write

Worlds = frozenset[World]
CONFIG = "SPECIFICATION Spec\nINVARIANT NeverPart\n"
START: Worlds = frozenset({World(State())})
TOKENS = encode.Tokens(numbered=True)
KILL = CrashPoint("effect.before:1")


def commands(workload: Workload) -> Iterator[Command]:
    """The commands of the alphabet: every one of the contract, with and without a crash, and a second answer."""
    first, last = workload.questions()[0], workload.questions()[-1]
    yield from (Command(op) for op in ("start", "recover", "recover2", "restart", "inspect", "reload"))
    yield from (Command(op, crash=KILL) for op in ("start", "recover"))
    yield from (Command("resume", token) for token in _tokens(workload))
    yield Command("resume", Token(last, 1), crash=KILL)
    yield Command("resume", Token(last, 1), poison=last.task)
    yield Command("redeliver", Token(first, 1))
    yield Command("stray", Token(last, 2))
    yield Command("fork", Token(first, 2))
    yield Command("recover", branch="trunk")
    yield Command("tamper", kind="truncated")


def _tokens(workload: Workload) -> Iterator[Token]:
    asked: tuple[Question, ...] = workload.questions()
    yield from (Token(question, n) for question in asked for n in ((1, 2) if question == asked[0] else (1,)))


def alphabet(reference: Reference, *, choices: bool) -> tuple[Sight, ...]:
    """The events: those of the shortest violating word of every switch; with `choices`, one for every legal choice too."""
    events: dict[Sight, None] = {}
    for name in SEQUENTIAL:
        events.update(dict.fromkeys(shortest_violation(reference, frozenset({name})) or ()))
    if choices:
        classes: dict[object, Sight] = {}
        for sent, transition in _transitions(reference, depth=4):
            key = transition.note or (sent.op, sent.crash)
            classes.setdefault(key, (sent, seen_of(transition.expect)))
        events.update(dict.fromkeys(classes.values()))
    return tuple(events)


def _transitions(reference: Reference, depth: int) -> Iterator[tuple[Command, Transition]]:
    layer, known = [State()], {State()}
    for _ in range(depth):
        after = []
        for state in layer:
            for sent in commands(reference.workload):
                for transition in reference.step(state, sent):
                    yield sent, transition
                    if transition.state not in known:
                        known.add(transition.state)
                        after.append(transition.state)
        layer = after


def seen_of(expect: Expect) -> Seen:
    """The observation that an expectation describes: a reply that does not show the token."""
    twin = None if expect.twin is None else expect.twin._replace(fresh=None)
    return Seen(expect._replace(fresh=None, twin=twin), frozenset())


def shortest_violation(reference: Reference, faults: Faults, longest: int = 3) -> tuple[Sight, ...] | None:
    """A shortest word that `faults` admit and the contract refuses, or None up to `longest` events."""
    start = (World(State()), START)
    empty: tuple[Sight, ...] = ()
    todo, known = deque([(start, empty)]), {start}
    while todo:
        (broken, legal), word = todo.popleft()
        if len(word) == longest:
            return None
        for sent in commands(reference.workload):
            for onward, transition in advance(reference, [broken], sent, None, faults):
                sight = (sent, seen_of(transition.expect))
                after = _advance(reference, legal, sight, NONE)
                if not after:
                    return (*word, sight)
                if (onward, after) not in known:
                    known.add((onward, after))
                    todo.append(((onward, after), (*word, sight)))
    return None


def _advance(reference: Reference, worlds: Worlds, sight: Sight, faults: Faults) -> Worlds:
    return frozenset(world for world, _ in advance(reference, worlds, *sight, faults))


@dataclass(frozen=True, slots=True)
class Automaton:
    """Python's verdict on every word up to `length` over `events`.

    `children` are, for each node that words go on from, the nodes that its admitted events lead to; the root of each
    fault set is in `roots`. `words` counts the words admitted, by fault set in the order of `roots`.
    """

    workload: Workload
    length: int
    events: tuple[Sight, ...]
    roots: tuple[tuple[Faults, int], ...]
    children: tuple[dict[int, int], ...]
    nodes: int
    words: tuple[int, ...]

    @property
    def verdicts(self) -> int:
        """The number of words judged, each under each fault set."""
        words: int = sum(len(self.events) ** n for n in range(1, self.length + 1))
        return words * len(self.roots)

    def module(self) -> str:
        """The module Automaton, as Words.tla wants it."""
        shape = encode.shape(self.workload)
        rows: dict[Record, list[tuple[int, Record]]] = {}
        for number, (sent, seen) in enumerate(self.events, 1):
            rows.setdefault(encode.command(sent, TOKENS), []).append((number, encode.seen(seen, TOKENS)))
        commands_ = (write((sent, frozenset(events))) for sent, events in rows.items())
        children = (write(frozenset(onward.items())) for onward in self.children)
        return "\n".join(
            (
                "---- MODULE Automaton ----",
                f"Roots == {wrap((write((shape, faults, node)) for faults, node in self.roots), '{', '}')}",
                f"Commands == {wrap(commands_, '{', '}', per_line=1)}",
                f"Children == {wrap(children, '<<', '>>')}",
                "====",
                "",
            )
        )


def automaton(reference: Reference, events: Sequence[Sight], fault_sets: Sequence[Faults], length: int = 6) -> Automaton:
    """Read every word up to `length`, under every fault set."""
    graphs = [_read(reference, events, faults, length) for faults in fault_sets]
    open_ = sum(len(children) for children, _, _ in graphs)
    roots, children, first, leaf = [], [], 1, open_ + 1
    for faults, (graph, nodes, _) in zip(fault_sets, graphs, strict=True):
        # A node that no word goes on from stands behind all others, so that Children is a sequence.
        number = {n: first + n if n < len(graph) else leaf + n - len(graph) for n in range(nodes)}
        children += [{event: number[child] for event, child in onward.items()} for onward in graph]
        roots.append((faults, number[0]))
        first, leaf = first + len(graph), leaf + nodes - len(graph)
    counts = tuple(words for _, _, words in graphs)
    return Automaton(reference.workload, length, tuple(events), tuple(roots), tuple(children), leaf - 1, counts)


def _read(
    reference: Reference, events: Sequence[Sight], faults: Faults, length: int
) -> tuple[list[dict[int, int]], int, int]:
    """The nodes in the order of their shortest words; how many there are; how many words are admitted."""
    numbers: dict[Worlds, int] = {START: 0}
    children: list[dict[int, int]] = []
    layer, paths, words = [START], {0: 1}, 0
    for _ in range(length):
        fresh: list[Worlds] = []
        for worlds in layer:
            onward = {}
            for event, sight in enumerate(events, 1):
                after = _advance(reference, worlds, sight, faults)
                if after:
                    if after not in numbers:
                        numbers[after] = len(numbers)
                        fresh.append(after)
                    onward[event] = numbers[after]
            children.append(onward)
        longer: dict[int, int] = {}
        for node, count in paths.items():
            for child in children[node].values():
                longer[child] = longer.get(child, 0) + count
        layer, paths, words = fresh, longer, words + sum(longer.values())
    return children, len(numbers), words


def parting(automaton: Automaton, toolchain: Toolchain) -> str:
    """What tells TLC from the automaton: TLC's trace to the shortest word on which they part; empty if there is none."""
    result = toolchain.run("Words", CONFIG, extra={"Automaton": automaton.module()}, flags=MEDIUM)
    if result.exit == SAFETY:
        return result.output[result.output.find("Error:") :]
    return "" if result.distinct == automaton.nodes else f"{automaton.nodes} nodes in Python, {result.distinct} in TLC"
