"""The process that owns one embedded server. Everything below here uses the standard library only.

It is started by path, not through the packages above it, so that a small process which lives for days does not import
(and keep in memory) what a user's program needs; imports in here are therefore relative.
"""
