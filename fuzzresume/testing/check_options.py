"""The options that an adapter offers, and what it says of itself under each of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from fuzzresume.contract.commands import TAMPER_KINDS
from fuzzresume.contract.faults import FAULTS
from fuzzresume.harness.adapter import Adapter, Capabilities, on_request
from fuzzresume.harness.target import Target
from fuzzresume.testing.check_plain import raise_first, same
from fuzzresume.testing.judged import judged
from fuzzresume.testing.lab import Lab
from fuzzresume.testing.result import Fails
from fuzzresume.testing.traces import DEFAULT, plain

Options = Mapping[str, str]


def shape_complaint(adapter: Adapter) -> str:
    """What is wrong with the declared options, before any of them is used; "" when nothing is."""
    for key, values in adapter.options.items():
        if not isinstance(values, tuple) or not values or not all(isinstance(value, str) for value in values):
            return f"option {key} has no tuple of values, which are texts: {values!r}"
        if len(set(values)) != len(values):
            return f"option {key} has a value twice: {', '.join(values)}"
    for key, more in on_request(adapter).items():
        if key not in adapter.options:
            return f"on_request has values of {key}, which is no option"
        if drawn := more.keys() & set(adapter.options[key]):
            return f"{key}={min(drawn)} is on request and drawn as well"
    defaults = {key: values[0] for key, values in adapter.options.items()}
    if (complaint := _valid_complaint(adapter, defaults)) or not adapter.valid(defaults):
        return complaint or "the defaults are not valid together"
    return _capabilities_complaint(adapter, defaults)


def check_options(lab: Lab) -> str:
    """Whatever is valid has capabilities that make sense, and each value completes a run in some combination.

    A value that no combination near the present one makes valid is only said: a version of the framework may lack it.
    """
    adapter, base = lab.target.adapter, lab.target.options
    combinations = 0
    for options in _pairs(adapter, base):
        combinations += 1
        if complaint := _valid_complaint(adapter, options):
            raise Fails(f"{_say(options, base)}: {complaint}")
        if adapter.valid(options) and (complaint := _capabilities_complaint(adapter, options)):
            raise Fails(f"{_say(options, base)}: {complaint}")
    if lab.can.other_schedule:
        other = lab.run(DEFAULT, plain(DEFAULT), target=Target(adapter, {**base, **lab.can.other_schedule}))
        same(lab.plain(DEFAULT), other, hooks=False, what="other_schedule decides something")
    undrawn, values = [], 0
    for key, offered in adapter.options.items():
        for value in offered:
            if value == base[key]:
                continue
            nearest = next((found for found in _with(adapter, base, key, value) if adapter.valid(found)), None)
            if nearest is None:
                undrawn.append(f"{key}={value}")
                continue
            values += 1
            trial = lab.run(DEFAULT, plain(DEFAULT), target=Target(adapter, nearest))
            raise_first(trial, judged(trial).outcomes, f"{_say(nearest, base)} is valid: ")
    never = f"; valid with none of these, as this is installed: {', '.join(undrawn)}" if undrawn else ""
    return f"{values} further values, {combinations} combinations{never}"


def _pairs(adapter: Adapter, base: Options) -> Iterator[dict[str, str]]:
    """`base`, and `base` with one or two options changed."""
    yield dict(base)
    singles = [(key, value) for key, values in adapter.options.items() for value in values if value != base[key]]
    for key, value in singles:
        yield {**base, key: value}
    for (key, value), (other, its) in itertools.combinations(singles, 2):
        if key != other:
            yield {**base, key: value, other: its}


def _with(adapter: Adapter, base: Options, key: str, value: str) -> Iterator[dict[str, str]]:
    """Combinations with that value, those nearest to `base` first: one more option is changed at most."""
    yield {**base, key: value}
    for other, values in adapter.options.items():
        for its in values:
            if other != key:
                yield {**base, key: value, other: its}


def _valid_complaint(adapter: Adapter, options: Options) -> str:
    try:
        answer: object = adapter.valid(options)
    except Exception as error:
        return f"valid raises {type(error).__name__}: {error}"
    return "" if isinstance(answer, bool) else f"valid answers {answer!r}, which is no bool"


def _capabilities_complaint(adapter: Adapter, options: Options) -> str:
    try:
        can: object = adapter.capabilities(options)
        again = adapter.capabilities(options)
    except Exception as error:
        return f"capabilities raises {type(error).__name__}: {error}"
    if not isinstance(can, Capabilities):
        return f"capabilities answers {can!r}"
    if can != again:
        return "capabilities answers another thing the second time"
    if can.fork == "":
        return 'fork is "": say its discriminator in words, or None where there is none'
    if unknown := [kind for kind in can.tamper if kind not in TAMPER_KINDS]:
        return f"tamper: {unknown[0]!r} is no kind of damage; they are {', '.join(TAMPER_KINDS)}"
    if unknown := [unit for unit in can.units if unit not in ("threads", "coroutines")]:
        return f"units: {unknown[0]!r} is neither threads nor coroutines"
    for name, values in (("other_schedule", can.other_schedule), ("slow", can.slow)):
        if any(key not in adapter.options or value not in adapter.options[key] for key, value in values.items()):
            return f"{name} names an option or a value that there is not: {dict(values)}"
        if not adapter.valid({**options, **values}):
            return f"{name} leads to options that are not valid together: {dict(values)}"
    for documented in can.documented:
        if documented.switch not in FAULTS:
            return f"documented: {documented.switch!r} is no switch of the contract"
        if not (documented.rule and documented.where and documented.version):
            return f"documented: {documented.switch} without a rule, a place or a version"
    return ""


def _say(options: Options, base: Options) -> str:
    changed = [f"{key}={value}" for key, value in options.items() if value != base[key]]
    return ", ".join(changed) or "the options as they are"
