"""Searching the archive and what was said: by words, by meaning, and by both."""
