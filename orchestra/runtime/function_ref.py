"""Functions in definitions: by import path, by file, or by value for as long as their program lives."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from orchestra.core.errors import FunctionUnavailable

Ref: TypeAlias = dict[str, str]
_lock = threading.RLock()


class FunctionTable:
    """Functions that cannot be imported, by token. Owner: the program that registered them, or a host that got them."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._tokens: dict[int, str] = {}

    def put(self, value: object) -> str:
        """The token of ``value``; the same object keeps its token."""
        token = self._tokens.get(id(value))
        if token is None:
            token = self._tokens[id(value)] = uuid.uuid4().hex
            self._values[token] = value
        return token

    def add(self, values: Mapping[str, object]) -> None:
        """Take over functions under the tokens that another process gave them."""
        self._values.update(values)

    def get(self, token: str) -> object | None:
        """The function, or ``None``."""
        return self._values.get(token)

    def all(self) -> Mapping[str, object]:
        """All functions by token."""
        return self._values


def pack(value: object, table: FunctionTable) -> Ref:
    """A reference to a function or object: ``path`` where it can be imported from, else ``value``, its token."""
    inner = inspect.unwrap(value) if callable(value) else value
    module, name = getattr(inner, "__module__", None), getattr(inner, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and module != "__main__" and "<" not in name:
        try:
            found: object = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            found = None
        if found is value or (found is not None and inspect.unwrap(found) is inner):  # type: ignore[arg-type]
            file = getattr(sys.modules[module], "__file__", None)
            if module.startswith(_FILE_MODULE) and file:
                return {"path": f"{file}:{name}", "hash": _hash(Path(file))}
            return {"path": f"{module}:{name}", "hash": _hash(Path(file)) if file else ""}
    return {"value": table.put(value), "name": name or type(value).__name__}


def from_text(text: str) -> Ref:
    """The reference that a configuration names: ``package.module:function`` or ``folder/file.py:function``."""
    path, _, _ = text.rpartition(":")
    file = Path(path)
    return {"path": text, "hash": _hash(file) if path.endswith(".py") and file.is_file() else ""}


def load(ref: Ref, table: FunctionTable) -> object:
    """The function or object that a reference means. Raises :class:`FunctionUnavailable`, which names it."""
    if "value" in ref:
        found = table.get(ref["value"])
        if found is None:
            raise FunctionUnavailable(
                ref["name"],
                "it was registered by value, and the program that registered it does not take part in this run",
            )
        return found
    text = ref["path"]
    path, _, name = text.rpartition(":")
    if not path:
        raise FunctionUnavailable(text, "a reference is package.module:function or folder/file.py:function")
    try:
        found = _file(path, ref.get("hash", "")) if path.endswith(".py") else importlib.import_module(path)
        for part in name.split("."):
            found = getattr(found, part)
    except FunctionUnavailable:
        raise
    except AttributeError:
        raise FunctionUnavailable(text, f"{path} has no {name!r}") from None
    except Exception as error:
        raise FunctionUnavailable(text, f"importing {path} failed: {type(error).__name__}: {error}") from None
    return found


_FILE_MODULE = "orchestra_file_"


def _file(path: str, digest: str) -> object:
    """The module of a file; one per file and content, so a changed file is loaded anew."""
    file = _found(path)
    if file is None:
        raise FunctionUnavailable(path, "there is no such file here")
    key = _FILE_MODULE + hashlib.blake2b(f"{file}\x1f{digest or _hash(file)}".encode(), digest_size=8).hexdigest()
    with _lock:
        if key in sys.modules:
            return sys.modules[key]
        spec = importlib.util.spec_from_file_location(key, file)
        if spec is None or spec.loader is None:
            raise FunctionUnavailable(path, "it is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[key]
            raise
        return module


def _found(path: str) -> Path | None:
    """The file itself, or (on another machine) the same file below a folder of shipped code."""
    file = Path(path)
    if file.is_file():
        return file
    tails = [Path(*file.parts[start:]) for start in range(1, len(file.parts))]
    return next((Path(root) / tail for tail in tails for root in sys.path if (Path(root) / tail).is_file()), None)


def _hash(file: Path) -> str:
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    except OSError:
        return ""
