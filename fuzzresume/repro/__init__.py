"""Scripts that reproduce a finding with nothing but the framework, and the issue drafts around them.

A recipe says how one framework's calls are written; everything else is the same for all. Knows `contract` alone, but for
what a version looks like, and for the verification, which runs a script in an environment of its own.
"""
