"""What is refused before anything starts."""

from __future__ import annotations

import pytest

from orchestra.cluster.ray_connection import check_server
from orchestra.core.cluster import ClusterConfig, RedisConfig
from orchestra.core.errors import ConfigError


def test_the_embedded_server_is_refused_on_several_machines_with_the_reason() -> None:
    config = ClusterConfig()
    check_server(config, ["10.0.0.1", "10.0.0.1"])
    with pytest.raises(ConfigError, match=r"one machine only.*10\.0\.0\.1, 10\.0\.0\.2.*all machines reach"):
        check_server(config, ["10.0.0.2", "10.0.0.1"])
    check_server(ClusterConfig(redis=RedisConfig(url="redis://somewhere")), ["10.0.0.2", "10.0.0.1"])
