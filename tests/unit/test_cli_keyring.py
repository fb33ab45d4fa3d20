"""Keys for hosts: checked, copied with mode 0600, taken away again when a host is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from orchestrator.cli import keyring
from orchestrator.contract import errors
from orchestrator.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a lab whose site lies on this machine."""
    made = Settings.read({}, state=tmp_path / "state")
    made.ssh_keys.mkdir(parents=True, mode=0o700)
    return made


def _private(passphrase: bytes | None = None) -> bytes:
    encryption = (
        serialization.BestAvailableEncryption(passphrase)
        if passphrase
        else serialization.NoEncryption()
    )
    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, encryption
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A private key as ssh-keygen leaves one."""
    path = tmp_path / "id_ed25519"
    path.write_bytes(_private())
    return path


def _find(settings: Settings, given: Path | str, host: str = "elan1") -> keyring.Key:
    return keyring.find(settings, site=None, host=host, given=str(given))


def test_lent_key_lies_beside_the_workers_and_only_they_read_it(
    settings: Settings, file: Path
) -> None:
    with keyring.lent(_find(settings, file)):
        pass
    kept = settings.ssh_keys / "elan1"
    assert kept.read_bytes() == file.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_lent_key_is_taken_away_when_the_host_is_refused(settings: Settings, file: Path) -> None:
    kept = settings.ssh_keys / "elan1"
    seen: list[bool] = []

    def refuse() -> None:
        with keyring.lent(_find(settings, file)):
            seen.append(kept.exists())
            raise errors.HostRefused

    with pytest.raises(errors.HostRefused):
        refuse()
    assert seen == [True]
    assert not kept.exists()


def test_key_that_was_there_already_stays_when_the_host_is_refused(
    settings: Settings, file: Path
) -> None:
    (settings.ssh_keys / "elan1").write_bytes(file.read_bytes())
    with pytest.raises(errors.HostRefused), keyring.lent(_find(settings, file)):
        raise errors.HostRefused
    assert (settings.ssh_keys / "elan1").exists()


def test_another_key_of_that_name_is_not_overwritten(settings: Settings, file: Path) -> None:
    (settings.ssh_keys / "elan1").write_bytes(_private())
    with pytest.raises(errors.InventoryError, match="another key named elan1"):
        _find(settings, file)


def test_key_by_name_is_the_one_that_the_site_has(settings: Settings) -> None:
    (settings.ssh_keys / "shared").write_bytes(_private())
    found = _find(settings, "shared")
    assert (found.name, found.content) == ("shared", None)


def test_key_by_an_unknown_name_is_refused_with_those_that_are_there(settings: Settings) -> None:
    (settings.ssh_keys / "shared").write_bytes(_private())
    with pytest.raises(errors.InventoryError, match="the site has: shared"):
        _find(settings, "sharde")


def test_key_by_name_of_a_site_elsewhere_is_believed(settings: Settings) -> None:
    found = keyring.find(settings, site="attic", host="elan1", given="shared")
    assert (found.name, found.content) == ("shared", None)


def test_key_file_for_a_site_elsewhere_is_refused(settings: Settings, file: Path) -> None:
    with pytest.raises(errors.InventoryError, match="another machine"):
        keyring.find(settings, site="attic", host="elan1", given=str(file))


@pytest.mark.parametrize("host", ["../lab", ".ssh", "a/b"])
def test_host_name_that_leaves_the_folder_is_refused(
    settings: Settings, file: Path, host: str
) -> None:
    with pytest.raises(errors.InventoryError, match="not usable"):
        _find(settings, file, host)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no key at all\n", "is not a private SSH key"),
        (b"", "is not a private SSH key"),
        (b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== me\n", "is not a private SSH key"),
        (_private(b"secret"), "is protected by a passphrase"),
    ],
)
def test_file_that_no_worker_could_use_is_refused(
    settings: Settings, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(errors.InventoryError, match=said):
        _find(settings, tmp_path / "key")


def test_traditional_key_with_a_passphrase_is_refused(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(errors.InventoryError, match="passphrase"):
        _find(settings, tmp_path / "key")


@pytest.mark.parametrize("given", ["/nowhere/key", "."])
def test_file_that_cannot_be_read_is_refused(settings: Settings, given: str) -> None:
    with pytest.raises(errors.InventoryError, match="cannot be read"):
        _find(settings, given)
