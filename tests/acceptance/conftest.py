"""Fixtures of the acceptance tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance import labs


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[labs.Desk]:
    """A running lab of its own."""
    with labs.running(tmp_path / "state") as running:
        yield running
