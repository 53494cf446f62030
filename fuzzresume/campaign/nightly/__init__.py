"""A night: campaigns of several targets within one time, and what changed since the last night.

Read `config` (what a team writes down), `night` (what is done), `store` (what the corpus database holds of it), then `facts`
and `diff` (what that says). It imports the campaign and the corpus database, and neither imports it.
"""
