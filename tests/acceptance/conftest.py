"""One Ray for the whole test run, started the way a user's own program would."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Where the Ray of this test run is. Every runtime of this process joins it and leaves it running."""
    import ray

    before = dict(os.environ)
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=78 << 20,
        namespace="tests",
    )
    for name in set(os.environ) - set(before):
        del os.environ[name]
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
