"""Floor 4: the turn."""
