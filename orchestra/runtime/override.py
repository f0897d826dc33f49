"""``--set key=value``: values of the command line, which win over environment and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orchestra.core.document import Document, KeyPath, nearest, parse_field
from orchestra.core.errors import ConfigError
from orchestra.core.validation import raise_all
from orchestra.core.yamltext import parse_value


@dataclass(frozen=True, slots=True)
class Override:
    """One value: ``key`` is dotted and relative to the file it goes to, ``name`` is how the user wrote it."""

    key: str
    value: object
    written: str
    name: str

    def under(self, prefix: str) -> Override | None:
        """The override for the part of the configuration whose keys start with ``prefix``, if it goes there."""
        return replace(self, key=self.key.removeprefix(prefix)) if self.key.startswith(prefix) else None


def parse_overrides(texts: Iterable[str]) -> tuple[Override, ...]:
    """The overrides that ``key=value`` texts mean; values are YAML. Raises :class:`ConfigError` with all faults."""
    out: list[Override] = []
    errors: list[ConfigError] = []
    for text in texts:
        key, equals, written = text.partition("=")
        key = key.strip()
        if not equals or not key:
            errors.append(ConfigError("is not key=value", field=f"--set {text}", hint="Write --set session=ana-2"))
            continue
        try:
            out.append(Override(key, parse_value(written), written.strip(), f"--set {key}"))
        except ConfigError as error:
            errors.append(ConfigError(error.problem, field=f"--set {key}", hint=error.hint))
    raise_all(errors)
    return tuple(out)


def apply(document: Document, overrides: Sequence[Override]) -> Document:
    """``document`` with the values of ``overrides``, later ones over earlier ones.

    An entry of a list is addressed by its place (``turns[0]``) or its name or label (``blocks.human.limit``). Unknown
    keys are found when the document is validated. Raises :class:`ConfigError`.
    """
    errors: list[ConfigError] = []
    for override in overrides:
        try:
            path = _place(document, override)
            document = document.with_value(path, override.value, set_by=override.name, written=override.written)
        except ConfigError as error:
            errors.append(error)
    raise_all(errors)
    return document


def _place(document: Document, override: Override) -> KeyPath:
    path: KeyPath = ()
    for step in parse_field(override.key):
        holder = document.get(path)
        if isinstance(holder, list) and isinstance(step, str):
            names = {
                str(item.get("label", item.get("name", ""))): i for i, item in enumerate(holder) if hasattr(item, "get")
            }
            if step not in names:
                hint = nearest(step, names) or f"There are: {', '.join(names) or 'none with a name'}"
                raise ConfigError(f"there is no entry named {step!r}", field=override.name, hint=hint)
            path = (*path, names[step])
        else:
            path = (*path, step)
    if not path:
        raise ConfigError("names no key", field=override.name)
    return path
