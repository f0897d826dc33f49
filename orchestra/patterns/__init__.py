"""Swarms and graphs: one engine, and two planners that tell who is next and what it is given."""
