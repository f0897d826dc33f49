"""Which host serves a thread, by rendezvous hashing (highest random weight).

Each thread stays where it is when hosts come and go, apart from those of the host that went.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def order(thread: str, hosts: Sequence[str]) -> list[str]:
    """The hosts for a thread, the first choice first; the same for every program."""
    return sorted(hosts, key=lambda host: _weight(thread, host), reverse=True)


def _weight(thread: str, host: str) -> bytes:
    return hashlib.blake2b(f"{thread}\x1f{host}".encode(), digest_size=8).digest()
