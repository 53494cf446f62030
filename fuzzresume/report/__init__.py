"""What a person or a program reads: handlers on the campaign's events, each with a pure writer from data to text.

Only the command line may import it; it imports the events of `fuzzresume.campaign` and the types of `fuzzresume.contract`.
It decides no verdict and runs no target.
"""
