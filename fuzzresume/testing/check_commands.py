"""The commands beside start and resume, and the capabilities that stand for them."""

from __future__ import annotations

from fuzzresume.contract.commands import ELSEWHERE, TAMPER_KINDS, Command, CrashPoint
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.testing.check_plain import same
from fuzzresume.testing.lab import Lab, Trial
from fuzzresume.testing.result import Fails, Inapplicable, NotExpressed
from fuzzresume.testing.traces import DEFAULT, GATES, plain
from fuzzresume.testing.views import difference, views

NO_DAMAGE = "no-such-damage"
"""A kind of damage that no adapter can declare."""


def check_inspect(lab: Lab) -> str:
    """Inspection writes nothing: it moves neither frontier nor head, and what follows goes on as if nobody had looked."""
    looks = [Command("inspect"), *([Command("inspect", kind=ELSEWHERE)] if lab.can.durable else [])]
    acted = looked = 0
    with lab.open(DEFAULT) as trial:
        kept = Trial(trial.session)
        for command in plain(DEFAULT):
            kept.seen.append(trial.send(command))
            kept.sent.append(command)
            for look in looks:
                try:
                    seen = trial.send(look)
                except NotExpressed as reason:
                    raise Inapplicable(reason.why) from reason
                looked += 1
                # An engine that runs tasks when it is looked at is a finding, and no slip of the adapter.
                acted += bool(seen.entries)
                if not seen.entries and (seen.before.done, seen.before.head) != (seen.after.done, seen.after.head):
                    raise trial.fails("nothing ran, and yet the store's frontier or head has moved")
    if acted:
        return f"{acted} of {looked} inspections ran tasks, which is a finding about the framework"
    same(lab.plain(DEFAULT), kept, hooks=False, what="after inspections the run goes on in another way")
    return f"{looked} inspections"


def check_reload(lab: Lab) -> str:
    """A reload loses what is in memory and nothing else: the run goes on as one does whose store was copied elsewhere."""
    begin, *answers = plain(DEFAULT)
    with lab.open(DEFAULT) as trial:
        trial.send(begin)
        for answer in answers:
            _reload(trial)
            with trial.copied(lab.folder()) as copy:
                copy.send(answer)
            trial.send(answer)
            same(copy, trial, hooks=lab.can.deterministic, what="a copy of the store goes on in another way than the store")
        _reload(trial)
    return f"{len(answers) + 1} reloads"


def _reload(trial: Trial) -> None:
    seen = trial.send(Command("reload"))
    if seen.entries or (seen.before.done, seen.before.head) != (seen.after.done, seen.after.head):
        raise trial.fails("the end of a life has moved the store: what SIGKILL would have lost was written by close")


def check_addresses(lab: Lab) -> str:
    """The opaque address that came with a question comes back to the framework as it was."""
    if not lab.can.addressed:
        with lab.open(DEFAULT) as trial:
            trial.send(Command("start"))
            refused(trial, plain(DEFAULT, at="question")[1])
        raise Inapplicable("not declared, and refused")
    for workload in (DEFAULT, GATES):
        latest = lab.plain(workload)
        with lab.open(workload) as trial:
            for index, command in enumerate(plain(workload, at="question")):
                trial.send(command)
                apart = difference(views(latest.seen[: index + 1], hooks=False), trial.views(hooks=False))
                if apart is not None:
                    raise trial.fails(f"addressed by its question an answer leads elsewhere, in {apart[1]}")
    return "in 2 workloads"


def check_retry(lab: Lab) -> str:
    """A process that saw an exception can try again where that is declared, and only there."""
    failing = Command("start", crash=CrashPoint("effect.before:1", by="exception"))
    with lab.open(DEFAULT) as trial:
        trial.send(failing)
        if not lab.can.retry:
            refused(trial, Command("retry"))
            raise Inapplicable("not declared, and refused")
        return f"the second attempt ends {trial.send(Command('retry')).outcome.kind}"


def check_schema(lab: Lab) -> str:
    """An invalid update reaches the framework where a schema is declared, and only there can one be planted."""
    with lab.open(DEFAULT) as trial:
        poisoned = Command("start", poison=1)
        if not lab.can.schema:
            refused(trial, poisoned)
            raise Inapplicable("not declared, and refused")
        seen = trial.send(poisoned)
        if 1 not in [mark.task for mark in seen.effects]:
            raise trial.fails("the task that returns the invalid update was not run")
        return f"a start with an invalid update ends {seen.outcome.kind}"


def check_tamper(lab: Lab) -> str:
    """Each kind of damage that is declared changes the store, and every other kind raises Unsupported."""
    for kind in TAMPER_KINDS:
        with lab.open(DEFAULT) as trial:
            trial.send(Command("start"), Command("reload"))
            before = trial.session.standing().store
            damage = Command("tamper", kind=kind)
            if kind not in lab.can.tamper:
                refused(trial, damage)
                continue
            seen = trial.send(damage)
            if seen.entries:
                raise trial.fails("damage was done by running tasks")
            if before is not None and trial.session.standing().store == before:
                raise trial.fails("the store is what it was before")
            trial.send(Command("recover"))
    store = Store(lab.plain(DEFAULT).session.folder / "store", lab.target.options, DEFAULT)
    try:
        lab.target.adapter.tamper(store, NO_DAMAGE)
    except Unsupported:
        pass
    except Exception as error:
        raise Fails(f"tamper raises {type(error).__name__}, not Unsupported, for a kind that there is not") from error
    else:
        raise Fails("tamper accepts a kind of damage that there is not")
    if not lab.can.tamper:
        raise Inapplicable("not declared, and refused")
    return ", ".join(lab.can.tamper)


def refused(trial: Trial, command: Command) -> None:
    """Raise Fails unless the command raises Unsupported, as what no capability declares must."""
    try:
        trial.send(command)
    except NotExpressed:
        return
    raise trial.fails("no capability declares this, and yet it is not refused as Unsupported")
