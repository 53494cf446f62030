"""A campaign: phases, budget, grouping of findings, minimiser; its only way out is a stream of typed events.

Report and command line may import it; it imports contract, harness, adapters and `fuzzresume.machines`. It prints nothing
and names no framework.
"""
