"""One file a framework: the contract's commands as that framework's calls, and what the framework documents.

Machines, campaign and command line may import it, through target names; it imports `fuzzresume.contract`,
`fuzzresume.harness` and the standard library, and each adapter its own framework, only once its target is asked for.
"""
