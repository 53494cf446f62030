"""A sweep: every crash state of a run, recovered from and judged (docs/DESIGN.md, *Sweeping*).

Read `sweeper` (what is executed), `deaths` (the states that deaths leave), `onward` (what is sent after one), `facts` and
`verdicts` (what that says), `result` (what is reported), then `compare` (two ways to die). It imports the campaign, which
does not import it.
"""
