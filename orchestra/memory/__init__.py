"""Floor 2: blocks, sessions, state."""
