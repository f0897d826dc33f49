"""Floor 5: the sleep-time pass."""
