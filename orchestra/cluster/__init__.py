"""Floor 6: Ray, the embedded server, the runtime that users start."""
