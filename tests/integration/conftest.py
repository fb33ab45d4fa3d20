"""Hosts without a connection, for the tests of the host's side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration import hosts


@pytest.fixture(
    params=[pytest.param(s, marks=pytest.mark.needs(p)) for s, p in hosts.SHELLS.items()]
)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[hosts.Host]:
    """A host in each shell."""
    with hosts.host(request.param, tmp_path) as met:
        yield met


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[hosts.Host]:
    """A host for what does not depend on the shell."""
    with hosts.host("dash", tmp_path) as met:
        yield met
