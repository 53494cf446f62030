"""What is known of targets before they are fuzzed (installed as `fuzzresume.corpus`). Data alone; imports nothing."""
