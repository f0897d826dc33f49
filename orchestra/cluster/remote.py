"""What every actor of ours has: methods that are called from elsewhere, and a Ray namespace."""

from __future__ import annotations

from typing import Protocol

import ray


class Remote(Protocol):
    """A method of an actor."""

    def remote(self, *args: object) -> ray.ObjectRef:
        """Call it."""

    def options(self, **options: object) -> Remote:
        """The same with options of the call."""


def ray_namespace(namespace: str) -> str:
    """The Ray namespace of our namespace."""
    return f"orchestra-{namespace}"
