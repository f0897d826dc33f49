"""Which host serves a thread."""

from __future__ import annotations

from collections import Counter

from orchestra.cluster.rendezvous import order

HOSTS = [f"primary-{number}" for number in range(4)]
THREADS = [f"agent|session-{number}" for number in range(2000)]


def test_the_order_does_not_depend_on_how_the_hosts_are_listed() -> None:
    assert all(order(thread, HOSTS) == order(thread, HOSTS[::-1]) for thread in THREADS[:50])


def test_threads_are_spread_evenly() -> None:
    counts = Counter(order(thread, HOSTS)[0] for thread in THREADS)
    assert set(counts) == set(HOSTS)
    assert max(counts.values()) < 1.2 * min(counts.values())


def test_only_the_threads_of_the_host_that_went_move() -> None:
    for thread in THREADS[:500]:
        first, second = order(thread, HOSTS)[:2]
        assert order(thread, [host for host in HOSTS if host != "primary-2"])[0] == (
            second if first == "primary-2" else first
        )
