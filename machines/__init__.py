"""Hypothesis state machines, one a plane of the contract (installed as `fuzzresume.machines`).

A machine draws commands, a session executes them on the real framework, the monitor judges. Subclass one for a workload or a
target of your own. May import harness and contract; only campaign, report and the command line may import it.
"""

from fuzzresume.machines.linear import LinearMachine, Violated

__all__ = ["LinearMachine", "Violated"]
