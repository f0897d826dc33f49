"""Environment variables that stand over configuration files and under the command line."""

from __future__ import annotations

from collections.abc import Mapping

from orchestra.core.document import Document, KeyPath
from orchestra.core.errors import ConfigError

CLUSTER_VARIABLES: Mapping[str, KeyPath] = {
    "ORCHESTRA_NAMESPACE": ("namespace",),
    "ORCHESTRA_RAY_ADDRESS": ("ray", "address"),
    "ORCHESTRA_REDIS_URL": ("redis", "url"),
}
MODEL_VARIABLE = "ORCHESTRA_MODEL"


def cluster_from_environment(document: Document, environment: Mapping[str, str]) -> Document:
    """The cluster's document with what the environment says. An empty variable says nothing."""
    for name, path in CLUSTER_VARIABLES.items():
        if value := environment.get(name):
            try:
                document = document.with_value(path, value, set_by=name)
            except ConfigError:
                continue  # what stands there is no mapping, which validation reports
    return document


def model_from_environment(document: Document, environment: Mapping[str, str]) -> Document:
    """The agent's document with ``ORCHESTRA_MODEL`` wherever the model is ``auto`` or left out.

    An ``auto`` of the command line stays: it stands over the environment.
    """
    value = environment.get(MODEL_VARIABLE)
    if not value:
        return document
    models = document.get(("model",))
    places: list[KeyPath] = [("model", i) for i in range(len(models))] if isinstance(models, list) else [("model",)]
    if isinstance(document.get(("sleeptime",)), Mapping):
        places.append(("sleeptime", "model"))
    for path in places:
        written = document.get(path)
        if written is None or (written == "auto" and document.setter(path) is None):
            document = document.with_value(path, value, set_by=MODEL_VARIABLE)
    return document
