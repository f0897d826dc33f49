"""Floor 2: talking to a model."""
