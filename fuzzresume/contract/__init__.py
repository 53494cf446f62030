"""The domain: workload, commands, observations, reference semantics, monitor, properties, trace format (docs/CONTRACT.md).

Everything may import it; it imports nothing else of fuzzresume. Pure: no processes, no framework, no Hypothesis, no clock.
The modules that a worker loads (`workload`, `commands`, `observation`) use the standard library only.
"""
