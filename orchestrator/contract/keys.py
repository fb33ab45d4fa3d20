"""Ed25519 keys on disk: PEM, private halves with mode 0600."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from orchestrator.contract import errors


def make_pair(private: Path, public: Path) -> None:
    """Make a key pair, or keep the private key that is there; write its public half."""
    if private.exists():
        key = read_private(private)
    else:
        key = Ed25519PrivateKey.generate()
        write_secret(
            private,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def read_private(path: Path) -> Ed25519PrivateKey:
    """The private key in a file.

    Raises: SettingsError.
    """
    key = _load(path, lambda data: serialization.load_pem_private_key(data, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise errors.SettingsError(f"{path}: not an Ed25519 private key")
    return key


def read_public(path: Path) -> Ed25519PublicKey:
    """The public key in a file.

    Raises: SettingsError.
    """
    key = _load(path, serialization.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise errors.SettingsError(f"{path}: not an Ed25519 public key")
    return key


def write_secret(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 that is there as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
    temporary.rename(path)


def _load(path: Path, load: Callable[[bytes], object]) -> object:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise errors.SettingsError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise errors.SettingsError(f"{path}: holds no key in PEM") from error
