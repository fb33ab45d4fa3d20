"""What all tests share: a component of the system that is missing, and the services themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail what a ``needs`` marker asks for in vain."""
    for marker in item.iter_markers("needs"):
        for component in marker.args:
            _require(component)


def _require(component: str) -> None:
    """A missing component means a skip, and a failure where CI=true promises that it is there."""
    reason = services.missing(component)
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def keys(tmp_path: Path) -> services.Keys:
    """A folder of user keys, as a worker has one."""
    return services.Keys.make(tmp_path / "keys")


@pytest.fixture
def sshd(tmp_path: Path, keys: services.Keys) -> Iterator[services.Server]:
    """An OpenSSH server of its own on loopback."""
    _require("sshd")
    with services.sshd(tmp_path / "sshd", keys) as server:
        yield server


@pytest.fixture
def dropbear(tmp_path: Path, keys: services.Keys) -> Iterator[services.Server]:
    """A dropbear server of its own on loopback."""
    _require("dropbear")
    with services.dropbear(tmp_path / "dropbear", keys) as server:
        yield server


@pytest.fixture(params=["sshd", "dropbear"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, keys: services.Keys
) -> Iterator[services.Server]:
    """Each kind of SSH server in turn; one that is not installed is skipped by name."""
    kind: str = request.param
    _require(kind)
    with services.SERVERS[kind](tmp_path / kind, keys) as running:
        yield running


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """The address of a private broker."""
    with services.broker() as url:
        yield url
