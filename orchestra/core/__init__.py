"""Floor 0: messages, events, errors, definitions. No I/O."""
