"""Floor 3: pure functions from the log to the prompt."""
