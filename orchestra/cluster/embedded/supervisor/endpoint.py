"""Whether a server answers on a Unix socket."""

from __future__ import annotations

import socket
from typing import Literal


def probe(path: str, *, timeout: float = 1.0) -> Literal["answers", "loading", "silent"]:
    """One PING. A server that reads its data back says so; any other answer, even an error, means it is there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            client.connect(path)
            client.sendall(b"PING\r\n")
            reply = client.recv(128)
        except OSError:
            return "silent"
    if not reply:
        return "silent"
    return "loading" if reply.startswith(b"-LOADING") else "answers"
