"""Where things are that a name stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra.cli.places import experiment_path
from orchestra.core.errors import InputError


def test_a_shipped_experiment_is_found_beside_a_folder_with_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").mkdir()
    assert experiment_path("quick").name == "quick.yaml"
    (tmp_path / "mine").write_text("", encoding="utf-8")
    assert experiment_path("mine") == Path("mine")
    with pytest.raises(InputError, match="no experiment of that name is shipped"):
        experiment_path("nothing")
