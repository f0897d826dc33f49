"""A server that comes with the package: one per data directory, alive while somebody uses it."""

from orchestra.cluster.embedded.keeping import Stopped, keep, stop, unkeep
from orchestra.cluster.embedded.server import Durability, EmbeddedServer
from orchestra.cluster.embedded.status import ServerStatus, status

__all__ = ["Durability", "EmbeddedServer", "ServerStatus", "Stopped", "keep", "status", "stop", "unkeep"]
